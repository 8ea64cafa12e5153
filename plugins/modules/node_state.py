# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node_state
short_description: Write to the ledger what is about to happen to a node, or has happened
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
description:
  - Every step of a rollout writes its intent before and its outcome after. A step that the state machine does not
    have is refused.
  - Without a rollout nothing is written, so that each role can be used by itself; a failure that was to be written
    then fails the task, as it does in check mode. Runs on the controller alone.
options:
  rollout:
    description: The fact C(fleet_rollout) of M(fleetops.instinct.rollout_start).
    type: dict
  state:
    description:
      - The state the node enters; see the table of states in the guide. Where it is not given the node stays where it
        is; a reason is noted then.
    type: str
  intent:
    description: The step is about to be done, not done.
    type: bool
    default: false
  reason:
    description: Why, for the story of the node.
    type: str
    default: ''
  data:
    description: What belongs to the event. Never a secret.
    type: dict
  failure:
    description:
      - With O(state=failed), the result of the task that failed. Where its diagnosis leaves open what became of the
        node, as that of M(fleetops.instinct.node_reboot) may, the node becomes V(inconclusive) instead, and nothing is
        brought back by itself. The diagnosis and its evidence are kept.
    type: dict
  actions:
    description: Named actions that this step may use where the machine wants one, such as V(rollback).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Write down that the drain begins
  fleetops.instinct.node_state:
    rollout: "{{ fleet_rollout }}"
    state: draining
    intent: true
"""

RETURN = r"""
state:
  description: The state of the node; null without a rollout.
  returned: always
  type: str
snapshot:
  description: What M(fleetops.instinct.node_snapshot) recorded in this rollout; null before that.
  returned: always
  type: dict
"""
