# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator lets through: by rule, by node, with a name, a reason and a last day."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    Rule,
    passed,
    rows,
)


def _own(ctx: Context) -> list[Mapping[str, Any]]:
    waivers = rows(ctx.policy.get("waivers"))
    return [row for row in waivers if any(fnmatch.fnmatchcase(ctx.node, pattern) for pattern in row["nodes"])]


def _words(waiver: Mapping[str, Any]) -> str:
    return f"{waiver['owner']}: {waiver['reason']} (until {waiver['expires']})"


def expired(ctx: Context) -> Iterator[Finding]:
    """No waiver that names the node is past its last day: what it let through must be mended, or be decided anew."""
    for waiver in _own(ctx) if ctx.today else ():
        subject = f"{ctx.node} waiver of {waiver['rule']}"
        if ctx.today <= waiver["expires"]:
            yield passed(subject, waiver["expires"])
        else:
            yield Finding(
                "fail",
                subject,
                f"a waiver that holds on {ctx.today}",
                f"it held until {waiver['expires']}",
                f"nobody has decided anew what was let through by {_words(waiver)}",
                "mend what it was for and take it out of the policy, or let its owner renew it",
                move="needs_step",
            )


def waived(rule: Rule, finding: Finding, ctx: Context) -> Finding:
    """The finding, let through where a waiver names its rule and the node and holds today; never anything else."""
    if finding.verdict not in ("fail", "unknown") or rule.id == "waiver.expired":
        return finding
    for waiver in _own(ctx):
        if waiver["rule"] != rule.id:
            continue
        if ctx.today and ctx.today <= waiver["expires"]:
            return finding._replace(verdict="waived", why=f"{finding.why}; waived by {_words(waiver)}")
        finding = finding._replace(fix=f"{finding.fix}; a waiver by {_words(waiver)} does not hold any more")
    return finding
