# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""User space and driver: what runs, and what should run."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import compare
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed, unread

_CHANGE = ("rocm", "reboot")


def same_release(seen: str, wanted: str) -> bool | None:
    """Whether two releases are the same; None where one of them is not a release."""
    try:
        return compare(seen, wanted) == 0
    except ParseError:
        return None


def no_rocm(ctx: Context) -> bool:
    """True where every place was read that ROCm could be in, and it is in none."""
    if ctx.get("rocm.active") is not None or ctx.get("rocm.active_path") is not None:
        return False
    return ctx.get("rocm.installed") == [] and isinstance(ctx.get("rocm.packages"), dict)


def rocm_active(ctx: Context) -> Iterator[Finding]:
    """The user space that /opt/rocm leads to is the target's."""
    if ctx.wanted is None:
        return
    wanted, seen = ctx.wanted["rocm"], ctx.get("rocm.active")
    same = same_release(seen, wanted) if seen else None
    if no_rocm(ctx):
        yield Finding("fail", ctx.node, wanted, "none", "no ROCm is there", "the rollout installs it", steps=("rocm",))
    elif same is None:
        yield unread(ctx.node, "the active ROCm release", wanted)
    elif same:
        yield passed(ctx.node, seen)
    else:
        yield Finding(
            "fail",
            ctx.node,
            wanted,
            seen,
            "another ROCm release is active",
            "the rollout's rocm step installs it",
            steps=("rocm",),
        )


def loaded_release(ctx: Context) -> str | None:
    """Release of the driver that is loaded, where the loaded module is the installed one; None otherwise.

    Of releases that share the version of their module only the file of the module tells one from the other. Where it
    is compressed, and so not read, the version decides.
    """
    if ctx.get("driver.loaded") is not True or ctx.get("driver.origin") != "dkms":
        return None
    if ctx.get("driver.loaded_is_installed") is False:
        return None
    module = ctx.get("driver.version")
    return ctx.get("driver.installed.release") if module and module == ctx.get("driver.installed.module") else None


def driver_loaded(ctx: Context) -> Iterator[Finding]:
    """The driver that is loaded is the target's; one that is installed and not loaded does not count."""
    if ctx.wanted is None:
        return
    wanted, release = ctx.wanted["driver"], loaded_release(ctx)
    if release:
        same = same_release(release, wanted)
        if same is None:
            yield unread(ctx.node, "the release of the driver", wanted)
        elif same:
            yield passed(ctx.node, release)
        else:
            yield Finding(
                "fail",
                ctx.node,
                wanted,
                release,
                "another driver is loaded",
                "the rollout's rocm step installs it, and its reboot loads it",
                steps=_CHANGE,
            )
    else:
        yield _not_the_installed_one(ctx, wanted)


def _not_the_installed_one(ctx: Context, wanted: str) -> Finding:
    loaded, origin, version = ctx.get("driver.loaded"), ctx.get("driver.origin"), ctx.get("driver.version")
    release, module = ctx.get("driver.installed.release"), ctx.get("driver.installed.module")
    broken = ctx.get("driver.packages.amdgpu-dkms.state") not in ("installed", None)
    steps = ("reboot",) if release and same_release(release, wanted) else _CHANGE
    if loaded is False:
        return Finding(
            "fail",
            ctx.node,
            wanted,
            "no driver is loaded",
            "the GPUs do not serve without one",
            "read `journalctl -k -b` for why amdgpu is not loaded",
            steps=steps,
        )
    if loaded and origin == "in-tree":
        seen = (
            f"the kernel's own module; AMD's {release} is installed and not loaded"
            if release
            else "the kernel's own module"
        )
        return Finding(
            "fail",
            ctx.node,
            wanted,
            seen,
            "what is loaded counts; a stale initramfs or Secure Boot may keep AMD's module out",
            "the rollout installs and loads it; with Secure Boot its key must be enrolled first",
            steps=steps,
        )
    if loaded and origin == "dkms" and version and release and module:
        return Finding(
            "fail",
            ctx.node,
            wanted,
            f"{_loaded_module(version, module)} is loaded, {release} (module {module}) is installed",
            "what is loaded counts, not what is installed",
            "a reboot loads it",
            steps=steps,
        )
    if loaded and broken:
        return Finding(
            "fail",
            ctx.node,
            wanted,
            "amdgpu-dkms is not wholly installed",
            "a half-installed driver has no release",
            "mend the package first: `dpkg --configure -a`",
            steps=_CHANGE,
        )
    return unread(ctx.node, "which driver is loaded and which is installed", wanted)


def _loaded_module(loaded: str, installed: str) -> str:
    return f"another build of module {loaded}" if loaded == installed else f"module {loaded}"


def pending_reboot(ctx: Context) -> Iterator[Finding]:
    """Nothing that was installed earlier still waits for a reboot."""
    module, installed = ctx.get("driver.version"), ctx.get("driver.installed.module")
    another = module != installed or ctx.get("driver.loaded_is_installed") is False
    if module and installed and another:
        yield Finding(
            "warn",
            ctx.node,
            f"module {installed} loaded",
            f"{_loaded_module(module, installed)} loaded",
            "an earlier change waits for a reboot",
            "the rollout's reboot does it",
            move="needs_step",
        )
    elif module and installed and ctx.get("driver.loaded_is_installed") is None:
        yield from _same_module(ctx, module)


def _same_module(ctx: Context, module: str) -> Iterator[Finding]:
    """Where the file of the module is not read, releases that share its version cannot be told apart."""
    sharing = [name for name in ctx.catalog.drivers_of_module(module) if name != ctx.get("driver.installed.release")]
    if sharing:
        yield Finding(
            "unknown",
            ctx.node,
            "the loaded module known to be the installed one",
            f"module {module} is loaded, and {', '.join(sharing)} have it as well",
            "the file of the module is compressed or was not read, so an update that was not followed by a reboot does "
            "not show",
            "reboot the node where the driver was updated since it booted",
        )


def active_is_the_package(ctx: Context) -> Iterator[Finding]:
    """/opt/rocm leads into the release whose packages are installed."""
    active, installed = ctx.get("rocm.active"), ctx.get("rocm.installed")
    if active and isinstance(installed, list) and active not in installed:
        yield Finding(
            "warn",
            ctx.node,
            f"one of {', '.join(map(str, installed)) or 'none'}",
            str(active),
            "/opt/rocm leads to a release that is not among those installed",
            "correct the link or its alternative",
        )
