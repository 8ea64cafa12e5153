# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: redfish_bios
short_description: Read, stage or prove the settings of a node's BIOS through its BMC
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._redfish
  - fleetops.instinct._attributes
  - fleetops.instinct._attributes.fleet_dir
description:
  - Asks the BMC from the controller, in one session that is closed at the end; the node itself is not contacted and is
    never rebooted from here.
  - Settings go by neutral keys, such as V(iommu) or V(nps), which the catalog maps to the attributes of each maker, or
    by the maker's own names. Values, locks and dependencies are checked against the attribute registry before
    anything is sent, and what cannot be checked is not sent.
  - What is applied, what is staged for the next boot and what a job is at are told apart. A value counts as set once it
    is read back after the boot with no job at work.
  - A value that would switch the global C-states off is always refused.
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  state:
    description:
      - V(read) changes nothing and tells everything. V(staged) stages O(attributes) for the next boot. V(applied)
        waits after that boot until they hold, and fails where they do not.
    type: str
    choices: [read, staged, applied]
    default: read
  attributes:
    description: The wished values, by neutral keys of the catalog or by the maker's own names of attributes.
    type: dict
    default: {}
  foreign:
    description:
      - What to do where values are staged that O(attributes) does not wish for. The next boot would apply them.
      - V(refuse) names them and stages nothing. V(discard) stages the applied values over them, and deletes the job
        that was to apply them. V(keep) lets them be applied beside ours.
      - A staged value of an attribute that O(attributes) names is replaced in any case, which is told as a warning.
    type: str
    choices: [refuse, discard, keep]
    default: refuse
  job:
    description: With O(state=applied), the job that was to apply the values, RV(job) of the task that staged them.
    type: str
  patterns:
    description:
      - Which attributes are which key, before the catalog's own patterns.
      - Each row has O(patterns[].key) and O(patterns[].pattern), a regular expression that has to fit the whole text.
    type: list
    elements: dict
    default: []
    suboptions:
      key:
        description: The neutral key, which may be a new one.
        type: str
        required: true
      field:
        description: >-
          What the pattern has to fit, the name of the attribute (without four hexadecimal digits at its end) or what
          the registry displays.
        type: str
        choices: [name, display]
        default: name
      pattern:
        description: The regular expression; the case of letters does not matter.
        type: str
        required: true
      matches:
        description: Whether the key is one attribute, or all that fit.
        type: str
        choices: [one, all]
        default: one
  wait:
    description: Seconds that O(state=applied) waits for the values to hold.
    type: float
    default: 300
  poll:
    description: Seconds between two looks.
    type: float
    default: 5
  rollout:
    description: The fact C(fleet_rollout), so that a controller that was taken over changes nothing any more.
    type: dict
  catalog:
    description: A site's overlay of the catalog.
    type: path
notes:
  - Passwords that a BIOS has among its attributes are neither read nor written.
seealso:
  - module: fleetops.instinct.redfish_firmware
  - module: fleetops.instinct.node_reboot
"""

EXAMPLES = r"""
- name: Stage what the nodes' BIOS should say
  fleetops.instinct.redfish_bios:
    state: staged
    attributes:
      iommu: Enabled
      nps: NPS1
      aspm: Disabled
  register: staged_bios

- name: Prove it after the reboot
  fleetops.instinct.redfish_bios:
    state: applied
    attributes:
      iommu: Enabled
      nps: NPS1
      aspm: Disabled
    job: "{{ staged_bios.job or omit }}"
"""

RETURN = r"""
maker:
  description: Who made the BMC's service.
  type: str
  returned: state is read
settings:
  description: >-
    Each neutral key that this BIOS has, with C(attributes) (applied values by the maker's names), C(staged), C(value)
    (the applied one in neutral words, null where several attributes differ) and C(status), verified or unverified.
  type: dict
  returned: state is read
attributes:
  description: Every applied attribute by the maker's name, but passwords.
  type: dict
  returned: state is read
staged:
  description: What the next boot changes, as a list of applied and staged value for each attribute.
  type: dict
  returned: state is read
jobs:
  description: Jobs for BIOS settings that wait or run, with C(uri), C(state), C(end) and C(told).
  type: list
  elements: dict
  returned: state is read
problems:
  description: What could not be read, and why.
  type: list
  elements: str
  returned: state is read
rows:
  description: >-
    Each wished attribute with C(key), C(attribute), C(applied), C(staged) (null where nothing is), C(wanted),
    C(status) of the name, and C(do), which was nothing, stage, or boot where it was staged already.
  type: list
  elements: dict
  returned: state is staged or applied
boot_needed:
  description: Whether a reboot is needed for the wished values.
  type: bool
  returned: state is staged
job:
  description: The job that applies what is staged; null where there is none.
  type: str
  returned: state is staged
foreign:
  description: Values of others that were staged, as a list of applied and staged value for each attribute.
  type: dict
  returned: state is staged
code:
  description: A stable word for a refusal or failure; docs/bios.md lists them.
  type: str
  returned: failed
"""
