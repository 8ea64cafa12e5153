# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollout_order
short_description: Give an operator's order to a rollout, or to some of its nodes
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - An order without O(nodes) is for the whole rollout. It is written into the ledger at once, also while a controller
    is at work, and the gate of the next wave obeys it. What is under way goes on.
  - An order with O(nodes) moves exactly these nodes, under a lease of its own, so that it is refused while a controller
    is at work. All of them are judged before the first is moved. A node that is where the order leads already stays as
    it is.
  - Connects to no node. Check mode tells what would be moved, or why the order would be refused, and writes nothing.
options:
  order:
    description:
      - V(pause) and V(abort) stop a rollout before its next wave, V(resume) takes a pause back. An abort stands for
        ever; the ways out are a rollback and a new plan. A rollback that begins later is not stopped by either.
      - Of nodes, V(pause) holds one that was left half way and V(resume) gives it back, V(skip) leaves one out that was
        not touched yet, V(retry) takes up one that failed, was restored or skipped, V(release) one that was
        quarantined, and V(quarantine) keeps one out of service.
    type: str
    required: true
    choices: [pause, resume, abort, skip, retry, release, quarantine]
  reason:
    description: Why, for the story; it may not be blank.
    type: str
    required: true
  rollout:
    description: The plan id of the rollout; the newest one where it is not given.
    type: str
  nodes:
    description:
      - The nodes that the order is for. V(abort) takes none; V(skip), V(retry), V(release) and V(quarantine) need some.
    type: list
    elements: str
  takeover:
    description: Take the lease also from a controller that seems to be at work, and keep this text as the reason.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Begin no further wave
  fleetops.instinct.rollout_order:
    order: pause
    reason: the cooling of row 4 is out
  run_once: true
  delegate_to: localhost

- name: Take a node up again
  fleetops.instinct.rollout_order:
    order: retry
    reason: the cable was loose
    nodes: [g07]
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
rollout:
  description: The plan id of the rollout.
  returned: success
  type: str
order:
  description: The order.
  returned: success
  type: str
standing:
  description:
    - The order that stands for the rollout after this one (C(id), C(order), C(by), C(at), C(reason)); null for none.
      Where a rollback is what began last, only what was ordered since.
  returned: success
  type: dict
nodes:
  description: The nodes that were moved, each with its state C(before) and C(after).
  returned: success
  type: dict
msg:
  description: What was ordered, in one line; of an order that stood already, who gave it, when and why.
  returned: always
  type: str
code:
  description: V(aborted) where the order was refused because the rollout was aborted.
  returned: when the refusal has a code
  type: str
"""
