# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of this run of ansible-playbook: those that its looks at the nodes wrote, and those of saved facts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, look, records
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import name_list

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils import saved_facts
else:
    saved_facts = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.saved_facts")


class Judged(NamedTuple):
    """Nodes that were judged by saved facts.

    :param said: when the facts were written, as a line for the operator; empty where none could be read.
    :param warnings: files that belong to no node.
    """

    nodes: list[str]
    said: str
    warnings: list[str]


def found(
    fleet_dir: str, nodes: Sequence[str], keep: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """A record for each node, or what is to be kept of it: the one this run wrote, or "unknown" where it gave none."""
    run = action.run_id()
    known = records.read_records(fleet_dir, nodes, run_id=run, keep=keep)
    for node in nodes:
        if node not in known:
            about = {"run_id": run, "gathered_at": action.now()}
            known[node] = look.silent_record(fleet_dir, node, "no answer in this run", **about)
            records.write_record(fleet_dir, known[node])
    return {node: known[node] for node in nodes}


def judge_saved(args: Mapping[str, Any], task_vars: Mapping[str, Any]) -> Judged:
    """Judge nodes by the facts in ``args['facts_from']``, and keep the records as if the nodes had been asked.

    :param args: also ``nodes`` (empty for every node that has a file), ``target``, ``policy``, ``catalog``,
        ``fleet_dir``.
    :param task_vars: the inventory: ``groups`` and ``hostvars``.
    :raises FleetError: the folder, or a file of the operator, cannot be read.
    """
    files, by = saved_facts.files(args["facts_from"]), look.basis(args)
    nodes = list(args["nodes"] or files)
    written = [_judge(node, files.get(node), by, args, task_vars) for node in nodes]
    dates = sorted(date for date in written if date)
    said = f"Facts from {args['facts_from']}: {len(dates)} files, written {dates[0]} to {dates[-1]}" if dates else ""
    strangers = sorted(set(files) - set(task_vars["groups"]["all"]) - set(nodes))
    return Judged(
        nodes, said, [f"files that no host of the inventory is named like: {name_list(strangers)}"] if strangers else []
    )


def _judge(
    node: str, path: str | None, by: look.Basis, args: Mapping[str, Any], task_vars: Mapping[str, Any]
) -> str | None:
    """Keep the record of a node, and its facts; when these were written."""
    rack = task_vars["hostvars"][node].get("fleet_rack") if node in task_vars["groups"]["all"] else None
    about: dict[str, Any] = {"rack": rack, "run_id": action.run_id(), "gathered_at": action.now()}
    if path is None:
        why = f"no file of that name in {args['facts_from']}"
        records.write_record(args["fleet_dir"], look.silent_record(args["fleet_dir"], node, why, **about))
        return None
    saved = saved_facts.read(path)
    if saved.facts is None:
        record = look.unread_record(node, saved.why, **about)
    else:
        record = look.judged(node, saved.facts, by, **about)
    # Waivers were held against today; what the node is, is as old as its file.
    record["gathered_at"] = saved.written_at or record["gathered_at"]
    records.write_record(args["fleet_dir"], record)
    kept = records.facts_path(args["fleet_dir"], node)
    if saved.facts is not None and os.path.realpath(kept) != os.path.realpath(path):
        records.write_facts(args["fleet_dir"], node, saved.facts)
    return saved.written_at
