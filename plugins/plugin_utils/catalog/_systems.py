# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which operating systems and kernels AMD lists for a ROCm release and a product. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._match import covered, covers, numbers

NO_ROW = "no row for this release and product"
_POINT = re.compile(r"\b[0-9]+\.[0-9]+\.[0-9]+\b")


class Window(NamedTuple):
    """Whether something is supported: ``inside``, ``outside`` or ``unknown``, and who says so."""

    answer: str
    source: str


def point_release(system: Mapping[str, Any] | None) -> str | None:
    """The version of an operating system with its point release, which Ubuntu tells only in its name (22.04.5).

    :param system: ``node.os`` of the facts: id, version, name; each may be None.
    """
    version, name = (system or {}).get("version"), (system or {}).get("name")
    match = _POINT.search(name) if isinstance(name, str) else None
    return match[0] if match and version and match[0].startswith(f"{version}.") else version


def listed_system(
    support: Iterable[Mapping],
    gaps: Iterable[Mapping],
    system: str | None,
    version: str | None,
    rocm: str,
    product: str,
) -> Window:
    """Whether AMD lists the version of the system for that release and product.

    A version without its point release is taken for the newest one; a version that a row gives without stands for all.
    """
    if system is None or version is None:
        return Window("unknown", "the operating system is not known")
    rows = [row for row in support if covered(row["rocm"], rocm) and _takes(row, product)]
    gap = _gap(gaps, system, rocm, product)
    if gap or not rows:
        return Window("unknown", f"{gap['why']} ({gap['source']})" if gap else NO_ROW)
    own = [row for row in rows if row["system"] == system]
    fitting = [row for row in own if _lists(row["versions"], version)]
    sure = [row for row in fitting if row["status"] == "verified"]
    if sure:
        return Window("inside", sure[0]["source"])
    if fitting:
        return Window("unknown", f"{fitting[0]['source']}; whether for this product was not read")
    if any(_older_point(listed, version) for row in own for listed in row["versions"]):
        return Window("unknown", f"{own[0]['source']}; the point release is newer than those listed")
    return Window("outside", (own or rows)[0]["source"])


def listed_kernel(
    kernels: Iterable[Mapping],
    system: str | None,
    version: str | None,
    kernel: str | None,
    rocm: Iterable[str],
    versions: Iterable[str] | None,
) -> Window:
    """Whether AMD lists the kernel for that version of the system; never ``outside``, which known_bad alone says.

    :param rocm: the releases that are asked for; none for any.
    :param versions: those of the system that these releases list; None where none was asked for.
    """
    series = numbers(kernel)
    if system is None or version is None or series is None:
        return Window("unknown", "the operating system or its kernel is not known")
    seen = False
    for row in kernels:
        if not is_for(row, system, version, rocm):
            continue
        if versions is not None and not any(_lists(row["versions"], one) for one in versions):
            continue
        seen = True
        if any(covers(spec, series) for spec in row["kernels"]):
            return Window("inside" if row["status"] == "verified" else "unknown", row["source"])
    why = "AMD lists other kernels for it" if seen else "no kernels are listed for it"
    return Window("unknown", f"{why}; whether the driver builds there is not known")


def is_for(row: Mapping, system: str, version: str, rocm: Iterable[str]) -> bool:
    """Whether a row about kernels is for that version of a system and any of the releases; none of them is any."""
    if row["system"] != system or not _lists(row["versions"], version):
        return False
    return not rocm or any(covered(row["rocm"], one) for one in rocm)


def versions_of(support: Iterable[Mapping], system: str, rocm: Iterable[str], product: str | None) -> list[str]:
    """The versions of a system that AMD lists for any of the releases; for a product, where one is named."""
    return [
        version
        for row in support
        if row["system"] == system
        and any(covered(row["rocm"], one) for one in rocm)
        and (product is None or _takes(row, product))
        for version in row["versions"]
    ]


def _takes(row: Mapping, product: str) -> bool:
    return product not in row["except"] and (not row["products"] or product in row["products"])


def _lists(listed: Iterable[str], version: str) -> bool:
    seen = numbers(version) or ()
    return any(covers(text, seen) or (numbers(text) or ())[: len(seen)] == seen for text in listed)


def _older_point(listed: str, version: str) -> bool:
    """Whether both are of one long-term release (22.04), which brings its point releases by ordinary updates."""
    one, other = numbers(listed) or (), numbers(version) or ()
    return len(one) == len(other) == 3 and one[:2] == other[:2] and one < other


def _gap(gaps: Iterable[Mapping], system: str, rocm: str, product: str) -> Mapping | None:
    for row in gaps:
        fits = covered(row["rocm"], rocm) and (not row["products"] or product in row["products"])
        if fits and (not row["systems"] or system in row["systems"]):
            return row
    return None
