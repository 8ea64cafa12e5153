# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware of the GPUs: what AMD lists with a release, whether all GPUs of a node have the same, and its files."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._firmware import compare
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog, FirmwarePair
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    get,
    name_of,
    passed,
    unread,
)

Gpu = Mapping[str, Any]

_OF_SMI = ("pldm_bundle", "ifwi")
_IN_TARGET = {"vbios": "gpu_vbios", "pldm_bundle": "gpu_bundle", "ifwi": "gpu_ifwi"}
_FLASH = "update it with the server maker's own package, and never with another maker's image; then audit again"


class _Answer(NamedTuple):
    """What is to be said of a block, and whether somebody asked for it: the kernel tells it, or amd-smi was asked."""

    finding: Finding
    asked: bool


def pair(ctx: Context) -> Iterator[Finding]:
    """No GPU has firmware that AMD does not list with the target's ROCm; what was asked for is known."""
    for answer in _answers(ctx):
        if answer.finding.verdict != "unknown" or (answer.asked and ctx.moves):
            yield answer.finding


def known(ctx: Context) -> Iterator[Finding]:
    """The firmware of the GPUs is known, and so is what AMD lists for it with the target's ROCm."""
    found = [answer.finding for answer in _answers(ctx)]
    dark = [finding for finding in found if finding.verdict == "unknown"]
    yield from dark or ([passed(ctx.node)] if found else [])


@functools.lru_cache(maxsize=256)
def _listed_pairs(catalog: Catalog, product: str, rocm: str) -> list[FirmwarePair]:
    return catalog.firmware_for(product, rocm)


def _answers(ctx: Context) -> Iterator[_Answer]:
    """What is to be said of each block that AMD lists, once for all GPUs with the same answer."""
    if ctx.product is None or ctx.wanted is None:
        return
    rocm, name = ctx.wanted["rocm"], ctx.product["name"]
    pairs = _listed_pairs(ctx.catalog, name, rocm)
    rows = [row for row in pairs if row.status != "gap"]
    if not rows:
        said = pairs[0].source if pairs else "no table names it"
        fix = "ask the server maker which firmware goes with this release"
        wanted = f"firmware AMD lists for {name} with ROCm {rocm}"
        yield _Answer(Finding("unknown", ctx.node, wanted, "no list", said, fix), asked=False)
    for component in dict.fromkeys(row.component for row in rows):
        found: dict[_Answer, list[str]] = {}
        for gpu in ctx.gpus:
            finding = _held(ctx, gpu, [row for row in rows if row.component == component])
            asked = _value(gpu, component) is None and (component == "vbios" or (component in _OF_SMI and "smi" in gpu))
            found.setdefault(_Answer(finding, asked), []).append(name_of(gpu))
        for answer, names in found.items():
            yield answer._replace(finding=answer.finding._replace(subject=_subject(ctx, names)))


def _subject(ctx: Context, names: list[str]) -> str:
    names = sorted(names)
    if len(names) == len(ctx.gpus):
        return ctx.node
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _value(gpu: Gpu, component: str) -> str | None:
    return gpu.get("vbios") if component == "vbios" else get(gpu, f"firmware.{component}.value")


def _held(ctx: Context, gpu: Gpu, rows: list[FirmwarePair]) -> Finding:
    component, seen = rows[0].component, _value(gpu, rows[0].component)
    listed = " or ".join(_listed(row) for row in rows)
    blank = Finding("unknown", "", listed, f"{component} {seen}", source=rows[0].source)
    if seen is None:
        why = f"{component} is not told: another number of the same GPU does not stand for it"
        return blank._replace(observed="not known", why=why, fix=_hint(gpu, component))
    answers = [_fits(row, seen) for row in rows]
    sure = all(row.status == "verified" for row in rows)
    if True in answers:
        why, fix = "the row of the catalog is not verified", "look it up in AMD's own table"
        return passed("", f"{component} {seen}") if sure else blank._replace(why=why, fix=fix)
    if None in answers:
        return _without_order(blank, rows, seen)
    why = f"AMD does not list {seen} with ROCm {(ctx.wanted or {})['rocm']}"
    coming = _coming(ctx, component)
    if coming and any(_fits(row, coming) for row in rows):
        return blank._replace(
            verdict="warn", why=why, fix=f"the rollout's firmware step brings {coming}", move="needs_step"
        )
    step = f"bring {component} of the GPUs to {listed}"
    fails = sure and ctx.moves
    return blank._replace(
        verdict="fail" if fails else "warn", why=why, fix=_FLASH, move="manual", before=(step,) if fails else ()
    )


def _coming(ctx: Context, component: str) -> str | None:
    """The version that the target brings in, None where it is silent on the component."""
    rows = (ctx.wanted or {}).get("firmware") or ()
    return next((row["version"] for row in reversed(rows) if row["component"] == _IN_TARGET.get(component)), None)


def _listed(row: FirmwarePair) -> str:
    newer = [f"{row.component} {row.least} or newer"] if row.least else []
    return " or ".join([*newer, *row.exact])


def _hint(gpu: Gpu, component: str) -> str:
    if component not in _OF_SMI:
        return "no program on a node tells it: compare it in the BMC or with the server maker's tool"
    if "smi" not in gpu:
        return "gather the subset smi as well (fleet_gather_subset): only amd-smi tells it"
    return "this amd-smi does not tell it: use that of a newer release, or compare it in the BMC"


def _fits(row: FirmwarePair, seen: str) -> bool | None:
    """Whether a version is one that the row lists; None where there is no order, or the list is older than it."""
    try:
        least = None if row.least is None else compare(row.scheme, seen, row.least)
        exact = [compare(row.scheme, seen, version) for version in row.exact]
    except ParseError:
        return None
    if 0 in exact or (row.least is not None and least in (0, 1)):
        return True
    orders = [*exact, *([least] if row.least is not None else [])]
    if row.scheme == "part_number":
        # The last group counts the releases of one part; AMD lists this one alone.
        return False if any(_base(seen) == _base(version) for version in row.exact) else None
    if None in orders and row.least is not None and least is None:
        return None
    return None if row.least is None and all(order != -1 for order in orders) else False


def _base(part: str) -> str:
    return part.upper().removeprefix("113-").rpartition("-")[0]


def _without_order(blank: Finding, rows: Iterable[FirmwarePair], seen: str) -> Finding:
    if any(row.scheme == "part_number" for row in rows):
        why = f"{seen} is another part than AMD's own: a server maker's card has numbers of its own"
        fix = "ask the maker which of its parts stands for AMD's; never flash AMD's image onto this card"
        return blank._replace(verdict="warn", why=why, fix=fix)
    why = f"AMD's list has no order that {seen} would have a place in, or is older than it"
    return blank._replace(why=why, fix="ask the server maker whether it goes with this release")


def uniform(ctx: Context) -> Iterator[Finding]:
    """All GPUs of a node have the same VBIOS and the same firmware, block by block."""
    gpus = [gpu for gpu in ctx.gpus if gpu.get("initialised") is not False]
    if not gpus:
        return
    dark = [name_of(gpu) for gpu in gpus if not isinstance(gpu.get("firmware"), Mapping) or gpu.get("vbios") is None]
    blocks = sorted({block for gpu in gpus for block in gpu.get("firmware") or {}})
    told = False
    for block in ["vbios", *blocks]:
        counts = Counter(value for gpu in gpus if (value := _value(gpu, block)) is not None)
        if len(counts) > 1:
            told = True
            seen = ", ".join(f"{value} on {number}" for value, number in sorted(counts.items(), key=_by_number))
            why = "GPUs of one node that run different firmware behave differently, and are not what anybody tested"
            fix = "reboot where only the driver loads it; else update the board as a whole with the maker's package"
            yield Finding("warn", f"{ctx.node} {block}", "the same on every GPU", f"{block} {seen}", why, fix)
    if dark:
        yield unread(ctx.node, f"firmware or VBIOS of {', '.join(dark[:3])}")
    elif not told:
        yield passed(ctx.node, f"{len(blocks)} blocks")


def _by_number(row: tuple[str, int]) -> tuple[int, str]:
    return -row[1], row[0]


def files(ctx: Context) -> Iterator[Finding]:
    """The firmware that the driver loads at every start is on the disk."""
    counts = ctx.get("driver.firmware_files")
    if ctx.get("driver.loaded") is False:
        return
    if not isinstance(counts, Mapping) or not counts or None in counts.values():
        yield unread(ctx.node, "the firmware files of the driver")
    elif any(counts.values()):
        yield passed(ctx.node, f"{sum(counts.values())} files")
    else:
        # The kernel's own driver may have its firmware from an image that is loaded before the disk is.
        yield Finding(
            "warn" if ctx.get("driver.origin") == "in-tree" else "fail",
            ctx.node,
            "firmware files of amdgpu",
            f"none in {' or '.join(counts)}",
            "the driver does not start a GPU without its firmware: after the next reboot the GPUs would be gone",
            "install amdgpu-dkms-firmware again (linux-firmware for the kernel's own driver), and make the initramfs "
            "anew before any reboot",
        )
