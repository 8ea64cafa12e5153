# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: rollout_ledger
short_description: Prove the ledgers of rollouts, or export one as JSON lines
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - With O(mode=verify), proves every event, the plan, the states of the nodes, the lease and the pages of the file, and
    fails where something is not as it was written. Every fault is told with its row. A ledger that does not open, or
    that was taken away, is damaged too.
  - With O(mode=export), writes a ledger as lines of JSON, the plan first and then the events with their hashes, so that
    an archive can be proven without SQLite. A damaged ledger is not exported.
  - Runs on the controller alone and connects to no node. The ledger itself is never changed.
options:
  mode:
    description: What to do.
    type: str
    required: true
    choices: [verify, export]
  rollout:
    description:
      - The plan id of the rollout; the newest one where it is not given. A ledger whose date cannot be read may be the
        newest, so O(mode=verify) then proves it as well.
    type: str
  all:
    description: With O(mode=verify), prove the ledger of every rollout.
    type: bool
    default: false
  exported:
    description: With O(mode=verify), prove this export in place of a ledger.
    type: path
  to:
    description: With O(mode=export), the file to write; C(events.jsonl) beside the ledger where it is not given.
    type: path
"""

EXAMPLES = r"""
- name: Prove every ledger
  fleetops.instinct.rollout_ledger:
    mode: verify
    all: true
  run_once: true
  delegate_to: localhost

- name: Export the newest ledger
  fleetops.instinct.rollout_ledger:
    mode: export
    to: /srv/archive/rollout.jsonl
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
ledgers:
  description: Each ledger that was looked at, with its C(path) and its C(faults), which is empty for a whole one.
  returned: with O(mode=verify)
  type: list
  elements: dict
path:
  description: The file of the export.
  returned: with O(mode=export)
  type: str
"""
