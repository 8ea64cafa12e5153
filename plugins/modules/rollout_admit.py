# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollout_admit
short_description: The gate at the start of each wave
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
description:
  - Reads the ledger and fails, on every host of the wave and before anything is touched, when the failure budget is
    spent, a canary was lost, a capacity floor would break, no maintenance window of the policy is open, an
    order to pause or abort stands, an alert gate of the policy is firing or cannot be told, or another controller has
    taken over. The ledger keeps a refusal as a note.
  - A node of an earlier wave without an end counts as lost, so an unreachable node stops the next wave.
  - Where the policy undoes losses by itself (C(automatic_rollback) V(wave) or V(rollout)), a wave refused for them does
    not fail here. C(fleet_node.stopped) is true then, and the plays that follow undo what was done and fail the run.
  - Gives the fact C(fleet_node), what this node is to become. Runs on the controller alone.
options:
  rollout:
    description: The fact C(fleet_rollout) of M(fleetops.instinct.rollout_start).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Admit the wave, or stop the rollout here
  fleetops.instinct.rollout_admit:
    rollout: "{{ fleet_rollout }}"
"""

RETURN = r"""
code:
  description: Why the wave was refused. It stands in the message too, and in the data of the ledger's note.
  returned: on refusal
  type: str
  sample: budget_spent
ansible_facts:
  description: The fact C(fleet_node) with the releases, repository, kernel settings and policy of the node.
  returned: success
  type: dict
"""
