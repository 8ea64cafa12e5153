# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit for the browser: one file that loads nothing, and says what counts without its script too."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from jinja2 import Template
from markupsafe import Markup

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import CLASSES
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.packed import in_script, pack
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.problems import KINDS, Problem, problems
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.templates import HERE, environment
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import clean, plural

SHOWN = {"in_the_way": 25, "to_change": 8, "advice": 12, "waived": 8}
RACKS, BARS, NAMES = 12, 10, 40
UNFIT = CLASSES[:3]
MEANING = {
    "unknown": "something that decides could not be read",
    "unhealthy": "a fault on the node",
    "blocked": "well, and may not move",
    "may_move": "well, and not at target yet",
    "at_target": "well, and nothing to do",
}
CHARTS = (("driver", "Driver"), ("rocm", "ROCm"), ("os", "Operating system"), ("kernel", "Kernel"), ("bios", "BIOS"))
BLOCKS = (("vbios", "VBIOS"), ("pldm_bundle", "Firmware bundle (PLDM)"), ("ifwi", "IFWI"))


class Bar(NamedTuple):
    """A row of a chart: ``percent`` of the nodes; ``search`` finds them."""

    label: str
    nodes: int
    percent: float
    search: str
    known: bool


def audit_html(model: Mapping[str, Any]) -> str:
    """The audit as one HTML page. What nodes say is escaped here, or text to the script; it is never markup."""
    style, script = _asset("audit.css"), _asset("audit.js")
    return _template().render(
        model=model,
        style=Markup(style),
        script=Markup(script),
        data=Markup(in_script(pack(model))),
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'",
        codes=codes(model["summary"]),
        classes=[(name, model["counts"]["class"].get(name, 0), MEANING[name]) for name in CLASSES],
        kinds=_kinds(problems(model)),
        products=model["counts"]["product"],
        racks=_racks(model["counts"]["rack"]),
        charts=_charts(model["distributions"], len(model["records"])),
        mixed=_mixed(model["distributions"]["firmware"]),
    )


def codes(summary: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The codes of the summary with how many nodes each is about (None where that is not told)."""
    told = summary.get("codes") or {}
    return list(told.items()) if isinstance(told, Mapping) else [(str(code), None) for code in told]


@lru_cache(maxsize=1)
def _template() -> Template:
    env = environment()
    env.filters.update(clean=clean, plural=plural, words=lambda name: clean(name).replace("_", " "))
    env.globals.update(names_shown=NAMES)
    return env.get_template("audit.html.j2")


@lru_cache(maxsize=2)
def _asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _kinds(found: Sequence[Problem]) -> list[tuple[str, str, list[Problem], int]]:
    """Key, title, the first problems and how many more, of each kind that has some."""
    rows = []
    for kind, title in KINDS.items():
        ours = [one for one in found if one.kind == kind]
        if ours:
            rows.append((kind, title, ours[: SHOWN[kind]], max(0, len(ours) - SHOWN[kind])))
    return rows


def _racks(counts: Mapping[str, Mapping[str, int]]) -> list[tuple[str, int, int, Mapping[str, int]]]:
    """Racks with nodes that cannot be moved, the greatest part of them first: name, unfit, nodes, classes."""
    rows = [(rack, sum(found.get(c, 0) for c in UNFIT), sum(found.values()), found) for rack, found in counts.items()]
    rows.sort(key=lambda row: (-row[1] / row[2], -row[1]))
    return [row for row in rows if row[1]][:RACKS]


def _charts(spread: Mapping[str, Any], nodes: int) -> list[tuple[str, list[Bar], int]]:
    """Title, bars and how many values have none, of each version that anybody could read."""
    given = [(key, title, spread[key]) for key, title in CHARTS]
    given += [(key, title, spread["firmware"][key]) for key, title in BLOCKS if key in spread["firmware"]]
    told = [(key, title, rows) for key, title, rows in given if any(row["value"] is not None for row in rows)]
    return [(title, [_bar(key, row, nodes) for row in rows[:BARS]], len(rows[BARS:])) for key, title, rows in told]


def _bar(key: str, row: Mapping[str, Any], nodes: int) -> Bar:
    label = clean(row["value"])
    percent = round(100 * row["nodes"] / max(nodes, 1), 2)
    return Bar(label, row["nodes"], percent, f'{key}:"{label}"', row["value"] is not None)


def _mixed(firmware: Mapping[str, Any]) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Blocks in which nodes of one product differ: product, block, and the nodes by value."""
    found = []
    for block, rows in firmware.items():
        for product in sorted({name for row in rows for name in row["products"]}):
            values = [
                (clean(row["value"]), row["products"][product])
                for row in rows
                if product in row["products"] and row["value"] is not None
            ]
            if len(values) > 1:
                found.append((product, block, values))
    return found
