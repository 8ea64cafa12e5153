# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollout_plan
short_description: Plan a rolling upgrade from the records of this run
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - Cuts the fleet into waves, canaries first, one failure domain at a time, never below the capacity floor, and
    says for each node its steps and
    whether it could go back.
  - The estimate goes by what the steps of a node took in earlier rollouts below O(fleet_dir), where enough were
    measured; a ledger that cannot be read is left out of it, and named.
  - Saves the plan as JSON below O(fleet_dir) and shows it as a table. Runs on the controller alone.
options:
  target:
    description: The target file.
    type: path
    required: true
  policy:
    description: The policy, as a dict or the path of a file. The defaults where it is not given.
    type: raw
  catalog:
    description: What a site lays over the catalog, a YAML file or a folder of them. Its path is kept in the plan.
    type: path
  nodes:
    description: The nodes of the fleet that the plan may move.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Plan
  fleetops.instinct.rollout_plan:
    target: target.yml
    policy: {failure_budget: 1}
    nodes: "{{ ansible_play_hosts_all }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
plan_id:
  description: The hash of everything the plan rests on.
  returned: always
  type: str
plan:
  description: The path of the saved plan.
  returned: always
  type: str
waves:
  description: The waves with their number, kind, failure domain and nodes.
  returned: always
  type: list
  elements: dict
"""
