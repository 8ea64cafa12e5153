# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollout_report
short_description: Report on a rollout from its ledger
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - Shows the rollout node by node, writes C(report.html) and C(report.json) beside the ledger, and shows the story
    of one node where asked.
  - Runs on the controller alone and connects to no node.
options:
  rollout:
    description: The plan id of the rollout; the newest one where it is not given.
    type: str
  node:
    description: Show the story of this node.
    type: str
  mode:
    description:
      - What the rollout is judged as. An V(upgrade) is clean when every node is in service, a V(rollback) when every
        node that was to come back is restored. What was ordered last where this is not given.
    type: str
    choices: [upgrade, rollback]
  must_be_clean:
    description: Fail when the rollout is not clean.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Report
  fleetops.instinct.rollout_report:
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
outcome:
  description:
    - Whether the rollout is clean, how many nodes are in each state, which are lost and which are unfinished.
  returned: always
  type: dict
standing:
  description:
    - The order of an operator that stands (C(id), C(order), C(by), C(at), C(reason)); null for none. Where a rollback
      is what began last, only what was ordered since.
  returned: always
  type: dict
report:
  description: The path of the HTML report.
  returned: always
  type: str
"""
