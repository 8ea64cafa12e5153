# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of the reports: how a state, a time, a list of nodes and a finding are said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import ACTIVE, LOST
from ansible_collections.fleetops.instinct.plugins.plugin_utils.waves import natural

WIDTH = 100
NO_VALUE = "unknown"
NO_REASON = "no reason was recorded"
NEXT_STEP = {
    "planned": "its wave has not begun: run upgrade again with the same plan",
    "paused": "an operator held it: let it go on (resume playbook with --limit), then run upgrade again",
    "requeued": "run upgrade again with the same plan: its wave takes it up again",
    "skipped": "an operator left it out; the retry playbook with --limit, or a new plan, takes it in again",
    "inconclusive": "nothing that counts was seen: look at the node by hand, then retry it or roll it back",
    "failed": "look at its story; roll it back (rollback playbook), or mend it and retry it (retry playbook)",
    "rolling_back": "its rollback did not end: run the rollback playbook again",
    "verifying_old": "its rollback was not proven: run the rollback playbook again",
    "restored": "it runs what it ran before; mend the cause, then retry it (retry playbook) or make a new plan",
    "quarantined": "keep it out of service; repair it by hand, then release it (release playbook) or make a new plan",
    "unknown": "the ledger does not know it: look at the node by hand",
}
RESUME = "never came back: see whether it is up; run upgrade again with the same plan to take it up where it is"
# Control characters, halves of surrogate pairs, and what turns the direction of a text around.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]+")


def clean(value: Any) -> str:
    """A value as one line of text without control characters: what a node says must not drive a terminal."""
    return NO_VALUE if value is None else _CONTROL.sub(" ", str(value)).strip()


def by_node(rows: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None) -> dict[str, Any]:
    """Rows by node in natural order; takes a map of rows or a list of rows with the key ``node``."""
    given = rows if isinstance(rows, Mapping) else {row["node"]: row for row in rows or ()}
    return {node: given[node] for node in sorted(given, key=natural)}


def tone(state: str) -> str:
    """How a state or verdict looks: good, busy, warn, bad or idle."""
    if state in ("in_service", "at_target", "pass", "may_move"):
        return "good"
    if state in ("paused", "inconclusive", "restored", "warn", "waived"):
        return "warn"
    if state in LOST or state in ("fail", "unknown", "blocked", "unhealthy"):
        return "bad"
    return "busy" if state in ACTIVE else "idle"


def next_step(state: str) -> str:
    """What an operator does about a node that did not come to a good end."""
    return NEXT_STEP.get(state, RESUME if state in ACTIVE else "")


def duration(seconds: float | None) -> str:
    """Seconds as words: 42 s, 3 min 5 s, 2 h 10 min, 3 d 4 h."""
    if seconds is None:
        return NO_VALUE
    whole = round(seconds)
    for size, unit, part, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def flash(row: Mapping[str, Any]) -> str:
    """A row of the firmware that a plan brings in: bios 3.2 -> 3.4 (ac_cycle)."""
    how = "" if row["activation"] == "none" else f" ({clean(row['activation'])})"
    return f"{clean(row['component'])} {clean(row['from'])} -> {clean(row['to'])}{how}"


def flashed_back(row: Mapping[str, Any]) -> str:
    """Whether the BMC takes the version that runs once more, in words."""
    if row["back"] is None:
        return "whether the BMC takes it again is not told"
    if not row["back"]:
        return f"the BMC takes nothing below {clean(row['lowest'])}, so never"
    return f"the BMC takes {clean(row['lowest'])} and newer, so by a target that names it with allow_downgrade"


def plural(number: int, noun: str) -> str:
    """1 node, 2 nodes."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def name_list(nodes: Sequence[str], shown: int = 12) -> str:
    """Nodes in natural order, the first few by name."""
    names = sorted(nodes, key=natural)
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def releases(row: Mapping[str, Any] | None) -> str:
    """ROCm and driver release as one text; "unknown" for what was not read."""
    if not row:
        return NO_VALUE
    rocm, driver = row.get("rocm"), row.get("driver")
    return clean(rocm) if rocm == driver else f"{clean(rocm)} / {clean(driver)}"


def journey(row: Mapping[str, Any], arrow: str = "->") -> str:
    """From what to what a planned node goes."""
    return f"{releases(row.get('from'))} {arrow} {releases(row.get('to'))}"


def finding_text(finding: Mapping[str, Any]) -> str:
    """What was seen and what was wanted; only the one where nothing certain was wanted."""
    wanted = finding.get("expected")
    return clean(finding.get("observed")) + (f", wanted {clean(wanted)}" if wanted != "" else "")
