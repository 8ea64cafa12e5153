# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module of the collection says about itself in its documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """What several modules of the collection have in common."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed, or may have to change in C(check_mode), when in diff mode.
  platform:
    description: Target operating systems the module can be used on.
    platforms: posix
    support: full
"""

    # Beside READS.
    FACTS = r"""
options: {}
attributes:
  facts:
    description: Returns an C(ansible_facts) dictionary that updates the facts of the host.
    support: full
"""

    READS = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
    support: full
    details: It only reads.
  diff_mode:
    description: Returns details on what has changed, or may have to change in C(check_mode), when in diff mode.
    support: none
    details: It changes nothing.
  platform:
    description: Target operating systems the module can be used on.
    platforms: posix
    support: full
"""

    FLEET_DIR = r"""
options:
  fleet_dir:
    description: Where records, plans and rollouts are kept on the controller.
    type: path
    default: fleet-records
"""
