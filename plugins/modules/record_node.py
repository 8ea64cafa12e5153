# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: record_node
short_description: Keep a recording of a node on the controller, without what identifies it
version_added: 0.2.0
author: fleetops.instinct contributors (@fleetops)
description:
  - Records the node with M(fleetops.instinct.node_record) and writes the map to C(machines/machine-NUMBER.json) below
    the fleet folder, mode 0600. Nothing is written on the node.
options:
  gather_subset:
    description: Parts to record, as for M(fleetops.instinct.node_facts).
    type: list
    elements: str
    default: [all]
  number:
    description: The number in the name of the file; the name of the node is in neither.
    type: int
    required: true
  fleet_dir:
    description: Folder of records, plans and recordings on the controller.
    type: path
    default: fleet-records
seealso:
  - module: fleetops.instinct.node_record
"""

EXAMPLES = r"""
- name: Record the node as machine-1.json
  fleetops.instinct.record_node:
    number: 1
"""

RETURN = r"""
path:
  description: The file.
  returned: success
  type: str
  sample: fleet-records/machines/machine-1.json
expect:
  description: What node_facts makes of the recording, by dotted path.
  returned: success
  type: dict
  sample: {"gpus": 8, "driver.version": "6.14.14"}
"""
