# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollout_start
short_description: Open a rollout or its rollback
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - Checks that the plan is whole and that nothing it rests on has changed, creates the ledger, and takes the lease
    so that no second operator works
    on the same rollout.
  - Gives the waves that are left as the fact C(fleet_rollout), for the C(hosts) and C(serial) of the wave play.
    Runs on the controller alone.
options:
  mode:
    description: V(upgrade) follows the plan, V(rollback) goes back to the snapshots.
    type: str
    choices: [upgrade, rollback]
    default: upgrade
  plan:
    description: The path of the plan; needed to upgrade.
    type: path
  catalog:
    description:
      - What a site lays over the catalog, a YAML file or a folder of them. The one that the plan was made with where
        it is not given.
    type: path
  rollout:
    description: The plan id of the rollout to roll back; the newest one where it is not given.
    type: str
  nodes:
    description: The nodes that may be worked on in this run.
    type: list
    elements: str
    required: true
  incident:
    description: Roll back all nodes at once instead of in waves.
    type: bool
    default: false
  automatic:
    description:
      - With O(mode=rollback), only what the policy of the rollout sends back by itself (C(automatic_rollback)), once
        more is lost than the budget lets it; no node where that is not so.
    type: bool
    default: false
  takeover:
    description:
      - Why the controller that holds the lease of this rollout cannot be alive, for instance since its machine is gone.
        The lease is taken from it then, and the ledger keeps the reason. Without one a lease in force is never taken.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Open the rollout
  fleetops.instinct.rollout_start:
    plan: fleet-records/plans/0f3c5a7b9d1e.json
    nodes: "{{ ansible_play_hosts_all }}"
  run_once: true
  delegate_to: localhost
  delegate_facts: true
"""

RETURN = r"""
ansible_facts:
  description:
    - The fact C(fleet_rollout), of a rollback C(fleet_way_back), with C(plan_id), C(dir), C(epoch), C(waves), C(order),
      C(sizes) and C(why).
  returned: success
  type: dict
"""
