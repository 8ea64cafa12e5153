# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: redfish_firmware_info
short_description: Read what a node's BMC says of the firmware
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._redfish
  - fleetops.instinct._redfish.patterns
  - fleetops.instinct._attributes.fleet_dir
  - fleetops.instinct._attributes.reads
description:
  - Asks the BMC from the controller, in one session that is closed at the end; the node itself is not contacted.
  - Reads every entry of the firmware inventory, page by page, and names those that are a known component.
  - Where facts of the node are below O(fleet_dir), as M(fleetops.instinct.audit_node) keeps them, BIOS, VBIOS and
    bundle are
    compared with them, and a disagreement is told as a warning.
attributes:
  check_mode:
    support: full
"""

EXAMPLES = r"""
- name: Read the firmware of every node
  hosts: all
  gather_facts: false
  tasks:
    - name: Ask the BMC
      fleetops.instinct.redfish_firmware_info:
      register: firmware
      throttle: 32

    - name: Show what runs
      ansible.builtin.debug:
        msg: "{{ firmware.components | selectattr('bank', 'equalto', 'running') | items2dict('component', 'version') }}"
"""

RETURN = r"""
available:
  description: Whether the BMC tells firmware over Redfish at all.
  returned: success
  type: bool
code:
  description: Why it does not.
  returned: when RV(available) is false
  type: str
  sample: no_inventory
maker:
  description: Who made the BMC's service; V(any) where nothing says so.
  returned: success
  type: str
components:
  description: The entries of the inventory.
  returned: success
  type: list
  elements: dict
  contains:
    component:
      description: The component; null where no pattern names the entry.
      type: str
    id:
      description: The entry's Id.
      type: str
    name:
      description: The entry's Name.
      type: str
    software_id:
      description: The entry's SoftwareId; null where it has none.
      type: str
    version:
      description: The version as the BMC writes it; null where it is absent, empty, or a word for none.
      type: str
    scheme:
      description: How versions of it compare.
      type: str
    bank:
      description: >-
        What it is; V(running), V(spare), V(previous), V(staged), V(absent), V(unavailable), or V(driver) for software
        that is
        no firmware.
      type: str
    state:
      description: The entry's Status.State.
      type: str
    health:
      description: The entry's Status.Health.
      type: str
    updateable:
      description: Whether it can be updated; null where the BMC does not say.
      type: bool
    lowest:
      description: The lowest version that it may be brought to.
      type: str
    uri:
      description: Where the entry lies.
      type: str
machine:
  description:
    - What an image may be meant for, as C(products), by any name of BMC or catalog, and C(part_numbers) of GPUs.
  returned: when RV(available)
  type: dict
node:
  description: What the node's own facts show, by component.
  returned: when RV(available)
  type: dict
disagreements:
  description: Where BMC and node show different versions.
  returned: success
  type: list
  elements: str
problems:
  description: What could not be read; a component that is not seen is unknown then, not absent.
  returned: success
  type: list
  elements: str
"""
