# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Digests of data, and the comparison of a node before a change with the same node after it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from typing import Any


def canonical(value: Any) -> bytes:
    """The one byte form of a JSON value: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """``sha256:`` and the hex digest of a JSON value's canonical form."""
    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()}"


_NODE = ("host", "machine_id", "kernel", "os", "secure_boot")
_GPU = (
    "bdf",
    "vendor_id",
    "device_id",
    "subsystem_vendor_id",
    "subsystem_id",
    "kind",
    "serial",
    "unique_id",
    "vbios",
    "numa_node",
    "memory_bytes",
    "partition",
)
_HOP = ("bdf", "role", "vendor_id", "device_id", "max_speed_gts", "max_width")
_SETTINGS = ("module_options",)
_MOVING_ROCM = frozenset({"lock_holder"})
# A way back does not or need not restore these, or other facts tell the same.
_NOT_RESTORED = frozenset(
    {"obtainable", "leftovers", "stale_trees", "firmware_files", "loaded_is_installed", "build", "unattended"}
)


def stable_facts(facts: dict) -> dict:
    """The part of the facts that a plan rests on: identity, GPUs, versions, link capability, command line.

    What moves by itself (uptime, boot id, temperatures, counters, trained speed, free space, holders, and the
    initramfs, which any package may have rebuilt) is left out.
    """
    gpus = [
        {**_part(gpu, _GPU), "firmware": _firmware(gpu), "link": [_part(hop, _HOP) for hop in gpu.get("link") or []]}
        for gpu in facts.get("gpus") or []
    ]
    return {
        "node": _part(facts.get("node"), _NODE),
        "platform": facts.get("platform"),
        "gpus": gpus,
        "driver": _driver(facts.get("driver")),
        "rocm": _without(facts.get("rocm"), _MOVING_ROCM),
        "settings": _part(facts.get("settings"), _SETTINGS),
    }


def facts_digest(facts: dict) -> str:
    """Digest of :func:`stable_facts`."""
    return digest(stable_facts(facts))


def restorable_facts(facts: dict) -> dict:
    """The part of :func:`stable_facts` that a way back restores.

    Left out is what it does not or need not restore: whether packages can be had, leftovers of ROCm and the driver, its
    builds for other kernels than the next, how many firmware files there are, and packages of which only configuration
    files are left.
    """
    stable = stable_facts(facts)
    kernel = _get(facts, "node", "kernel", "next_boot")
    for part in ("driver", "rocm"):
        rows = {key: row for key, row in (stable[part] or {}).items() if key not in _NOT_RESTORED}
        if rows.get("packages"):
            rows["packages"] = {
                name: row for name, row in rows["packages"].items() if (row or {}).get("state") != "config-files"
            }
        if rows.get("dkms"):
            rows["dkms"] = [row for row in rows["dkms"] if row.get("kernel") == kernel]
        stable[part] = rows
    return stable


def without_firmware(facts: dict) -> dict:
    """Facts without the versions that a flash changes and no way back restores."""
    platform = {key: value for key, value in (facts.get("platform") or {}).items() if not key.startswith("bios_")}
    gpus = [{**gpu, "vbios": None, "firmware": None} for gpu in facts.get("gpus") or []]
    return {**facts, "platform": platform or None, "gpus": gpus}


def booted_again(before: dict, after: dict) -> dict:
    """The facts from before, with the kernel and the command line that waited for a boot where there was one since."""
    kernel = _get(before, "node", "kernel")
    if not kernel or _get(before, "node", "boot_id") == _get(after, "node", "boot_id"):
        return before
    waited = {"running": kernel.get("next_boot"), "cmdline": kernel.get("next_boot_cmdline")}
    known = {key: value for key, value in waited.items() if value is not None}
    return {**before, "node": {**before["node"], "kernel": {**kernel, **known}}}


def _firmware(gpu: dict) -> dict | None:
    """Version by block, of the blocks that the kernel tells: others are known only where amd-smi was asked."""
    rows = gpu.get("firmware")
    if rows is None:
        return None
    return {block: row.get("value") for block, row in rows.items() if row and "sysfs" in (row.get("sources") or ())}


def _driver(driver: dict | None) -> dict | None:
    following = (driver or {}).get("next_boot")
    if not driver or not following:
        return driver
    return {**driver, "next_boot": {key: value for key, value in following.items() if key != "initramfs"}}


def _without(value: dict | None, keys: Collection[str]) -> dict | None:
    return None if value is None else {key: inner for key, inner in value.items() if key not in keys}


def _part(value: dict | None, keys: tuple[str, ...]) -> dict:
    return {key: (value or {}).get(key) for key in keys}


def compare_before_after(before: dict, after: dict, allowed: Collection[str] = ()) -> list[dict]:
    """What is worse, or merely other, after a change: one finding (contract section 4) each.

    :param allowed: what the plan was to change, out of ``rocm``, ``driver``, ``kernel``, ``cmdline``, ``vbios``,
        ``firmware``, ``partition``. Loss of a GPU, a slower link and risen error counters are never allowed.
    """
    found = [*_gpu_set(before, after), *_versions(booted_again(before, after), after, allowed)]
    old_gpus = {gpu.get("bdf"): gpu for gpu in before.get("gpus") or []}
    rebooted = _get(before, "node", "boot_id") != _get(after, "node", "boot_id")
    for gpu in after.get("gpus") or []:
        old = old_gpus.get(gpu.get("bdf"))
        if old is not None:
            found += [*_gpu_values(old, gpu, allowed), *_links(old, gpu), *_counters(old, gpu, rebooted)]
    return found


def _gpu_set(before: dict, after: dict) -> Iterator[dict]:
    old = {gpu.get("bdf"): gpu for gpu in before.get("gpus") or []}
    new = {gpu.get("bdf"): gpu for gpu in after.get("gpus") or []}
    for bdf in sorted(old.keys() - new.keys(), key=str):
        yield _finding(
            "after.gpu_lost", bdf, f"{len(old)} GPUs, this one among them", f"{len(new)} GPUs, this one is gone"
        )
    for bdf in sorted(new.keys() - old.keys(), key=str):
        yield _finding("after.gpu_new", bdf, f"{len(old)} GPUs", f"{len(new)} GPUs, this one is new")


def _versions(before: dict, after: dict, allowed: Collection[str]) -> Iterator[dict]:
    for name, path in (
        ("rocm", ("rocm", "active")),
        ("driver", ("driver", "version")),
        ("kernel", ("node", "kernel", "running")),
        ("cmdline", ("node", "kernel", "cmdline")),
    ):
        if name not in allowed:
            yield from _same(f"after.{name}", "node", _get(before, *path), _get(after, *path))


def _gpu_values(old: dict, new: dict, allowed: Collection[str]) -> Iterator[dict]:
    subject = str(new.get("bdf"))
    for key in ("device_id", "unique_id", "serial", "memory_bytes", "vbios", "firmware", "partition"):
        if key not in allowed:
            yield from _same(f"after.{key}", subject, _comparable(key, old), _comparable(key, new))


def _comparable(key: str, gpu: dict) -> Any:
    if key == "firmware":
        return _firmware(gpu)
    # Another driver may offer other modes; what counts is the mode that the GPU is in.
    return _part(gpu["partition"], ("compute", "memory")) if key == "partition" and gpu.get(key) else gpu.get(key)


def _links(old: dict, new: dict) -> Iterator[dict]:
    hops = {hop.get("bdf"): hop for hop in new.get("link") or []}
    for hop in old.get("link") or []:
        subject = f"{new.get('bdf')} hop {hop.get('bdf')}"
        for key in ("speed_gts", "width"):
            was, now = hop.get(key), hops.get(hop.get("bdf"), {}).get(key)
            if was is not None and now is None:
                yield _finding(f"after.link_{key}", subject, was, now, "unknown")
            elif was is not None and now < was:
                yield _finding(f"after.link_{key}", subject, f"{was} or more", now)


def _counters(old: dict, new: dict, rebooted: bool) -> Iterator[dict]:
    subject = str(new.get("bdf"))
    yield from _risen("after.bad_pages", subject, old.get("bad_pages"), new.get("bad_pages"))
    # These start again from zero when the driver is loaded, so after a reboot every error is a new one.
    for block, counts in sorted((old.get("ras") or {}).items()):
        now = ((new.get("ras") or {}).get(block) or {}).get("ue")
        was = (counts or {}).get("ue")
        yield from _risen(f"after.ras_{block}_ue", subject, 0 if rebooted and was is not None else was, now)
    for kind in ("nonfatal", "fatal"):
        was, now = _get(old, "aer", kind), _get(new, "aer", kind)
        yield from _risen(f"after.aer_{kind}", subject, 0 if rebooted and was is not None else was, now)


def _same(rule: str, subject: str, was: Any, now: Any) -> Iterator[dict]:
    if isinstance(was, dict) and isinstance(now, dict):
        known = now
        unread = {key for key, value in was.items() if value is None}
        keys = sorted(key for key in (was.keys() | now.keys()) - unread if was.get(key) != now.get(key))
        was, now = {key: was.get(key) for key in keys}, {key: now.get(key) for key in keys}
        now = None if keys and all(key in known and known[key] is None for key in keys) else now
    if was is not None and now is None:
        yield _finding(rule, subject, was, now, "unknown")
    elif was is not None and was != now:
        yield _finding(rule, subject, was, now)


def _risen(rule: str, subject: str, was: int | None, now: int | None) -> Iterator[dict]:
    if was is not None and now is None:
        yield _finding(rule, subject, f"{was} at most", now, "unknown")
    elif was is not None and now is not None and now > was:
        yield _finding(rule, subject, f"{was} at most", now)


def _finding(rule: str, subject: str, expected: Any, observed: Any, verdict: str = "fail") -> dict:
    unread = verdict == "unknown"
    return {
        "rule": rule,
        "subject": subject,
        "verdict": verdict,
        "area": "health",
        "expected": _text(expected),
        "observed": "could not be read" if unread else _text(observed),
        "why": "it was known before the change and cannot be read now"
        if unread
        else "it changed, and the plan did not ask for that",
        "fix": "look at this node before it goes back to service; roll back if the change caused it",
        "source": "comparison of the node before and after",
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _get(value: dict | None, *path: str) -> Any:
    for key in path:
        value = (value or {}).get(key)
    return value
