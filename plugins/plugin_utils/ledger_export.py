# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ledger as JSON lines, for archives and other tools: the rollout first, then its events, each with its hash.

The same ledger gives the same bytes, and a file that was changed since is found out without SQLite.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import chain
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

SCHEMA = 1


def lines(ledger: Ledger) -> Iterator[str]:
    """One JSON object a line, without line ends: {schema, plan_id, created_at, plan}, then the rows of the events.

    :raises LedgerError: the ledger cannot be read.
    """
    plan = ledger.plan()
    yield _text({"schema": SCHEMA, "plan_id": plan["plan_id"], "created_at": ledger.begun_at(), "plan": plan})
    for event in ledger.events():
        yield _text(event)


def faults(exported: Iterable[str]) -> list[str]:
    """What is wrong with such lines, one sentence per fault; empty for what a whole ledger gave.

    That lines are missing at the end cannot be seen in them: compare the last hash with the ledger's.
    """
    rows: list[Any] = []
    for number, text in enumerate(exported, start=1):
        row = _parsed(text)
        if not isinstance(row, dict) or _text(row) != text.rstrip("\n"):
            return [f"line {number} is not as it was written"]
        rows.append(row)
    if not rows or rows[0].get("schema") != SCHEMA:
        return [f"line 1 is not the rollout of an export of schema {SCHEMA}"]
    return _chain_faults(rows[0], rows[1:])


def _chain_faults(rollout: Mapping[str, Any], events: list[Any]) -> list[str]:
    found: list[str] = []
    number, before = 0, chain.START
    for line, event in enumerate(events, start=2):
        if not {*chain.FIELDS, "hash"} <= event.keys():
            return [*found, f"line {line} is not an event"]
        row = {**event, "data": json.dumps(event["data"], sort_keys=True)}
        found += [f"line {line}: {fault}" for fault in chain.link_faults(row, number, before)]
        before, number = event["hash"], event["id"]
    first = events[0] if events else {"data": None, "at": None}
    sealed = json.loads(chain.plan_seal(json.dumps(rollout.get("plan"), sort_keys=True)))
    if (first["data"], first["at"]) != (sealed, rollout.get("created_at")) or rollout.get("plan_id") != str(
        (rollout.get("plan") or {}).get("plan_id")
    ):
        found.append("line 1: the rollout is not the one that its first event began")
    return found


def _text(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
