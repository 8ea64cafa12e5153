# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: fleet_inputs
short_description: Check the user's files before any node is contacted
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - Reads target, policy or plan, and the ledger of the plan where there is one, and fails with one error that names
    the file, the place in it and
    what is allowed.
  - Sees that O(fleet_dir) can be written.
  - Runs on the controller alone.
options:
  target:
    description: The target file. O(target) or O(plan) is needed.
    type: path
  policy:
    description: The policy, as a dict or the path of a file.
    type: raw
  plan:
    description: A saved plan.
    type: path
"""

EXAMPLES = r"""
- name: Check the files
  fleetops.instinct.fleet_inputs:
    target: target.yml
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
{}
"""
