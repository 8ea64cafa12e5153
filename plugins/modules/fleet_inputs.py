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
  catalog:
    description: What a site lays over the catalog, a YAML file or a folder of them.
    type: path
  gather_subset:
    description: Parts to gather, as M(fleetops.instinct.node_facts) names them. A name that there is not is an error.
    type: list
    elements: str
    default: [all]
  facts_from:
    description: The folder of saved facts, where nodes are judged by such.
    type: path
  forms:
    description:
      - The files of an audit, as M(fleetops.instinct.audit_report) takes them. Where it is given, bad input is
        written there as the end of the audit, so that the result of an earlier one does not stand for it.
    type: dict
    suboptions:
      html:
        description: One file that needs nothing else.
        type: path
      junit:
        description: Test cases for a CI system.
        type: path
      markdown:
        description: A text for a ticket.
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
code:
  description: V(bad_input), which the message begins with.
  returned: failure
  type: str
"""
