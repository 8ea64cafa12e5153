# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings as the target wants them: command line, module options, sysctl; and arguments that AMD warns of."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import missing
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    passed,
    rows,
    unread,
)


def _cmdline(ctx: Context, path: str, what: str, steps: tuple[str, ...]) -> Iterator[Finding]:
    wanted = (ctx.wanted or {}).get("kernel", {}).get("cmdline") or []
    if not wanted:
        return
    seen = ctx.get(path)
    if not isinstance(seen, list) or not all(isinstance(token, str) for token in seen):
        yield unread(ctx.node, what, " ".join(wanted))
        return
    absent = missing(wanted, seen)
    if absent:
        yield Finding(
            "fail",
            ctx.node,
            " ".join(wanted),
            f"without {' '.join(absent)}",
            f"{what} lacks what the target wants",
            f"the rollout's {' and '.join(steps)} step{'s' * (len(steps) > 1)} bring it",
            steps=steps,
        )
    else:
        yield passed(ctx.node, " ".join(wanted))


def cmdline_live(ctx: Context) -> Iterator[Finding]:
    """The running kernel was booted with what the target wants."""
    yield from _cmdline(ctx, "node.kernel.cmdline", "the command line of the running kernel", ("reboot",))


def cmdline_next_boot(ctx: Context) -> Iterator[Finding]:
    """The next boot has what the target wants."""
    yield from _cmdline(ctx, "node.kernel.next_boot_cmdline", "the command line of the next boot", ("kernel", "reboot"))


def module_options(ctx: Context) -> Iterator[Finding]:
    """modprobe.d has the module options the target wants."""
    wanted = (ctx.wanted or {}).get("kernel", {}).get("module_options") or {}
    for module, options in sorted(wanted.items()):
        seen = ctx.get("settings.module_options")
        if not isinstance(seen, dict) or None in (seen.get(module) or {}).values():
            yield unread(f"{ctx.node} {module}", "the options of the module")
            continue
        have = seen.get(module) or {}
        wrong = sorted(f"{key}={value}" for key, value in options.items() if str(have.get(key)) != str(value))
        if wrong:
            yield Finding(
                "fail",
                f"{ctx.node} {module}",
                " ".join(f"{key}={value}" for key, value in sorted(options.items())),
                f"without {' '.join(wrong)}",
                "modprobe.d lacks what the target wants",
                "the rollout's kernel step writes it",
                steps=("kernel", "reboot"),
            )
        else:
            yield passed(f"{ctx.node} {module}")


def sysctl(ctx: Context) -> Iterator[Finding]:
    """The kernel's run-time settings are those of the target."""
    wanted = (ctx.wanted or {}).get("kernel", {}).get("sysctl") or {}
    seen = ctx.get("settings.sysctl")
    for key, value in sorted(wanted.items()):
        subject, text = f"{ctx.node} {key}", _as_written(value)
        if not isinstance(seen, dict):
            yield unread(subject, key, text)
        elif key not in seen:
            yield Finding(
                "warn",
                subject,
                text,
                "not read by the audit",
                "the facts do not hold this setting",
                "the rollout's kernel step sets it wherever it runs; check it by hand elsewhere",
            )
        elif seen[key] is None:
            yield unread(subject, key, text)
        elif _as_written(seen[key]) != text:
            yield Finding(
                "fail",
                subject,
                text,
                _as_written(seen[key]),
                "another value is in effect",
                "the rollout's kernel step sets it",
                steps=("kernel",),
            )
        else:
            yield passed(subject, seen[key])


def _as_written(value: object) -> str:
    """A value as the kernel writes it: a truth value as a number, blanks as one each."""
    return " ".join(str(int(value) if isinstance(value, bool) else value).split())


def cmdline_advice(ctx: Context) -> Iterator[Finding]:
    """Nothing on the command line, or in the target, is something AMD's guides warn of."""
    wanted = (ctx.wanted or {}).get("kernel", {}).get("cmdline") or []
    tokens = {token for token in [*rows(ctx.get("node.kernel.cmdline")), *wanted] if isinstance(token, str)}
    for row in ctx.catalog.settings["cmdline"]:
        for token in sorted(token for token in tokens if token.startswith(row["match"])):
            place = "the target" if token in wanted else "the running command line"
            yield Finding(
                "warn",
                ctx.node,
                "",
                f"{token} ({place})",
                f"{token} {row['advice']}",
                "leave it out unless it is meant",
                source=row["source"],
            )


def realloc(ctx: Context) -> Iterator[Finding]:
    """Where SR-IOV is off, AMD requires pci=realloc=off on MI300 and later."""
    if ctx.product is None or ctx.product["pci_class"] != "1200":
        return
    capable, seen = ctx.get("settings.sriov_capable"), ctx.get("node.kernel.cmdline")
    if capable is None or not isinstance(seen, list) or not all(isinstance(token, str) for token in seen):
        yield unread(ctx.node, "SR-IOV and the command line")
    elif not capable and missing(["pci=realloc=off"], seen):
        yield Finding(
            "warn",
            ctx.node,
            "pci=realloc=off",
            "not on the command line",
            "SR-IOV is off, and some GPUs can be missing after boot without it",
            "add it to products.*.kernel.cmdline of the target",
        )
    else:
        yield passed(ctx.node)
