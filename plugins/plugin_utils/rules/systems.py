# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operating system, kernel, driver and release together: what AMD lists, and what is known to fail."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog, Window, point_release
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed, unread
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.versions import loaded_release, no_rocm

Row = Mapping[str, Any]
Versions = tuple[tuple[str, Any], ...]

_LISTED = "take what AMD lists, or leave require_listed_os out of the policy and answer for it yourself"


def _system(ctx: Context) -> dict[str, Any]:
    told = ctx.get("node.os")
    return {"os_id": ctx.get("node.os.id"), "os_version": point_release(told) if isinstance(told, Mapping) else None}


# A fleet has few combinations and many nodes, so each is looked up once.
@functools.lru_cache(maxsize=1024)
def _known_bad(catalog: Catalog, versions: Versions) -> list[Row]:
    return catalog.known_bad(**dict(versions))


@functools.lru_cache(maxsize=1024)
def _system_window(catalog: Catalog, versions: Versions) -> Window:
    return catalog.system(**dict(versions))


@functools.lru_cache(maxsize=1024)
def _kernel_window(catalog: Catalog, versions: Versions) -> Window:
    return catalog.kernel(**dict(versions))


def _versions(**versions: Any) -> Versions:
    """Arguments of a question to the catalog; what is no text was not read."""
    return tuple((key, value if isinstance(value, str) else None) for key, value in versions.items())


def os_supported(ctx: Context) -> Iterator[Finding]:
    """AMD lists the operating system for the target's ROCm and the product; the policy says whether that decides."""
    if ctx.product is None or ctx.wanted is None:
        return
    name, rocm, system = ctx.product["name"], ctx.wanted["rocm"], _system(ctx)
    window = _system_window(ctx.catalog, _versions(rocm=rocm, product=name, **system))
    seen = f"{system['os_id'] or 'a system'} {system['os_version'] or 'of an unknown version'}"
    yield _listed(ctx, window, seen, f"a system that AMD lists for {name} with ROCm {rocm}")


def kernel_supported(ctx: Context) -> Iterator[Finding]:
    """AMD lists the kernel that boots next for the operating system; the policy says whether that decides."""
    if ctx.product is None or ctx.wanted is None:
        return
    kernel, system = ctx.get("node.kernel.next_boot"), _system(ctx)
    rocm, driver, name = ctx.wanted["rocm"], ctx.wanted["driver"], ctx.product["name"]
    window = _kernel_window(ctx.catalog, _versions(kernel=kernel, product=name, rocm=rocm, driver=driver, **system))
    listed = _system_window(ctx.catalog, _versions(rocm=rocm, product=name, **system))
    # Kernels are listed by system: where none answers for the system, os.supported says so, once.
    if window.answer != "unknown" or listed.answer == "inside":
        wanted = f"a kernel that AMD lists for this system with ROCm {rocm}"
        yield _listed(ctx, window, f"{kernel or 'the kernel that boots next, which is not known'}", wanted)


def _listed(ctx: Context, window: Window, seen: str, wanted: str) -> Finding:
    if window.answer == "inside":
        return passed(ctx.node, seen)
    required = bool(ctx.policy.get("require_listed_os"))
    if window.answer == "unknown":
        why = f"no list answers: {window.source}"
        return Finding("unknown", ctx.node, wanted, seen, why, _LISTED if required else "try it on a canary first")
    why = "it is not in AMD's list, so nobody but you has tested it"
    fix = _LISTED if required else "try it on a canary first, or set require_listed_os in the policy to refuse it"
    return Finding("fail" if required else "warn", ctx.node, wanted, seen, why, fix, source=window.source)


def builds_badly(ctx: Context, driver: str | None, module: str | None) -> list[Row]:
    """The rows of the catalog by which a driver does not, or may not, build for the kernel that boots next."""
    kernel, product = ctx.get("node.kernel.next_boot"), (ctx.product or {}).get("name")
    asked = _versions(driver=driver, module=module, product=product, kernel=kernel, **_system(ctx))
    return [row for row in _known_bad(ctx.catalog, asked) if _is_of_a_build(row)]


def _is_of_a_build(row: Row) -> bool:
    return "kernel" in row["when"] and not {"driver", "module"}.isdisjoint(row["when"])


def driver_builds(ctx: Context) -> Iterator[Finding]:
    """The target's driver is not known to fail on the kernel that boots next."""
    if ctx.wanted is None or not ctx.moves:
        return
    wanted, kernel = ctx.wanted["driver"], ctx.get("node.kernel.next_boot")
    seen = f"driver {wanted} on kernel {kernel}"
    if kernel is None:
        yield unread(ctx.node, "which kernel boots next", f"a kernel that driver {wanted} builds for")
    elif ctx.get("driver.installed.release") == wanted and ctx.get("driver.ready_for_next_boot") is True:
        yield passed(ctx.node, f"{seen}, built")
    else:
        module = (ctx.catalog.driver(wanted) or {}).get("module")
        found = builds_badly(ctx, wanted, module)
        yield from [_bad(ctx, row, seen, True) for row in found] or [passed(ctx.node, seen)]


def known_bad_target(ctx: Context) -> Iterator[Finding]:
    """What the target makes of the node is no combination that is known to be bad."""
    if ctx.wanted is None or ctx.product is None or not ctx.moves:
        return
    rocm, driver, kernel = ctx.wanted["rocm"], ctx.wanted["driver"], ctx.get("node.kernel.next_boot")
    found = _combinations(ctx, rocm, driver, kernel)
    seen = _combination(ctx, rocm, driver, kernel)
    yield from [_bad(ctx, row, seen, True) for row in found] or [passed(ctx.node, seen)]


def known_bad_now(ctx: Context) -> Iterator[Finding]:
    """What runs now is no combination that is known to be bad."""
    rocm, driver, kernel = ctx.get("rocm.active"), loaded_release(ctx), ctx.get("node.kernel.running")
    if ctx.product is None or no_rocm(ctx):
        return
    if rocm is None or (driver is None and _has_amds_driver(ctx)):
        yield unread(ctx.node, "which ROCm and which driver run now")
        return
    found = _combinations(ctx, rocm, driver, kernel)
    seen = _combination(ctx, rocm, driver, kernel)
    told = [row for row in found if driver is not None or {"driver", "module"}.isdisjoint(row["when"])]
    yield from [_bad(ctx, row, seen, False) for row in told] or [passed(ctx.node, seen)]


def _combinations(ctx: Context, rocm: str, driver: str | None, kernel: str | None) -> list[Row]:
    product = (ctx.product or {}).get("name")
    asked = _versions(rocm=rocm, driver=driver, product=product, kernel=kernel, **_system(ctx))
    return [row for row in _known_bad(ctx.catalog, asked) if not _is_of_a_build(row)]


def _has_amds_driver(ctx: Context) -> bool:
    return ctx.get("driver.loaded") is not False and ctx.get("driver.origin") != "in-tree"


def _combination(ctx: Context, rocm: str, driver: str | None, kernel: str | None) -> str:
    name = (ctx.product or {}).get("name")
    return f"{name} with ROCm {rocm} on driver {driver or 'of the kernel'}, kernel {kernel or 'unknown'}"


def _bad(ctx: Context, row: Row, seen: str, refuses: bool) -> Finding:
    wanted, fix, source = f"not {row['id']}", row["fix"], row["source"]
    fails = row["severity"] == "fail" and row["status"] == "verified"
    if not row.get("possible"):
        return Finding("fail" if fails and refuses else "warn", ctx.node, wanted, seen, row["why"], fix, source=source)
    # What would not refuse the node if it were known does not make it unknown either.
    why = f"it rests on what is not known of the node whether {row['why']}"
    return Finding("unknown" if fails or not refuses else "warn", ctx.node, wanted, seen, why, fix, source=source)
