# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Idle states over their layers. Three knobs are kept apart: C2 in the operating system, Global C-state control and DF
C-states in the BIOS. AMD allows the first to be off, wants the second on and the third off, which only the BMC tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import key_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    passed,
    rows,
    unread,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.advice import advised

# By driver, the arguments that it listens to, and the values that leave nothing deeper than C1.
_LIMITS: dict[str, dict[str, tuple[str, ...]]] = {
    "acpi_idle": {"processor.max_cstate": ("0", "1")},
    "intel_idle": {"intel_idle.max_cstate": ("1",)},
}
_NAMES = frozenset(name for names in _LIMITS.values() for name in names)
# With these the kernel uses no idle driver at all.
_NO_DRIVER = ("idle=poll", "idle=halt", "idle=nomwait", "cpuidle.off=1")
_WANTED = "a state deeper than C1"
_COST = "allowed for latency, and it costs boost: busy cores clock higher where idle ones are in C2"


class Ruling(NamedTuple):
    """``wins`` is the layer that keeps cores from deeper states: os, bios, host, or None where nothing does.

    ``as_wanted`` is whether that is what AMD wants or allows; ``why`` and ``fix`` say it in words.
    """

    wins: str | None
    as_wanted: bool
    why: str = ""
    fix: str = ""


class Seen(NamedTuple):
    """What a node shows: the driver, states deeper than C1, those of them that are off, and arguments about them."""

    driver: str | None
    states: list[str]
    deep: list[str]
    off: list[str]
    partly: list[str]
    arguments: list[str]
    guest: bool | None = False


def deeper(states: Sequence[str], latency: Mapping[str, Any], shallow: Iterable[str]) -> list[str]:
    """States that are deeper than the shallow ones, by name and latency in microseconds; never by their place."""
    known = [latency[name] for name in shallow if isinstance(latency.get(name), int)]
    least = max(known, default=0)
    return [
        name
        for name in states
        if name not in shallow and not (isinstance(latency.get(name), int) and known and latency[name] <= least)
    ]


def limiting(driver: str | None, arguments: Iterable[str]) -> list[str]:
    """The arguments that take effect: the last one of each name that the driver listens to, and those of no driver."""
    last = {key_of(token): token for token in arguments}
    limits = _LIMITS.get(str(driver), {})
    found = [token for name, token in last.items() if token.partition("=")[2].strip('"') in limits.get(name, ())]
    return [*found, *(token for token in last.values() if token in _NO_DRIVER)]


def rule_on(seen: Seen) -> Ruling:
    """The truth table of what the layers say."""
    limits = limiting(seen.driver, seen.arguments)
    if not seen.deep and any(token in _NO_DRIVER for token in limits):
        return Ruling("os", False, f"{' '.join(limits)} keeps idle cores awake", "take it off the command line")
    if not seen.deep and limits:
        return Ruling("os", True, f"{' '.join(limits)} keeps cores at C1: {_COST}")
    if not seen.states and seen.guest:
        return Ruling("host", True, "the host idles the processors of its guests")
    if not seen.deep:
        return Ruling("bios", False, "", _ENABLE)
    useless = [token for token in seen.arguments if key_of(token) in _NAMES and token not in limits]
    if useless and not (set(seen.deep) <= set(seen.off)):
        return Ruling(None, False, *_useless(seen, useless))
    if set(seen.deep) <= set(seen.off):
        return Ruling("os", False, _COST, "`cpupower idle-set -E` enables them again; a reboot does so as well")
    if seen.partly:
        return Ruling("os", False, f"{', '.join(seen.partly)} is off on some processors and on on others", _ALIKE)
    return Ruling(None, True)


_ENABLE = "enable Global C-state control in the BIOS; it is neither DF C-states nor what cpupower sets"
_ALIKE = "set all of them alike: `cpupower -c all idle-set -E`, or -d with the state's number on each processor"


def _useless(seen: Seen, tokens: list[str]) -> tuple[str, str]:
    told = f"{' '.join(tokens)} does not keep {seen.driver} from {', '.join(seen.deep)}"
    own = " or ".join(_LIMITS.get(str(seen.driver), {})) or "none that is known"
    return told, f"take it off the command line; the argument for {seen.driver} is {own}"


def states(ctx: Context) -> Iterator[Finding]:
    """Idle cores may go deeper than C1, or the operating system alone keeps them from it."""
    if advised(ctx, "global_cstate") is None:
        return
    seen = _seen(ctx)
    row = {row["name"]: row for row in ctx.catalog.settings["idle"]}["global_cstates"]
    if seen is None:
        yield unread(ctx.node, "the idle states of the cores")
        return
    ruling = rule_on(seen)
    told = ", ".join(name for name in seen.states if name not in seen.off) or f"none ({seen.driver})"
    if ruling.as_wanted:
        yield passed(ctx.node, f"{told}; {ruling.why}" if ruling.why else told)
    else:
        why = ruling.why or row["note"]
        yield Finding("warn", ctx.node, _WANTED, told, why, ruling.fix, source=row["source"])


def _seen(ctx: Context) -> Seen | None:
    """None where a state or its switch could not be read."""
    names, off = ctx.get("settings.idle.states"), ctx.get("settings.idle.disabled")
    if not isinstance(names, list) or not isinstance(off, list) or None in names:
        return None
    row = {row["name"]: row for row in ctx.catalog.settings["idle"]}["global_cstates"]
    deep = deeper(names, ctx.get("settings.idle.latency_us") or {}, row["shallow"])
    layer = ctx.get("settings.layers.idle") or {}
    partly = [name for name in rows(ctx.get("settings.idle.partly_disabled")) if name in deep]
    return Seen(
        ctx.get("settings.idle.driver"),
        names,
        deep,
        [name for name in off if name in deep],
        partly,
        str(layer.get("cmdline") or "").split(),
        ctx.get("platform.virtual_machine"),
    )
