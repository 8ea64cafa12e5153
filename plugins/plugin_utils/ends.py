# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How an audit ends: one stable code, the worst that applies, and the line that tells all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import clean, name_list, plural

CLEAN = "clean"
BAD_INPUT = "bad_input"
# The worst first: what a machine that reads one word must not miss. Only these and CLEAN are ever told.
CODES = (BAD_INPUT, "unreachable", "unknown", "unhealthy", "blocked", "waiver_expired")
FIT = ("may_move", "at_target")
REACHABLE = "node.reachable"
EXPIRED = "waiver.expired"


def code_of(record: Mapping[str, Any]) -> str | None:
    """The code of one node, None where nothing keeps it from being moved or left as it is.

    A node that answered and whose facts could not be read is unknown, not unreachable.
    """
    kind = record.get("class", "unknown")
    if kind in FIT:
        return None
    silent = any(finding.get("rule") == REACHABLE for finding in record.get("findings") or ())
    return "unreachable" if silent and not record.get("reachable") else kind if kind in CODES else "unknown"


def has_expired_waiver(record: Mapping[str, Any]) -> bool:
    """True for a node that a waiver names which does not hold any more, whether or not its rule still fails."""
    return any(row.get("rule") == EXPIRED and row.get("verdict") == "fail" for row in record.get("findings") or ())


def end(records: Mapping[str, Mapping[str, Any]], order: Sequence[str]) -> dict[str, Any]:
    """How an audit of these nodes ends: ``code``, ``codes`` (nodes of each that applies, the worst first), ``line``.

    :param order: every node that was to be looked at; one without a record is unknown, and none at all is bad input.
    """
    if not order:
        return bad_input("no node was looked at, so nothing can be said")
    found: dict[str, list[str]] = {code: [] for code in CODES}
    for node in order:
        record = records.get(node) or {}
        for one in (code_of(record), "waiver_expired" if has_expired_waiver(record) else None):
            if one:
                found[one].append(node)
    told = {code: nodes for code, nodes in found.items() if nodes}
    codes = {code: len(nodes) for code, nodes in told.items()}
    return {"code": next(iter(codes), CLEAN), "codes": codes, "line": _line(told, len(order))}


def bad_input(why: object) -> dict[str, Any]:
    """The end of an audit that could not begin; ``codes`` counts no node, since none was looked at."""
    return {"code": BAD_INPUT, "codes": {BAD_INPUT: 0}, "line": f"{BAD_INPUT}: {clean(why)}"}


def refused(ended: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a task that ends an audit before its end."""
    return {"changed": False, "failed": True, "code": ended["code"], "codes": ended["codes"], "msg": ended["line"]}


def _line(told: Mapping[str, list[str]], total: int) -> str:
    if not told:
        return f"{CLEAN}: {plural(total, 'node')}"
    parts = [f"{code}: {len(nodes)} of {plural(total, 'node')} ({name_list(nodes)})" for code, nodes in told.items()]
    return clean("; ".join(parts))
