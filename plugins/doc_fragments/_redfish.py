# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of every action that speaks to a BMC."""

from __future__ import annotations


class ModuleDocFragment:
    """How a BMC is found, trusted and waited for."""

    DOCUMENTATION = r"""
options:
  address:
    description:
      - Address of the BMC, as a host, C(host:port) or C(https://host:port).
      - Like every option here it comes from the host variable with C(fleet_bmc_) in front of its name where the task
        does not give it, this one from C(fleet_bmc_address).
    type: str
  user:
    description: A user of the BMC that may update firmware.
    type: str
  password:
    description: The password. It goes to the BMC alone, once for each session.
    type: str
  ca:
    description: >-
      A file or folder of CA certificates that the BMC's certificate is checked with, in place of the system's.
    type: path
  validate_certs:
    description: >-
      Whether the BMC's certificate is checked, which it is unless this says V(false); that is told as a
      warning.
    type: bool
  system:
    description: The Id of the computer system that is the node, where the BMC has several.
    type: str
  timeout:
    description: Seconds to wait for an answer; 60 where it is not given.
    type: float
  connect_timeout:
    description: Seconds to wait for a connection; 10 where it is not given.
    type: float
  attempts:
    description: >-
      So often a question is asked of a BMC that gives no answer or an error of its own; 5 where it is not
      given.
    type: int
  pause:
    description: Seconds between them; 3 where it is not given.
    type: float
  turn_timeout:
    description: >-
      Seconds that whoever is to change something waits while another one changes something through the same BMC, by a
      lock below the fleet directory; 3600 where it is not given. Who only reads waits for nobody.
    type: float
requirements:
  - sushy on the controller
"""

    PATTERNS = r"""
options:
  patterns:
    description:
      - Which entries of the BMC's inventory are which component, before the catalog's own patterns.
      - Each row has O(patterns[].component) and O(patterns[].pattern), a regular expression that has to fit the whole
        text.
    type: list
    elements: dict
    default: []
    suboptions:
      component:
        description: >-
          The name of the component, such as V(bmc), V(bios), V(cpld) or V(gpu_bundle); any other may be
          made up.
        type: str
        required: true
      field:
        description: What the pattern has to fit.
        type: str
        choices: [id, name, software_id, description]
        default: id
      pattern:
        description: The regular expression; the case of letters does not matter.
        type: str
        required: true
      scheme:
        description: How versions of the component compare.
        type: str
        choices: [maker, dotted, integer, hex_bytes, pi, ifwi, part_number]
        default: maker
  catalog:
    description: A site's overlay of the catalog.
    type: path
"""

    FOLLOW = r"""
options:
  update_timeout:
    description: Seconds for one update. One that takes longer is inconclusive, not failed.
    type: float
    default: 3600
  silence:
    description: Seconds that a BMC may be silent, while it is flashed or after a reset.
    type: float
    default: 900
  pending:
    description: Seconds after which a task that is pending counts as one that waits for its activation.
    type: float
    default: 120
  settle:
    description: Seconds until a version that runs has to show in the inventory.
    type: float
    default: 120
  poll:
    description: Seconds between two looks.
    type: float
    default: 5
  off_seconds:
    description: Seconds that a host is left without power in a V(power_cycle).
    type: float
    default: 30
  answers:
    description: So many good answers in a row, before a BMC counts as back and a vanished task as gone.
    type: int
    default: 3
"""
