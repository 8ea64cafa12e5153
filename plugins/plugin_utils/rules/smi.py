# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What amd-smi says, where it was asked, and what only a load would show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    name_of,
    passed,
    rows,
    unread,
)

_MIXED = "amd_smi_mixed_versions: "


def _asked(ctx: Context) -> list[Mapping[str, Any]]:
    return [gpu for gpu in ctx.gpus if "smi" in gpu]


def tool(ctx: Context) -> Iterator[Finding]:
    """amd-smi, where it was asked, is of one release and answers."""
    asked = _asked(ctx)
    told = [row["reason"] for row in rows(ctx.get("problems")) if _is_mixed(row)]
    if told:
        yield Finding(
            "warn",
            ctx.node,
            "program, library and module of one release",
            told[0],
            "parts of two releases are mixed; the kernel's own files were read instead, and are complete",
            "remove the module that was installed beside the packages (pip), or the older release",
        )
    elif asked:
        tools = [gpu["smi"].get("tool") for gpu in asked if gpu["smi"]]
        yield passed(ctx.node, str(tools[0])) if tools else unread(ctx.node, "what amd-smi says")


def _is_mixed(row: Mapping[str, Any]) -> bool:
    return row.get("subset") == "smi" and str(row.get("reason")).startswith(_MIXED)


def gpus(ctx: Context) -> Iterator[Finding]:
    """amd-smi, where it answers, knows every GPU that is on the bus and serves."""
    asked = _asked(ctx)
    if not any(gpu["smi"] for gpu in asked):
        return
    for gpu in ctx.gpus:
        if gpu.get("smi"):
            yield passed(name_of(gpu))
        elif gpu.get("initialised") is not False:
            yield Finding(
                "fail",
                name_of(gpu),
                "a GPU that amd-smi lists",
                f"{sum(bool(other.get('smi')) for other in ctx.gpus)} of {len(ctx.gpus)} GPUs are listed, not this one",
                "it is on the bus, and programs do not find it",
                "read `journalctl -k -b` for this address, and power-cycle the node through its BMC",
            )


def threshold(ctx: Context) -> Iterator[Finding]:
    """No GPU has more bad pages than its maker allows, whatever the BMC's log says."""
    for gpu in (gpu for gpu in _asked(ctx) if gpu["smi"]):
        passed_it = gpu["smi"].get("bad_page_threshold_exceeded")
        if passed_it:
            yield Finding(
                "fail",
                name_of(gpu),
                "fewer bad pages than the threshold",
                "the threshold is exceeded",
                "the GPU is due for service; a newer driver that starts it all the same does not change that",
                "drain the node and have the GPU replaced",
            )
        elif passed_it is None and gpu.get("bad_pages") != 0:
            yield unread(name_of(gpu), "whether the threshold of bad pages is exceeded")
        else:
            yield passed(name_of(gpu))


def under_load(ctx: Context) -> Iterator[Finding]:
    """Whether the GPUs do their work is not known: an audit starts no load."""
    if ctx.gpus:
        yield Finding(
            "unknown",
            ctx.node,
            "a load that was watched",
            "not verified under load",
            "a GPU may be there, with the right versions and no error, and its clock still stick under load",
            "run the load test of your acceptance before the node goes back into service",
        )
