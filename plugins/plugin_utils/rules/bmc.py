# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware and BIOS settings of the target, held against what the BMC says, or the node where nobody asked the BMC.

Facts that an audit gathers for such a target have the key ``bmc``, where ``bmc_look`` put it: ``address`` (is one
known?), ``firmware`` and ``bios``, each what the BMC said or ``{"why", "code"}`` where it said nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, get, passed

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import (
        answers,
        board,
        compare,
        inventory,
        wishes,
    )
else:  # most targets want nothing of a BMC
    _PLACE = "ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish"
    answers, board, compare = (Later(f"{_PLACE}.{name}") for name in ("answers", "board", "compare"))
    inventory, wishes = (Later(f"{_PLACE}.{name}") for name in ("inventory", "wishes"))

# How a node's own numbers compare, where a row of the target does not say it.
_SCHEMES = {"gpu_vbios": "part_number", "gpu_bundle": "dotted", "gpu_ifwi": "ifwi"}
# What leaves open which version runs; every other refusal says that it must not be flashed.
_UNTOLD = frozenset(("version_unknown", "component_unknown", "ambiguous"))
# What says that the BMC could not be asked, not that it refuses.
_UNASKED = frozenset((
    "bmc_unreachable", "untrusted_certificate", "bad_credentials", "session_limit", "library_missing", "staged_unknown",
    "jobs_unknown", "",
))  # fmt: skip


class Component(NamedTuple):
    """A component that the target wants, and what is known of it.

    ``what`` is same, flash, refused, unknown (the BMC does not tell it) or unasked (nobody asked the BMC); ``before``
    the version that runs, None where it is not known; ``lowest`` the oldest that the BMC takes, None where it does not
    say; ``problem`` the refusal.
    """

    row: Mapping[str, Any]
    what: str
    before: str | None = None
    lowest: str | None = None
    scheme: str = "maker"
    problem: answers.BmcError | None = None

    @property
    def activation(self) -> str:
        """What makes it run; the node itself reboots or loses its power for most kinds."""
        return str(self.row["activation"])

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of a rollout that mend it."""
        return ("firmware",) if self.activation in ("none", "bmc_reset") else ("firmware", "reboot")

    @property
    def back(self) -> bool | None:
        """Whether the BMC would take the version that runs again, None where it does not say."""
        if self.before is None or self.lowest is None:
            return None
        return compare.order(self.scheme, self.before, self.lowest) in (0, 1)


def components(ctx: Context) -> list[Component]:
    """The components that the target wants, in its order, each once."""
    rows = (ctx.wanted or {}).get("firmware") or []
    names = dict.fromkeys(row["component"] for row in rows)
    told = get(ctx.facts, "bmc.firmware")
    say = _by_bmc if isinstance(told, Mapping) and "entries" in told else _by_node
    return [say(ctx, [row for row in rows if row["component"] == name], told or {}) for name in names]


def _by_bmc(ctx: Context, rows: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> Component:
    """By the typed comparison that the flash itself goes by."""
    entries = [inventory.Entry(**row) for row in told["entries"]]
    found = inventory.running(entries, rows[0]["component"])
    about: dict[str, Any] = {"lowest": found[0].lowest, "scheme": wishes.scheme_of(rows[-1], found[0])} if found else {}
    before = ", ".join(sorted({entry.version for entry in found if entry.version})) or None
    left = rows
    while left:
        row, left = left[0], left[1:]
        if any(wishes.is_wanted(later, found) for later in left):
            continue
        try:
            decision = wishes.decide(row, entries, ctx.node, told["machine"], told["problems"])
        except answers.BmcError as problem:
            what = "unknown" if problem.code in _UNTOLD else "refused"
            return Component(rows[-1], what, before, problem=problem, **about)
        if decision.do == "flash":
            return Component(rows[-1], "flash", before, **about)
    return _unless_the_node_says_no(ctx, Component(rows[-1], "same", before, **about))


def _unless_the_node_says_no(ctx: Context, said: Component) -> Component:
    """A BMC may show what it was sent; where the node itself surely runs another version, that is what counts."""
    shown, wanted = _shown(ctx, said.row), said.row["shown_as"] or said.row["version"]
    others = [text for text in shown if compare.order(_scheme(said.row), text, wanted) in (-1, 1)]
    return said._replace(what="flash", before=", ".join(others)) if others else said


def _by_node(ctx: Context, rows: Sequence[Mapping[str, Any]], _told: Mapping[str, Any]) -> Component:
    row, shown = rows[-1], _shown(ctx, rows[-1])
    orders = {compare.order(_scheme(row), text, row["shown_as"] or row["version"]) for text in shown}
    before = ", ".join(shown) or None
    if not orders or None in orders:
        return Component(row, "unasked", before)
    return Component(row, "same" if orders == {0} else "flash", before)


def _shown(ctx: Context, row: Mapping[str, Any]) -> list[str]:
    return board.seen_by_node(ctx.facts).get(row["component"], [])


def _scheme(row: Mapping[str, Any]) -> str:
    return str(row["scheme"] or _SCHEMES.get(row["component"], "maker"))


def firmware(ctx: Context) -> Iterator[Finding]:
    """Each component that the target names runs the wanted version; what only a BMC tells is no pass without it."""
    silent = get(ctx.facts, "bmc.firmware") or {}
    for one in components(ctx):
        name = one.row["component"]
        subject, wanted = f"{ctx.node} {name}", f"{name} {one.row['version']}"
        if one.what == "same":
            yield passed(subject, wanted)
        elif one.what == "unknown" or (one.what == "unasked" and "why" in silent):
            verdict = "unknown" if one.problem else _without(silent)
            why = one.problem.seen if one.problem else silent["why"]
            yield Finding(verdict, subject, wanted, "not known", why, "see what the BMC's own page shows")
        elif one.what == "unasked":
            why = "only the BMC can tell which version runs, and it was not asked"
            fix = "the rollout's firmware step asks the BMC first, and flashes only what differs"
            yield Finding("fail", subject, wanted, "not known", why, fix, steps=one.steps)
        else:
            may = one.what == "flash"
            fix = "the rollout's firmware step flashes it" if may else "it cannot be flashed: see bmc.ready"
            steps = one.steps if may else ()
            yield Finding("fail", subject, wanted, f"{name} {one.before}", "another version runs", fix, steps=steps)


def _without(said: Mapping[str, Any]) -> str:
    """The verdict where the BMC said nothing: unknown where it could not be asked, fail where it refused."""
    return "unknown" if said.get("code", "") in _UNASKED else "fail"


def bios(ctx: Context) -> Iterator[Finding]:
    """Each BIOS setting that the target names is applied, by what the BMC shows."""
    wanted, told = (ctx.wanted or {}).get("bios") or {}, get(ctx.facts, "bmc.bios") or {}
    steps, fix = ("bios", "reboot"), "the rollout's bios step stages it, and the reboot applies it"
    for row in told.get("rows") or ():
        subject, wish = f"{ctx.node} {row['attribute']}", f"{row['key']} {row['wanted']}"
        if row["do"] == "nothing":
            yield passed(subject, row["applied"])
        else:
            staged = "" if row["staged"] is None else f", and {row['staged']} is staged"
            yield Finding("fail", subject, wish, f"{row['applied']}{staged}", "another value holds", fix, steps=steps)
    if wanted and "rows" not in told:
        all_of_them = ", ".join(f"{key} {value}" for key, value in wanted.items())
        seen, why = "not known", told.get("why") or "only the BMC can tell what holds, and it was not asked"
        verdict = _without(told) if "why" in told else "fail"
        yield Finding(verdict, ctx.node, all_of_them, seen, why, fix, steps=steps)


def ready(ctx: Context) -> Iterator[Finding]:
    """What the target wants of firmware and BIOS can be brought in: there is a BMC, it answers, and it takes it."""
    told = get(ctx.facts, "bmc")
    what = " and ".join(key for key in ("firmware", "bios") if (ctx.wanted or {}).get(key))
    if not what or not isinstance(told, Mapping):
        return
    left = [one for one in components(ctx) if one.what != "same"]
    if not left and all(row.verdict == "pass" for row in bios(ctx)):
        yield passed(ctx.node)
    elif not told["address"]:
        yield Finding(
            "fail", ctx.node, "a BMC to bring it in through", "no fleet_bmc_address",
            f"the target wants {what}, and nothing says where the BMC of this node is",
            "put fleet_bmc_address, fleet_bmc_user and fleet_bmc_password into the inventory, or take the node out",
        )  # fmt: skip
    else:
        found = [*_refused(ctx, left), *_silent(ctx, told)]
        yield from found or [passed(ctx.node)]


def _refused(ctx: Context, left: Sequence[Component]) -> Iterator[Finding]:
    for one in left:
        if one.what == "refused" and one.problem:
            subject = f"{ctx.node} {one.row['component']}"
            yield Finding("fail", subject, one.problem.wanted, one.problem.seen, "it must not be flashed",
                          one.problem.fix or "correct the target, or take the node out")  # fmt: skip


def _silent(ctx: Context, told: Mapping[str, Any]) -> Iterator[Finding]:
    for part, name in (("firmware", "firmware"), ("bios", "BIOS settings")):
        said = told.get(part) or {}
        if "why" in said:
            verdict = _without(said)
            why = "it is refused" if verdict == "fail" else "no data is never a pass"
            fix = (
                "mend what the reason names and audit again; docs/firmware.md, docs/bios.md tell the words in brackets"
            )
            yield Finding(verdict, f"{ctx.node} {name}", "a BMC that answers and takes it", said["why"], why, fix)


def foreseen(ctx: Context) -> dict[str, Any]:
    """For the record: what the target's firmware and BIOS settings would change; no key for what it does not name."""
    wanted, found = ctx.wanted or {}, {}
    if wanted.get("firmware"):
        found["firmware"] = [
            {
                "component": one.row["component"], "from": one.before, "to": one.row["version"],
                "activation": one.activation, "lowest": one.lowest, "back": one.back,
            }
            for one in components(ctx)
            if one.what != "same"
        ]  # fmt: skip
    if wanted.get("bios"):
        rows = (get(ctx.facts, "bmc.bios") or {}).get("rows") or ()
        keys = [{"attribute": row["attribute"], "from": row["applied"], "to": row["wanted"]} for row in rows
                if row["do"] != "nothing"]  # fmt: skip
        plain = [{"attribute": key, "from": None, "to": value} for key, value in wanted["bios"].items()]
        found["bios"] = keys if rows else plain
    return found
