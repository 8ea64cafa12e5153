# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ASPM over its layers: the BIOS, the command line now and at the next boot, and every link as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import missing
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    name_of,
    passed,
    rows,
    unread,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.advice import advised, verdict_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target_parts import is_off

_STATES = ("l0s", "l1")
_SHOWN = 4
_LEFT_OPEN = ("auto", "none", "")
OFF_TOKEN = "pcie_aspm=off"
_TODO = {
    "bios": "switch ASPM off in the BIOS: no kernel setting can do it where the BIOS left it on",
    "cmdline": f"boot with {OFF_TOKEN}, so that the kernel leaves it off",
    "reboot": "reboot",
}


class Layers(NamedTuple):
    """What each layer says.

    ``live`` is ``on`` where one end of one link has a state on, ``off`` where every end is known to have none, and
    ``unknown`` otherwise. ``running`` and ``coming`` are whether pcie_aspm=off is on the command line. ``bios`` is the
    attribute, ``Enabled`` or ``Disabled``, None where nobody asked the BMC, or it leaves that to itself (Auto).
    """

    live: str
    running: bool | None = None
    coming: bool | None = None
    bios: str | None = None


class Ruling(NamedTuple):
    """``wins`` is the layer that made the links what they are: bios, kernel, or None where that is not known.

    ``as_wanted`` is whether ASPM is off, None where that is not known; ``todo`` are keys of what is to do, in order.
    """

    wins: str | None
    as_wanted: bool | None
    todo: tuple[str, ...]


def rule_on(layers: Layers) -> Ruling:
    """The truth table. The links decide what is; the policy file and the command line alone prove nothing."""
    if layers.live == "unknown":
        return Ruling(None, None, ())
    if layers.live == "off":
        # An attribute that says otherwise takes effect at the next boot.
        return Ruling("bios" if layers.running else "kernel", True, ("bios",) if layers.bios == "Enabled" else ())
    if layers.running:
        # The kernel keeps its hands off, so this is what the BIOS left.
        return Ruling("bios", False, ("bios",))
    # Without the argument the kernel may have switched it on, or kept what the BIOS set.
    wins = "kernel" if layers.bios == "Disabled" else None
    todo = () if layers.bios == "Disabled" else ("bios",)
    return Ruling(wins, False, (*todo, "reboot") if layers.coming else (*todo, "cmdline"))


def aspm(ctx: Context) -> Iterator[Finding]:
    """ASPM is off at both ends of every link of every GPU's path, whoever has to see to it."""
    row = advised(ctx, "aspm")
    if row is None:
        return
    ends = list(_ends(ctx.gpus))
    on = [f"{subject} {', '.join(states)}" for subject, states in ends if states]
    live = "on" if on else "unknown" if not ends or any(states is None for _subject, states in ends) else "off"
    ruling = rule_on(Layers(live, _has(ctx, "cmdline"), _has(ctx, "next_boot_cmdline"), _bios(ctx)))
    if ruling.as_wanted is None:
        yield unread(ctx.node, "ASPM of every link (the kernel shows it only where it manages ASPM)", "ASPM off")
    elif ruling.as_wanted and not ruling.todo:
        yield passed(ctx.node, f"off at {len(ends)} ends of links")
    else:
        fix = "; then ".join(_TODO[step] for step in ruling.todo)
        yield Finding(verdict_of(row), ctx.node, "ASPM off", _few(on), _why(ruling, row), fix, source=row["source"])


def _ends(gpus: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[str] | None]]:
    """Each end of a link once, with the states that are on there; None where that is not known."""
    seen: set[object] = set()
    for gpu in gpus:
        for hop in rows(gpu.get("link")):
            if hop.get("bdf") not in seen:
                seen.add(hop.get("bdf"))
                subject = name_of(gpu) if hop.get("bdf") == gpu.get("bdf") else f"{name_of(gpu)} hop {hop.get('bdf')}"
                yield subject, _on(hop.get("aspm") or {})


def _on(state: Mapping[str, Any]) -> list[str] | None:
    on = [name.upper() for name in _STATES if state.get(name)]
    dark = any(state.get(name) is None for name in _STATES)
    # A link that has no such state has none on.
    return None if dark and not on and state.get("supported") != [] else on


def _has(ctx: Context, key: str) -> bool | None:
    tokens = ctx.get(f"node.kernel.{key}")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        return None
    return not missing([OFF_TOKEN], tokens)


def _bios(ctx: Context) -> str | None:
    """What the BIOS says, where the target wishes for its ASPM, so that this very look has asked the BMC."""
    values = [str(row.get("applied")) for row in rows(ctx.get("bmc.bios.rows")) if row.get("key") == "aspm"]
    if any(not is_off(value) and value.lower() not in _LEFT_OPEN for value in values):
        return "Enabled"
    return "Disabled" if values and all(is_off(value) for value in values) else None


def _few(on: list[str]) -> str:
    more = f" and at {len(on) - _SHOWN} more" if len(on) > _SHOWN else ""
    return f"on at {'; '.join(on[:_SHOWN])}{more}"


def _why(ruling: Ruling, row: Mapping[str, Any]) -> str:
    if ruling.wins == "bios":
        return f"{OFF_TOKEN} leaves what the BIOS set and makes the kernel refuse changes; {row['why']}"
    return str(row["why"])
