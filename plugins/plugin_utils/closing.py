# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left behind when a rollout ends, or is stopped: report.html and report.json beside the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils import gate, lease, records, report, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.selection import few


class Told(NamedTuple):
    """A rollout as its ledger tells it; the parts are those of docs/contracts.md sections 5 and 6."""

    plan: dict[str, Any]
    nodes: dict[str, Any]
    events: list[dict[str, Any]]
    outcome: dict[str, Any]


def read(directory: Path, mode: str | None = None) -> Told:
    """Everything that a report needs, from the ledger of a rollout directory.

    :param mode: what the outcome is judged as, ``upgrade`` or ``rollback``; None for what was ordered last.
    """
    ledger = Ledger.open(rollout.ledger_path(directory))
    plan, events = ledger.plan(), ledger.events()
    nodes = _with_last_notes(ledger.nodes(), events)
    back = rollout.ordered_back(events) if (mode or rollout.mode_of(events)) == "rollback" else None
    return Told(plan, nodes, events, gate.outcome(plan, nodes, back))


def give_back(directory: Path, owner: Mapping[str, Any]) -> None:
    """End this controller's lease, or that of one that died on this machine before it could.

    Who takes over from another machine need not wait until it runs out.
    """
    ledger = Ledger.open(rollout.ledger_path(directory))
    held = ledger.holder()
    if not held or not held["expires_at"]:
        return
    is_dead = held["host"] == owner["host"] and not lease.pid_alive(held["pid"])
    if is_dead or all(held[key] == owner[key] for key in ("who", "host", "pid")):
        ledger.release_lease(held["epoch"])


def cut_off(directory: Path, owner: Mapping[str, Any]) -> str:
    """Report on a run that ended before its last play, and give its lease back; one line on how it stands.

    ansible-core ends a run when every node of a wave is unreachable, and asks no further play.
    """
    told = read(directory)
    page = write(directory, told)
    give_back(directory, owner)
    missing = told.outcome["lost"] + told.outcome["unfinished"]
    named = few([f"{row['node']} {row['state']}" for row in missing])
    return (
        f"rollout {told.plan['plan_id']} was cut off before its end, {len(missing)} of {len(told.nodes)} nodes are not "
        f"where they should be ({named}). Report: {page}. Run the same command again: it goes on where it "
        "stopped, or undoes what the policy undoes."
    )


def _with_last_notes(nodes: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    """Nodes whose last event is a note are in their state for that reason: what was tried moved them nowhere."""
    last = {event["node"]: event for event in events}
    notes = {node: last[node]["reason"] for node in nodes if node in last and last[node]["kind"] == "note"}
    return {node: {**row, "reason": notes.get(node, row["reason"])} for node, row in nodes.items()}


def write(directory: Path, told: Told) -> Path:
    """Write both reports; the path of the page. The last audit's records lie two folders up."""
    audited = records.read_records(directory.parent.parent, told.nodes)
    page = directory / "report.html"
    records.write_text(page, report.html(told.plan, told.nodes, told.events, audited, told.outcome))
    records.write_json(directory / "report.json", report.as_json(told.plan, told.nodes, told.events, told.outcome))
    return page
