# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lines that a boot leaves in the kernel's ring buffer. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simfleet.pci import is_lower_end

if TYPE_CHECKING:
    from simfleet.sysfs import View

_LINE = re.compile(r"<([0-9]+)>\[ *([0-9.]+)\] (.*)")
_X1_GBS = {2.5: 2.0, 5.0: 4.0, 8.0: 7.876, 16.0: 15.753, 32.0: 31.507}


def _bandwidth(gts: float, width: int) -> float:
    return _X1_GBS.get(gts, gts) * width


def _gpu_lines(view: View) -> list[str]:
    lines = []
    for function in sorted((item for item in view.bus.values() if item.gpu is not None), key=lambda item: item.bdf):
        ids = f"0x{function.chip.vendor}:0x{function.chip.device.upper()}"
        lines.append(f"[drm] initializing kernel modesetting (IP DISCOVERY {ids} {ids} 0x00).")
        lines.append(f"amdgpu {function.bdf}: amdgpu: Fetched VBIOS from VFCT")
        lines.append(f"amdgpu {function.bdf}: amdgpu: VRAM: {view.product.memory_bytes >> 20}M")
        lines.append(f"[drm] Initialized amdgpu 3.63.0 for {function.bdf} on minor {1 + (function.gpu or 0)}")
    return lines


def _link(gts: float, width: int) -> str:
    return f"{gts:.1f} GT/s PCIe x{width} link"


def _slow_links(view: View) -> list[str]:
    lines = []
    for function in view.bus.values():
        upper, chip = view.bus.get(function.parent or ""), function.chip
        if upper is None or not is_lower_end(view.bus, function):
            continue
        if (function.gts, function.width) != (min(chip.gts, upper.chip.gts), min(chip.width, upper.chip.width)):
            have, could = _bandwidth(function.gts, function.width), _bandwidth(chip.gts, chip.width)
            text = f"pci {function.bdf}: {have:.3f} Gb/s available PCIe bandwidth, limited by"
            text += f" {_link(function.gts, function.width)} at {upper.bdf}"
            lines.append(f"{text} (capable of {could:.3f} Gb/s with {_link(chip.gts, chip.width)})")
    return lines


def _given_lines(view: View) -> list[str]:
    rows = [fault.args for fault in view.faults if fault.effect == "kernel_log"]
    return [row["text"] for row in rows for _time in range(row["count"])]


def as_records(log: str) -> str:
    """The same as /dev/kmsg gives it: `6,sequence,microseconds,-;text`."""
    parsed = (_LINE.fullmatch(line) for line in log.splitlines())
    rows = [(match[1], int(float(match[2]) * 1e6), match[3]) for match in parsed if match]
    return "".join(f"{level},{number},{stamp},-;{text}\n" for number, (level, stamp, text) in enumerate(rows))


def boot_log(view: View, kernel: str) -> str:
    """The text of the ring buffer, in the form `dmesg -F` reads: `<6>[    0.000000] ...`."""
    lines = [f"Linux version {kernel} (debian-kernel@lists.debian.org)", f"Command line: {' '.join(view.cmdline)}"]
    dmi = view.product.dmi
    bios = view.firmware.get("bios_version") or dmi["bios_version"]
    lines.append(f"DMI: {dmi['sys_vendor']} {dmi['product_name']}, BIOS {bios}")
    if "pcie_aspm=off" in view.cmdline:
        lines.append("PCIe ASPM is disabled")
    lines += [
        f"pci {function.bdf}: [{function.chip.vendor}:{function.chip.device}] type 00" for function in view.bus.values()
    ]
    lines += _slow_links(view)
    if view.driver:
        lines.append("[drm] amdgpu kernel modesetting enabled.")
        if view.driver.version:
            lines.append(f"[drm] amdgpu version: {view.driver.version}")
        lines += _gpu_lines(view)
    lines += _given_lines(view)
    return "".join(f"<6>[{number * 0.0173:12.6f}] {line}\n" for number, line in enumerate(lines))
