# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: audit_saved
short_description: Judge nodes by facts that were saved before
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - Reads a folder of files C(NAME.json), judges each on the controller against a target, and keeps the records below
    O(fleet_dir) as M(fleetops.instinct.audit_node) does. Nothing is connected to.
  - A file holds the facts of M(fleetops.instinct.node_facts), as the audit keeps them in C(facts) of O(fleet_dir) or as
    a task returned them, or a machine that M(fleetops.instinct.record_node) wrote, whose facts are gathered here.
  - A file that cannot be used makes its node unknown, with the reason. It never ends the task.
options:
  facts_from:
    description: The folder.
    type: path
    required: true
  nodes:
    description:
      - The nodes to judge. One without a file of its name counts as unreachable; a file of none of the hosts in the
        inventory is told as a warning.
      - Every file is a node where it is not given.
    type: list
    elements: str
  target:
    description: The target file.
    type: path
    required: true
  policy:
    description: The policy, as a dict or the path of a file, for its waivers, which are held against today.
    type: raw
  catalog:
    description: What a site lays over the catalog, a YAML file or a folder of them.
    type: path
"""

EXAMPLES = r"""
- name: Judge what was sent from elsewhere
  fleetops.instinct.audit_saved:
    facts_from: from-site-b
    target: target.yml
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
nodes:
  description: The nodes that were judged.
  returned: success
  type: list
  elements: str
code:
  description: V(bad_input) where the folder or one of the files that nodes are judged by cannot be used.
  returned: failure
  type: str
"""
