# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/reference/rules.md: the table of rules, and of each what it says of the node that fails it in its tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Finding, Rule
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import CASES, findings

_AREAS = {
    "compliance": "Is the node at the target?",
    "transition": "May it move there?",
    "health": "Is it healthy?",
}
_HEAD = (
    "# Rules",
    "Made by `make docs`; the sources are the table in `plugins/plugin_utils/rules/__init__.py`, the rules' own "
    "documentation, and what each says of the node that does not pass it in "
    "`tests/unit/plugins/plugin_utils/rules/cases.py`.",
    "An **unknown** of a rule that *decides* makes the node unknown, and a **fail** of one makes it differ from the "
    "target, blocked or unhealthy, by the question the rule belongs to. What the others find is told. A waiver names "
    "a rule by the id used here.",
)


def rules_page() -> str:
    """The page, in the order in which rules are asked, by area."""
    parts = list(_HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for area, question in _AREAS.items():
            rules = [rule for rule in RULES if rule.area == area]
            parts += [f"## {question}", _table(rules)]
            parts += ["\n\n".join([f"### `{rule.id}`", _about(rule, Path(folder))]) for rule in rules]
    return "\n\n".join(parts) + "\n"


def _table(rules: list[Rule]) -> str:
    rows = [f"| [`{rule.id}`](#{rule.id.replace('.', '')}) | {_weight(rule)} | {_doc(rule)} |" for rule in rules]
    return "\n".join(["| rule | | what holds where it passes |", "|---|---|---|", *rows])


def _weight(rule: Rule) -> str:
    if rule.decides_by:
        return f"told; decides where the policy has `{rule.decides_by}`"
    return "decides" if rule.deciding else "told"


def _doc(rule: Rule) -> str:
    return " ".join((rule.check.__doc__ or "").split("\n\n")[0].split())


def _about(rule: Rule, folder: Path) -> str:
    rows = [f"- asks: {_doc(rule)}", f"- weight: {_weight(rule)}"]
    for verdict, case in CASES[rule.id].items():
        if verdict == "pass":
            continue
        if isinstance(case, str):
            rows.append(f"- never {verdict}: {case}")
            continue
        told = next(row for row in findings(rule.id, case, load_catalog(), folder) if row.verdict == verdict)
        rows += _finding(verdict, told)
        if told.source:
            rows.append(f"  - source of that: {told.source}")
    return "\n".join([*rows, f"- source: {rule.source}"])


def _finding(verdict: str, told: Finding) -> list[str]:
    wanted = f"expected {_one_line(told.expected)}, " if told.expected else ""
    rows = [
        f"- {verdict}, for example: {wanted}observed {_one_line(told.observed)}",
        f"  - why: {_one_line(told.why)}",
        f"  - fix: {_one_line(told.fix)}",
    ]
    return rows + [f"  - first: {_one_line(step)}" for step in told.before]


def _one_line(text: str) -> str:
    return " ".join(text.replace("*", "\\*").replace("<", "&lt;").split())
