# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy node, a target and records to build tests from."""

from __future__ import annotations

import copy
from pathlib import Path

import yaml

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQGNBGE=\n-----END PGP PUBLIC KEY BLOCK-----\n"
OLD, NEW = ("6.4.4", "6.4.4"), ("7.0.2", "30.10.2")
# What nothing answers for the healthy sample: AMD's lists of firmware begin with 7.2, and no load was watched.
UNTOLD = ("firmware.known", "load.watched")
_MODULES = {
    "6.4.4": ("6.12.12", "1:6.12.12.60404-2202139.22.04"),
    "30.10.2": ("6.14.14", "1:6.14.14.30100200-2226257.22.04"),
}
_ROCM_PACKAGES = {"6.4.4": "6.4.4.60404-129~22.04", "7.0.2": "7.0.2.70002-56~22.04"}


def hop(bdf, role, device_id, vendor_id="1002", speed=32.0, width=16):
    return {
        "bdf": bdf,
        "role": role,
        "vendor_id": vendor_id,
        "device_id": device_id,
        "speed_gts": speed,
        "width": width,
        "max_speed_gts": speed,
        "max_width": width,
        "answers": True,
        "samples_gts": [speed],
        "target_speed_gts": speed,
        "autonomous_speed": True,
        "aspm": {"l0s": False, "l1": False, "supported": ["l0s", "l1"], "source": "config"},
        "aer": {"correctable": 0, "nonfatal": 0, "fatal": 0},
        "device_errors": [],
    }


def gpu(number, device_id="74a1", speed=32.0):
    bus = f"{number:x}3"
    return {
        "bdf": f"0000:{bus}:00.0",
        "vendor_id": "1002",
        "device_id": device_id,
        "subsystem_vendor_id": "1002",
        "subsystem_id": device_id,
        "class": "120000",
        "kind": "pf",
        "physical_function": None,
        "virtual_functions": {"possible": 8, "enabled": 0},
        "driver": "amdgpu",
        "initialised": True,
        "init_error": None,
        "serial": f"692{number:09d}",
        "unique_id": f"{0x9000 + number:016x}",
        "vbios": "113-M3000100-102",
        "numa_node": number // 4,
        "memory_bytes": 206141652992,
        "firmware": {"sos": {"scheme": "hex_bytes", "value": "00.36.02.4B", "sources": {"sysfs": "0x0036024b"}}},
        "board": {"product_name": "AMD Instinct", "product_number": "102-G30211-0C", "form": "oam"},
        "render_nodes": [f"renderD{128 + number}"],
        "compute_nodes": 1,
        "partition": {
            "compute": "SPX",
            "memory": "NPS1",
            "compute_modes": ["SPX", "CPX"],
            "memory_modes": ["NPS1", "NPS4"],
        },
        "performance_level": "auto",
        "aer": {"correctable": 0, "nonfatal": 0, "fatal": 0},
        "ras": {"umc": {"ue": 0, "ce": 0}},
        "busy_percent": 0,
        "link_levels": None,
        "bad_pages": 0,
        "bad_pages_by_state": {"reserved": 0, "pending": 0, "failed": 0},
        "temperatures": {"junction": {"celsius": 41.0, "critical": 100.0, "emergency": 105.0}},
        "power": {"watts": 132.0, "cap_watts": 750.0},
        "link": [
            hop(f"0000:{bus}:00.0", "gpu", device_id, speed=speed),
            hop(f"0000:{number:x}2:00.0", "board_switch", "1501", speed=speed),
            hop(f"0000:{number:x}1:00.0", "board_switch", "1500", speed=speed),
            hop(f"0000:{number:x}0:01.1", "root_port", "14ab", "1022", speed=speed),
        ],
    }


def facts(
    host="g01",
    versions=OLD,
    count=8,
    device_id="74a1",
    speed=32.0,
    cmdline=("root=/dev/sda1", "iommu=pt", "pcie_aspm=off"),
):
    """A healthy node that runs ``versions`` (ROCm, driver)."""
    rocm, driver = versions
    module, package = _MODULES[driver]
    kernel = "6.1.0-40-amd64"
    return {
        "schema": 1,
        "node": {
            "host": host,
            "boot_id": f"boot-{host}",
            "uptime_seconds": 812.4,
            "machine_id": f"machine-{host}",
            "kernel": {
                "running": kernel,
                "next_boot": kernel,
                "cmdline": list(cmdline),
                "next_boot_cmdline": list(cmdline),
                "new_kernels_cmdline": None,
            },
            "boot_loader": "grub",
            "boot_entries": [{"kernel": kernel, "cmdline": list(cmdline), "default": True, "rescue": False}],
            "os": {"id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"},
            "secure_boot": False,
            "free_bytes": {"/": 10**11, "/boot": 10**9, "/opt": 10**11, "/var": 10**11},
            "initrd_bytes": 18 * 10**7,
        },
        "platform": {
            "vendor": "Maker",
            "product": "Server",
            "bios_version": "1.2",
            "bios_date": "2026-01-01",
            "bios_release": "5.27",
            "board": "B",
            "cpu_vendor": "AuthenticAMD",
            "cpu_model": "AMD EPYC 9654 96-Core Processor",
            "virtual_machine": False,
        },
        "gpus": [gpu(number, device_id, speed) for number in range(1, count + 1)],
        "driver": {
            "loaded": True,
            "version": module,
            "srcversion": "ABCDEF0123",
            "origin": "dkms",
            "taint": "OE",
            "compute_device": True,
            "loaded_is_installed": True,
            "installed": {
                "module": module,
                "build": package.split("-")[1],
                "release": driver,
                "package_version": package,
            },
            "packages": {"amdgpu-dkms": {"version": package, "state": "installed", "hold": True}},
            "dkms": [
                {
                    "version": f"{module}-{package.split('-')[1]}",
                    "kernel": kernel,
                    "arch": "x86_64",
                    "state": "installed",
                    "built_for": None,
                }
            ],
            "stale_trees": [],
            "blacklists": [],
            "firmware_files": {"/lib/firmware/amdgpu": 612, "/lib/firmware/updates/amdgpu": 588},
            "next_boot": {
                "kernel": kernel,
                "module_file": f"/lib/modules/{kernel}/updates/dkms/amdgpu.ko",
                "origin": "dkms",
                "version": module,
                "srcversion": "ABCDEF0123",
                "signed": False,
                "kept_out_by": [],
                "initramfs": {
                    "path": f"/boot/initrd.img-{kernel}",
                    "older_than_module": False,
                    "holds_module": None,
                    "holds_blacklist": None,
                },
            },
            "build": {
                "headers": True,
                "built_by": "gcc-12",
                "compilers": ["/usr/bin/gcc-12", "/usr/bin/gcc"],
                "make": True,
                "dkms": True,
                "key_enrolled": None,
            },
            "ready_for_next_boot": True,
        },
        "rocm": {
            "active": rocm,
            "active_path": f"/opt/rocm-{rocm}",
            "installed": [rocm],
            "layout": "legacy",
            "leftovers": [],
            "manager": "apt",
            "packages": {"rocm-core": {"version": _ROCM_PACKAGES[rocm], "state": "installed", "hold": True}},
            "repositories": [
                {
                    "file": "/etc/apt/sources.list.d/rocm.list",
                    "line": f"deb http://m.example/rocm/apt/{rocm} jammy main",
                    "mismatch": None,
                }
            ],
            "pins": ["/etc/apt/preferences.d/rocm-pin"],
            "holds": ["rocm-core", "amdgpu-dkms"],
            "shadowing": [],
            "obtainable": {"rocm-core": True, "amdgpu-dkms": True},
            "lock_holder": None,
            "unattended": [],
        },
        "settings": {
            "aspm": {"policy": "default", "cmdline_off": True},
            "iommu": {"passthrough": True, "group_types": {"identity": count} if count else {}, "present": True},
            "idle": {
                "driver": "acpi_idle",
                "states": ["POLL", "C1", "C2"],
                "disabled": [],
                "latency_us": {"POLL": 0, "C1": 1, "C2": 100},
                "partly_disabled": [],
            },
            "numa_balancing": 0,
            "thp": "madvise",
            "smt_active": False,
            "smt_control": "off",
            "boost": True,
            "governors": {"performance": 128},
            "sriov_capable": True,
            "module_options": {"amdgpu": {}},
            "module_parameters": {"amdgpu": {"aspm": "-1"}},
            "sysctl": {"kernel.numa_balancing": "0", "vm.compaction_proactiveness": "20"},
            "layers": {"numa_balancing": {"live": "0", "cmdline": None, "next_boot": None, "config": None}},
        },
        "holders": [],
        "log": {"source": "kmsg", "complete": True, "lines": 2481, "signatures": [], "previous": None},
        "problems": [],
    }


def change(value, path, new):
    """A copy of nested maps and lists with the value at a path ("gpus.0.kind") replaced; the rest is shared."""
    parts = path.split(".") if isinstance(path, str) else list(path)
    if not parts:
        return new
    changed = copy.copy(value)
    key = int(parts[0]) if isinstance(value, list) else parts[0]
    changed[key] = change(value[key], parts[1:], new) if len(parts) > 1 else new
    return changed


def target_document(**products):
    """The content of a target file; MI300X to 7.0.2 where nothing else is said."""
    wanted = products or {"MI300X": {"rocm": NEW[0], "driver": NEW[1], "kernel": {"cmdline": ["iommu=pt"]}}}
    return {
        "schema": 1,
        "name": "rocm-7.0.2",
        "repository": {
            "rocm": "http://mirror.example/rocm/apt/{release}",
            "driver": "http://mirror.example/amdgpu/{driver}/ubuntu",
            "suite": "jammy",
            "component": "main",
            "key_file": "rocm.gpg.asc",
        },
        "products": wanted,
    }


def write_target(folder: Path, document=None, text=None) -> str:
    """A target file with its key beside it; its path."""
    (folder / "rocm.gpg.asc").write_text(KEY, encoding="ascii")
    path = folder / "target.yml"
    path.write_text(text if text is not None else yaml.safe_dump(document or target_document()), encoding="utf-8")
    return str(path)


def record(node, product="MI300X", rack="r1", kind="may_move", why="", ready=True):
    """A record as the audit writes it, small."""
    finding = (
        [
            {
                "rule": "health.ras",
                "subject": node,
                "verdict": "fail",
                "why": why,
                "expected": "",
                "observed": "",
                "fix": "",
                "source": "",
                "area": "health",
            }
        ]
        if why
        else []
    )
    return {
        "schema": 1,
        "node": node,
        "run_id": "run",
        "gathered_at": "2026-12-01T04:30:00Z",
        "rack": rack,
        "reachable": True,
        "product": product,
        "gpu_count": 8,
        "expected_gpu_count": 8,
        "rocm": "6.4.4",
        "driver": "6.4.4",
        "target": {"rocm": "7.0.2", "driver": "30.10.2"},
        "verdict": {"compliance": "differs", "transition": "safe", "health": "healthy"},
        "class": kind,
        "findings": finding,
        "passed": 31,
        "steps": [] if kind == "at_target" else ["rocm", "reboot"],
        "rollback": {"ready": ready, "why": [] if ready else ["rocm-core 6.4.4 cannot be had any more"]},
        "facts_digest": f"sha256:{node}",
    }
