# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings put together: what is the same on many nodes or GPUs is told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import VERDICTS
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import finding_text

Finding = Mapping[str, Any]
# What a problem means to a move: it is refused, it is what the move is for, it is only told, or it is let through.
KINDS = {
    "in_the_way": "What stands in the way",
    "to_change": "What a rollout would change",
    "advice": "Advice and warnings",
    "waived": "Waived",
}
TEXTS = ("rule", "verdict", "area", "expected", "observed", "why", "fix", "source")


class Problem(NamedTuple):
    """One problem of the fleet: findings of a rule with the same verdict and the same way to mend them.

    ``kind`` is a key of KINDS. ``seen`` counts what was seen, the most frequent first; ``nodes`` are in order; ``why``
    and ``source`` are those of the first finding.
    """

    kind: str
    verdict: str
    rule: str
    deciding: bool
    fix: str
    why: str
    source: str
    seen: list[tuple[str, int]]
    nodes: list[str]


class _Found(NamedTuple):
    first: Finding
    seen: Counter[str]
    nodes: dict[str, None]


def problems(model: Mapping[str, Any]) -> list[Problem]:
    """The problems in the result of an audit, the worst first: by kind and verdict, then by the number of nodes."""
    found: dict[tuple[str, str, str], _Found] = {}
    for node, record in model["records"].items():
        for finding in record.get("findings") or ():
            key = (finding["verdict"], finding["rule"], finding.get("fix") or "")
            group = found.setdefault(key, _Found(finding, Counter(), {}))
            group.seen[finding_text(finding)] += 1
            group.nodes[node] = None
    rules = {row["rule"]: (row["area"], row["deciding"]) for row in model["rules"]}
    order = {rule: number for number, rule in enumerate(rules)}
    told = [_problem(key, group, *rules[key[1]]) for key, group in found.items() if key[0] in VERDICTS]
    kinds = list(KINDS)
    return sorted(
        told,
        key=lambda one: (kinds.index(one.kind), VERDICTS.index(one.verdict), -len(one.nodes), order[one.rule], one.fix),
    )


def _problem(key: tuple[str, str, str], group: _Found, area: str, deciding: bool) -> Problem:
    verdict, rule, fix = key
    why, source = (group.first.get(part) or "" for part in ("why", "source"))
    seen = sorted(group.seen.items(), key=lambda row: (-row[1], row[0]))
    return Problem(_kind(verdict, area, deciding), verdict, rule, deciding, fix, why, source, seen, list(group.nodes))


def _kind(verdict: str, area: str, deciding: bool) -> str:
    if verdict == "waived":
        return "waived"
    if not deciding or verdict not in ("fail", "unknown"):
        return "advice"
    return "to_change" if (area, verdict) == ("compliance", "fail") else "in_the_way"


def subjects_together(findings: Iterable[Finding]) -> list[tuple[Finding, list[str]]]:
    """Findings of one node that differ in nothing but their subject, once, with the subjects in order."""
    found: dict[tuple[Any, ...], tuple[Finding, list[str]]] = {}
    for finding in findings:
        key = tuple(finding.get(part) for part in TEXTS)
        found.setdefault(key, (finding, []))[1].append(str(finding.get("subject") or ""))
    return list(found.values())
