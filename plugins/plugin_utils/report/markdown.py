# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit as Markdown, for a ticket: short enough for one, whatever the fleet says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import first_reason
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import CLASSES
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.problems import KINDS, Problem, problems
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import clean, plural, releases

# Trackers take 32 Ki to 64 Ki characters.
LONGEST = 30_000
TEXT, NAMES, VALUES, ROWS = 240, 8, 6, 40
NODE_HEAD = ("node", "rack", "product", "ROCm / driver", "class", "first reason")
_ESCAPES = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "\\`*_[]|~$"},
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "@": "&#64;",
        "#": "&#35;",
    }
)
_VERSIONS = (("driver", "driver"), ("rocm", "ROCm"), ("os", "OS"), ("kernel", "kernel"), ("bios", "BIOS"))
_BLOCKS = ("vbios", "pldm_bundle", "ifwi")


def markdown(model: Mapping[str, Any]) -> str:
    """Summary, counts, versions, the worst problems with their nodes and fixes, and the nodes that cannot be moved.

    Never longer than LONGEST: what does not fit is counted.
    """
    text = _head(model)
    for share, title, head, rows in _sections(model):
        text += _section(title, head, rows, int(LONGEST * share) - len(text))
    return text


def _head(model: Mapping[str, Any]) -> str:
    records, summary, times = model["records"], model["summary"], model["gathered"]
    code = f"**{escape(summary['code'])}**: " if summary.get("code") else ""
    classes = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in model["counts"]["class"].items())
    lines = [f"# Audit{' for ' + escape(model['target_name']) if model['target_name'] else ''}", ""]
    lines += [f"{code}{plural(len(records), 'node')}: {classes or 'nothing can be said'}.", ""]
    if times["first"]:
        lines.append(f"Gathered from {escape(times['first'])} to {escape(times['last'])}.")
    if model["catalog_digest"]:
        lines.append(f"Catalog {escape(model['catalog_digest'])}.")
    return "\n".join(lines).rstrip() + "\n"


def _sections(model: Mapping[str, Any]) -> Iterator[tuple[float, str, Sequence[str], list[list[str]]]]:
    """Up to which part of the whole a section may reach, its title, and its table."""
    kinds = [name.replace("_", " ") for name in CLASSES]
    yield 0.15, "Products", ("product", *kinds), _products(model["counts"]["product"])
    yield 0.3, "Versions", ("what", "nodes by version"), _versions(model["distributions"])
    found = problems(model)
    for share, (kind, title) in zip((0.6, 0.65, 0.75, 0.8), KINDS.items(), strict=True):
        rows = [_problem(one) for one in found if one.kind == kind]
        yield share, title, ("verdict", "rule", "nodes", "seen", "why", "fix"), rows
    unfit = [record for record in model["records"].values() if record.get("class") in CLASSES[:3]]
    unfit.sort(key=lambda record: CLASSES.index(record["class"]))
    yield 1.0, "Nodes that cannot be moved", NODE_HEAD, [_node(record) for record in unfit]


def _products(counts: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    return [[escape(name), *(str(found.get(kind, 0)) for kind in CLASSES)] for name, found in counts.items()]


def _node(record: Mapping[str, Any]) -> list[str]:
    told = [record["node"], record.get("rack") or "-", record.get("product") or "-", releases(record)]
    return [escape(value) for value in (*told, record["class"], first_reason(record))]


def _versions(spread: Mapping[str, Any]) -> list[list[str]]:
    given = [(title, spread[key]) for key, title in _VERSIONS]
    given += [(block, spread["firmware"][block]) for block in _BLOCKS if block in spread["firmware"]]
    return [[title, _values(rows)] for title, rows in given if any(row["value"] is not None for row in rows)]


def _values(rows: Sequence[Mapping[str, Any]]) -> str:
    told = [f"{escape(row['value'])}: {row['nodes']}" for row in rows[:VALUES]]
    return "; ".join(told) + _more(len(rows) - VALUES)


def _problem(one: Problem) -> list[str]:
    seen = escape(one.seen[0][0]) + _more(len(one.seen) - 1, " other value")
    names = ", ".join(escape(name, 64) for name in one.nodes[:NAMES]) + _more(len(one.nodes) - NAMES)
    verdict = one.verdict if one.deciding else f"{one.verdict} (advice)"
    return [verdict, escape(one.rule), f"{len(one.nodes)}: {names}", seen, escape(one.why), escape(one.fix)]


def _more(number: int, noun: str = " more") -> str:
    return "" if number < 1 else f" and {number}{noun}" + ("s" if number > 1 and noun != " more" else "")


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> str:
    """A section with a table of at most ROWS that is no longer than ``room``; nothing where there are no rows."""
    if not rows:
        return ""
    text = f"\n## {title}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}\n"
    for number, row in enumerate(rows):
        line = f"| {' | '.join(row)} |\n"
        if number == ROWS or len(text) + len(line) > room - 40:
            return f"{text}\n... and {len(rows) - number} more.\n"
        text += line
    return text


def escape(value: Any, longest: int = TEXT) -> str:
    """A value as text in a table of Markdown: one line without markup, mentions and links, not too long."""
    text = clean(value)
    return (text if len(text) <= longest else f"{text[: longest - 3]}...").translate(_ESCAPES)
