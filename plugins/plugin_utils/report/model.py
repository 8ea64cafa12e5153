# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of an audit as one plain value, which every form of the report is made from (docs/schemas/audit.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.versions import (
    distributions,
    unread_of,
    versions_of,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import by_node
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES

Record = Mapping[str, Any]

CLASSES = ("unknown", "unhealthy", "blocked", "may_move", "at_target")  # the worst first
VERDICTS = ("fail", "unknown", "warn", "waived", "pass")  # of several findings of a rule, the first one counts
_RANK = {verdict: rank for rank, verdict in enumerate(VERDICTS)}
REACHABLE = "node.reachable"
# Rules about the gathering itself, which the judge's table does not have.
GATHERING = (REACHABLE, "node.facts")


def model(
    records: Mapping[str, Record] | Iterable[Record],
    summary: Mapping[str, Any],
    catalog_digest: str = "",
    target_name: str = "",
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    policy: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The result of one audit, in natural order of the nodes whatever the order of the input; plain JSON, schema 1.

    :param records: docs/contracts.md section 4, by node or as a list; they go into the result as they are.
    :param summary: ``records.summarise``, with ``code`` and ``codes`` where the audit has ended.
    :param facts: the facts by node, for versions that records do not have. Each node is asked for once and its facts
        are not kept, so a mapping that reads a file for each node does; a node that is not in it has null versions.
    :param policy: the one the nodes were judged by: it may make rules deciding that are advice otherwise.
    """
    nodes = by_node(records)
    versions, unread = {}, {}
    for node in nodes:
        seen = (facts or {}).get(node)
        versions[node] = versions_of(seen)
        if told := unread_of(seen):
            unread[node] = told
    times = sorted(record["gathered_at"] for record in nodes.values() if record.get("gathered_at"))
    return {
        "schema": 1,
        "target_name": target_name,
        "catalog_digest": catalog_digest,
        "gathered": {"first": times[0] if times else None, "last": times[-1] if times else None},
        "summary": dict(summary),
        "counts": {"class": _classes(nodes.values()), **{key: _by(nodes, key) for key in ("product", "rack")}},
        "distributions": distributions(nodes, versions),
        "rules": _rules(nodes, policy or {}),
        "versions": versions,
        "unread": unread,
        "records": nodes,
    }


def worst_by_rule(record: Record) -> dict[str, str]:
    """The verdict of each rule that said something about a node, the worst one where it said several things.

    A rule that is not in it said nothing: it had nothing to look at, or speaks only where something is odd.
    """
    said = dict.fromkeys(record.get("passed_rules") or (), "pass")
    if was_asked(record):
        said |= dict.fromkeys(GATHERING, "pass")
    for finding in record.get("findings") or ():
        rule, verdict = finding["rule"], finding["verdict"]
        said[rule] = min(said.get(rule, "pass"), verdict, key=lambda one: _RANK.get(one, 0))
    return said


def was_asked(record: Record) -> bool:
    """Whether the rules looked at the node at all: it answered, and its facts could be read."""
    return bool(record.get("passed_rules")) or any(f["rule"] not in GATHERING for f in record.get("findings") or ())


def _rule_table(records: Iterable[Record], policy: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """Area and whether it decides, of each rule: first those about the gathering, then the rules in their own order.

    Rules that only records know, of another version of the collection, come last and are taken for deciding.
    """
    known = dict.fromkeys(GATHERING, ("health", True))
    for rule in RULES:
        decides = rule.deciding or policy.get(rule.decides_by)
        known[rule.id] = (rule.area, bool(decides))
    foreign = {
        finding["rule"]: (finding.get("area") or "health", True)
        for record in records
        for finding in record.get("findings") or ()
        if finding["rule"] not in known
    }
    return {**known, **dict(sorted(foreign.items()))}


def _rules(nodes: Mapping[str, Record], policy: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each rule: how many nodes it failed, and so on; ``none`` are those it said nothing about."""
    found: dict[str, Counter[str]] = {}
    for record in nodes.values():
        for rule, verdict in worst_by_rule(record).items():
            found.setdefault(rule, Counter())[verdict] += 1
    rows = []
    for rule, (area, deciding) in _rule_table(nodes.values(), policy).items():
        counts = found.get(rule, Counter())
        told = {verdict: counts[verdict] for verdict in VERDICTS}
        told["none"] = len(nodes) - counts.total()
        rows.append({"rule": rule, "area": area, "deciding": deciding, "nodes": told})
    return rows


def _classes(records: Iterable[Record]) -> dict[str, int]:
    counts = Counter(record.get("class", "unknown") for record in records)
    return {name: counts[name] for name in CLASSES if counts[name]}


def _by(nodes: Mapping[str, Record], key: str) -> dict[str, dict[str, int]]:
    """Counts of the classes by product or rack; nodes without one are under "unknown"."""
    groups: dict[str, list[Record]] = {}
    for record in nodes.values():
        groups.setdefault(record.get(key) or "unknown", []).append(record)
    return {name: _classes(rows) for name, rows in by_node(groups).items()}
