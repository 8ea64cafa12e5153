# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: audit_node
short_description: Gather and judge one node in one task
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - Reads the node with M(fleetops.instinct.node_facts), judges it on the controller against a target, and keeps the
    record below O(fleet_dir).
  - Changes nothing on the node. The record is written under check mode as well.
  - In the phase V(audit) any verdict is written down and the task succeeds. The other phases fail for a node that
    is not what they want.
options:
  target:
    description: The target file. Exactly one of O(target) and O(plan) is needed.
    type: path
  plan:
    description: A saved plan; the node is judged against the target in it.
    type: path
  phase:
    description:
      - V(audit) keeps the record.
      - V(precheck) wants a node that may be moved and keeps its facts as what it was before, once.
      - V(verify) and V(soak) want a node at target and healthy, with no other change than the planned ones, in the boot
        that its reboot in this rollout proved, if there was one.
      - V(verify_old) wants a node that is what it was before.
    type: str
    choices: [audit, precheck, verify, soak, verify_old]
    default: audit
  policy:
    description: The policy, as a dict or the path of a file, for its waivers. A plan carries its own.
    type: raw
  catalog:
    description: What a site lays over the catalog, a YAML file or a folder of them. A plan's own where it is not given.
    type: path
  gather_subset:
    description: Parts to gather, as M(fleetops.instinct.node_facts) names them.
    type: list
    elements: str
    default: [all]
  rack:
    description: The failure domain of the node, kept in its record.
    type: str
  seconds:
    description: Look again and again for so many seconds, and fail at the first look that is not right.
    type: float
    default: 0
  interval:
    description: Seconds between two looks.
    type: float
    default: 5
  rollout_dir:
    description: The directory of the rollout; needed by every phase but V(audit).
    type: path
"""

EXAMPLES = r"""
- name: Gather and judge
  fleetops.instinct.audit_node:
    target: target.yml
"""

RETURN = r"""
class:
  description:
    - V(at_target), V(may_move), V(blocked), V(unknown) or V(unhealthy). The findings are in the node's record.
  returned: always
  type: str
phase:
  description: The phase that was asked for.
  returned: always
  type: str
"""
