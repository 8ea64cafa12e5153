# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit on the terminal: what each node is fit for, and what stands in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.table import bullets, paint, section, table
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import (
    NO_VALUE,
    WIDTH,
    by_node,
    clean,
    finding_text,
    name_list,
    plural,
    releases,
    tone,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES

Record = Mapping[str, Any]
CLASSES = {"may_move": "may move", "at_target": "at target", "unhealthy": "unhealthy", "blocked": "blocked",
           "unknown": "unknown"}
HEAD = ("node", "rack", "product", "GPUs", "ROCm/driver", "target", "class", "what next")
VERSIONS = (("driver", "driver"), ("rocm", "ROCm"), ("os", "OS"), ("kernel", "kernel"))
DECIDED_BY = {"unknown": ("unknown", None), "unhealthy": ("fail", "health"), "blocked": ("fail", "transition")}
ADVICE = {rule.id for rule in RULES if not rule.deciding}
VALUES, GROUPS = 6, 100
SHOWN = ("fail", "unknown", "warn", "waived")


def audit_report(
    records: Mapping[str, Record] | Iterable[Record], summary: Mapping[str, Any] | None = None, colour: bool = False,
    width: int = WIDTH, spread: Mapping[str, Any] | None = None,
) -> str:
    """The audit as text: a verdict, a table by node, and each finding that is not a pass with its nodes and its fix.

    :param records: docs/contracts.md section 4, by node or as a list.
    :param summary: ``records.summarise``: its ``products`` are told apart where there are several; may be left out.
    :param spread: ``report.versions.distributions``: which versions there are; may be left out.
    """
    nodes = by_node(records)
    if not nodes:
        return "Audit: no node was looked at, so nothing can be said.\n"
    rows = [_row(node, record) for node, record in nodes.items()]
    body = table(HEAD, rows, width, colour, [tone(record["class"]) for record in nodes.values()], toned=6)
    found = Counter(record["class"] for record in nodes.values())
    text = f"Audit of {plural(len(nodes), 'node')}: {_classes(found, colour)}.\n"
    products = (summary or {}).get("products", {})
    if len(products) > 1:
        text += "".join(f"  {clean(name)}: {_classes(counts, colour)}\n" for name, counts in products.items())
    return f"{text}\n{body}\n" + _versions(spread or {}, width, colour) + _findings(nodes, width, colour)


def _versions(spread: Mapping[str, Any], width: int, colour: bool) -> str:
    """What runs on how many nodes, where anybody could read it."""
    given = [(title, spread.get(key) or ()) for key, title in VERSIONS]
    given.append(("VBIOS", (spread.get("firmware") or {}).get("vbios") or ()))
    rows = [
        (title, ", ".join(f"{clean(row['value'])} ({row['nodes']})" for row in rows[:VALUES]) + _more(rows))
        for title, rows in given
        if any(row["value"] is not None for row in rows)
    ]
    return section("Versions (nodes)", bullets(rows, width), colour)


def _more(rows: Sequence[Any]) -> str:
    return f" and {len(rows) - VALUES} more" if len(rows) > VALUES else ""


def _classes(found: Mapping[str, int], colour: bool) -> str:
    parts = [(name, f"{found[name]} {words}") for name, words in CLASSES.items() if found.get(name)]
    return ", ".join(paint(text, tone(name), colour) for name, text in parts)


def _row(node: str, record: Record) -> list[Any]:
    gpus = f"{_number(record.get('gpu_count'))}/{_number(record.get('expected_gpu_count'))}"
    return [node, record.get("rack") or "-", record.get("product"), gpus, releases(record),
            releases(record.get("target")), CLASSES.get(record["class"], record["class"]), _next(record)]


def _number(value: Any) -> str:
    return "?" if value is None else str(value)


def _next(record: Record) -> str:
    findings = [f for f in record.get("findings", ()) if f["verdict"] in ("fail", "unknown")]
    if record["class"] in ("may_move", "at_target"):
        steps = ", ".join(record.get("steps") or ()) or "nothing to do"
        rollback = record.get("rollback") or {}
        return steps if not record.get("steps") or rollback.get("ready") else f"{steps}; no way back: {_why(rollback)}"
    if not findings:
        return "no finding says why"
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    first = min(findings, key=lambda finding: not _decided(record["class"], finding))
    return f"{first['rule']}: {finding_text(first)}{more}"


def _decided(kind: str, finding: Mapping[str, Any]) -> bool:
    """Whether a finding is of the sort that makes a node be of that class."""
    verdict, area = DECIDED_BY.get(kind, ("fail", None))
    return finding["verdict"] == verdict and area in (None, finding.get("area")) and finding["rule"] not in ADVICE


def _why(rollback: Mapping[str, Any]) -> str:
    return "; ".join(clean(reason) for reason in rollback.get("why") or ()) or NO_VALUE


def _findings(nodes: Mapping[str, Record], width: int, colour: bool) -> str:
    """Equal findings once, with the nodes that have them; the worst first."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for node, record in nodes.items():
        for finding in record.get("findings", ()):
            if finding["verdict"] in SHOWN:
                key = (finding["verdict"], finding["rule"], finding_text(finding), clean(finding.get("fix") or ""))
                groups.setdefault(key, []).append(node)
    text = ""
    for verdict in SHOWN:
        rows = [(rule, _sentence(seen, fix, names)) for (of, rule, seen, fix), names in groups.items() if of == verdict]
        more = f"\n  and {len(rows) - GROUPS} more" if len(rows) > GROUPS else ""
        text += section(f"{verdict} ({len(rows)})", bullets(rows[:GROUPS], width) + more, colour)
    return text


def _sentence(seen: str, fix: str, names: list[str]) -> str:
    nodes = sorted(set(names))
    times = f", {len(names)} times" if len(names) > len(nodes) else ""
    return f"{seen}. {'Fix: ' + fix + '. ' if fix else ''}[{name_list(nodes)}{times}]"
