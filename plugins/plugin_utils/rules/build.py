# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A driver that can be built for the kernel that boots next, and that Secure Boot will let in."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, passed, unread
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.versions import same_release

_UNSIGNED = "with Secure Boot the kernel refuses a module signed by nobody it trusts (Required key not available)"
_ENROL = (
    "`mokutil --import` the certificate (/var/lib/shim-signed/mok/MOK.der or /var/lib/dkms/mok.pub), reboot and "
    "confirm it, which needs the console or that of the BMC"
)


def headers(ctx: Context) -> Iterator[Finding]:
    """The kernel that boots next has its headers, so that dkms can build the driver for it."""
    if not _builds(ctx):
        return
    there, kernel = ctx.get("driver.build.headers"), ctx.get("node.kernel.next_boot")
    if there is None:
        yield unread(ctx.node, "the headers of the kernel that boots next")
    elif there:
        yield passed(ctx.node, kernel)
    else:
        fix = f"install them: linux-headers-{kernel}, kernel-devel-{kernel} or kernel-default-devel, by distribution"
        why = "dkms cannot build the driver without them, and after the reboot the GPUs would be gone"
        yield Finding("fail", ctx.node, f"headers of {kernel}", "none", why, fix)


def tools(ctx: Context) -> Iterator[Finding]:
    """A compiler and make are there, or come with dkms."""
    if not _builds(ctx):
        return
    build = ctx.get("driver.build") or {}
    found, built_by, make, dkms = (build.get(name) for name in ("compilers", "built_by", "make", "dkms"))
    if not isinstance(found, list) or None in found or not isinstance(make, bool) or not isinstance(dkms, bool):
        yield unread(ctx.node, "the compiler and the tools of a build")
    elif dkms and not (found and make):
        absent = " and ".join(name for name, there in (("a compiler", found), ("make", make)) if not there)
        wanted, fix = "a compiler and make", "install gcc and make"
        yield Finding("fail", ctx.node, wanted, f"no {absent}", "dkms cannot build", fix)
    elif found and built_by and not any(_named(path) == built_by for path in found):
        why = "a compiler that is older than the kernel's may not know the options the kernel was built with"
        told = ", ".join(map(str, found))
        yield Finding("warn", ctx.node, built_by, told, why, f"install {built_by.removeprefix('x86_64-linux-gnu-')}")
    else:
        yield passed(ctx.node, ", ".join(map(str, found)) or "dkms and its tools come with the driver")


def signing_key(ctx: Context) -> Iterator[Finding]:
    """With Secure Boot, the key that a new driver will be signed with is enrolled."""
    secure = ctx.get("node.secure_boot")
    if not _builds(ctx):
        return
    if not secure:
        # What is not known of it is told by the rule of the module.
        yield passed(ctx.node, "Secure Boot is off") if secure is False else unread(ctx.node, "Secure Boot")
    elif ctx.get("driver.build.key_enrolled") is None:
        yield unread(ctx.node, "whether the key of dkms is enrolled", "a key that the firmware trusts")
    elif ctx.get("driver.build.key_enrolled"):
        yield passed(ctx.node, "enrolled")
    else:
        wanted, seen = "a key that the firmware trusts", "not enrolled, or none"
        yield Finding("fail", ctx.node, wanted, seen, _UNSIGNED, _ENROL, "manual")


def signature(ctx: Context) -> Iterator[Finding]:
    """With Secure Boot, the driver that the next boot would load is signed."""
    secure = ctx.get("node.secure_boot")
    if secure is None and "E" in str(ctx.get("driver.taint")):
        yield passed(ctx.node, "the kernel took a module that is not signed, so nothing asks for a signature")
    elif secure is None:
        yield unread(ctx.node, "whether Secure Boot is on")
    elif not secure:
        yield passed(ctx.node, "Secure Boot is off")
    else:
        module = ctx.get("driver.next_boot.module_file")
        yield from _module_signature(ctx, str(module)) if module else ()


def _module_signature(ctx: Context, module: str) -> Iterator[Finding]:
    signed, origin = ctx.get("driver.next_boot.signed"), ctx.get("driver.next_boot.origin")
    if signed is None and origin == "in-tree":
        yield passed(ctx.node, "the kernel's own module, signed by whoever signed the kernel")
    elif signed is None:
        yield unread(ctx.node, f"the signature of {module}", "a signed module")
    elif signed:
        yield passed(ctx.node, module)
    else:
        yield Finding("fail", ctx.node, "a signed module", f"{module} is not signed", _UNSIGNED, f"sign it; {_ENROL}")


def _builds(ctx: Context) -> bool:
    """Whether a driver has to be built: something is to be changed, and the wanted release is not the installed one."""
    if not ctx.moves or ctx.wanted is None:
        return False
    return not same_release(str(ctx.get("driver.installed.release")), ctx.wanted["driver"])


def _named(path: object) -> str:
    return str(path).rpartition("/")[2]
