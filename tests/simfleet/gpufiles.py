# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files that the amdgpu driver adds to the directory of a GPU it has bound. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfleet.pci import Function
    from simfleet.sysfs import View
    from simfleet.tree import Tree

PARAMETERS = {
    "aspm": "-1", "runpm": "-1", "gpu_recovery": "-1", "ras_enable": "-1", "ras_mask": "4294967295",
    "bad_page_threshold": "-1", "reset_method": "-1", "pcie_gen_cap": "0", "pcie_lane_cap": "0", "noretry": "-1",
    "dpm": "-1", "exp_hw_support": "0", "lockup_timeout": "", "vm_size": "-1", "sched_jobs": "32", "mcbp": "-1",
}  # fmt: skip
RAS_BLOCKS = ("umc", "sdma", "gfx", "mmhub", "xgmi_wafl", "pcie_bif", "hdp", "athub")
_FIRMWARE = (
    "asd",
    "mec",
    "mec2",
    "pfp",
    "me",
    "ce",
    "rlc",
    "sdma",
    "sdma2",
    "smc",
    "sos",
    "ta_ras",
    "ta_xgmi",
    "vcn",
    "uvd",
    "vce",
    "mc",
)
_ABSENT_ON_CDNA = ("pfp", "me", "ce", "uvd", "vce", "mc")
# Loaded from the packages' firmware files, so they change with the driver; the rest comes with the board's own image.
_FROM_DRIVER = ("mec", "mec2", "rlc", "sdma", "sdma2", "vcn", "asd", "ta_ras", "ta_xgmi")


def _number(*words: str) -> int:
    return int(hashlib.sha256("/".join(words).encode()).hexdigest()[:8], 16)


def _firmware(view: View) -> dict[str, object]:
    version = (view.driver.version if view.driver else None) or "in-tree"
    values: dict[str, object] = {}
    for name in _FIRMWARE:
        board = (name, view.product.name, *([view.firmware["bundle"]] if view.firmware.get("bundle") else []))
        words = (name, view.product.name, version) if name in _FROM_DRIVER else board
        value = 0 if name in _ABSENT_ON_CDNA else _number(*words) % 0x00FFFFFF
        values[f"fw_version/{name}_fw_version"] = f"0x{value:08x}"
    return values


def _serial(view: View, function: Function) -> tuple[str, str]:
    digest = hashlib.sha256(f"{view.host}/gpu/{function.bdf}".encode()).hexdigest()
    return digest[:16], f"{int(digest[16:28], 16) % 10**12:012d}"


def _board(view: View, function: Function) -> dict[str, object]:
    unique, serial = _serial(view, function)
    memory = view.product.memory_bytes
    names = {
        "product_name": f"AMD Instinct {view.product.name}",
        "product_number": f"102-{view.product.chip.device.upper()}-00",
    }
    return {
        **names, "unique_id": unique, "serial_number": serial, "manufacturer": "AMD", "fru_id": f"113-{serial}",
        "board_info": f"type : {view.product.board}", "vbios_version": view.firmware.get("vbios") or view.product.vbios,
        "mem_info_vram_total": memory, "mem_info_vis_vram_total": memory, "mem_info_vram_used": 297402368,
        "mem_info_gtt_total": 2 * memory, "mem_info_gtt_used": 15736832, "mem_info_vram_vendor": "hynix",
        "xgmi_device_id": int(unique[:15], 16), "xgmi_physical_id": function.gpu or 0,
        "gpu_busy_percent": 0, "mem_busy_percent": 0, "pcie_replay_count": 0,
    }  # fmt: skip


def _modes(view: View) -> dict[str, object]:
    values: dict[str, object] = {"power_dpm_force_performance_level": "auto", "power_dpm_state": "performance"}
    if len(view.product.compute_modes) > 1:
        memory = "NPS1, NPS4" if view.product.gfx == "gfx942" else "NPS1, NPS2"
        values |= {
            "current_compute_partition": "SPX",
            "available_compute_partition": ", ".join(view.product.compute_modes),
            "current_memory_partition": "NPS1",
            "available_memory_partition": memory,
        }
    values["pp_dpm_sclk"] = "0: 132Mhz *\n1: 2100Mhz"
    values["pp_dpm_mclk"] = "0: 900Mhz *\n1: 1300Mhz"
    top = view.product.chip
    values["pp_dpm_pcie"] = f"0: 2.5GT/s, x{top.width} 619Mhz\n1: {top.gts}GT/s, x{top.width} 1143Mhz *"
    return values


def _ras(view: View, function: Function) -> dict[str, object]:
    counts = {block: {"ue": 0, "ce": 0} for block in RAS_BLOCKS}
    pages = 0
    for fault in view.faults:
        if fault.args.get("index") != function.gpu:
            continue
        if fault.effect == "ras_errors":
            counts[fault.args["block"]] = {"ue": fault.args["ue"], "ce": fault.args["ce"]}
        if fault.effect == "bad_pages":
            pages += fault.args["pages"]
    values: dict[str, object] = {
        "ras/features": "feature mask: 0x7fff",
        "ras/version": "table version: 0x20000",
        "ras/schema": "schema: 0x7fff",
    }
    for block, count in counts.items():
        values[f"ras/{block}_err_count"] = f"ue: {count['ue']}\nce: {count['ce']}" + (
            "\nde: 0" if block == "umc" else ""
        )
    rows = [f"0x{0x4C000 + number:08x} : 0x00001000 : R" for number in range(pages)]
    values["ras/gpu_vram_bad_pages"] = ("\n".join(rows) + "\n").encode() if rows else b""
    return values


def _celsius(view: View, function: Function, sensor: str) -> float:
    hot = [f.args["celsius"] for f in view.faults if f.effect == "hot" and f.args["index"] == function.gpu]
    if hot and sensor == "junction":
        return float(hot[-1])
    return {"edge": 36.0, "junction": 41.0, "mem": 38.0}[sensor] + _number(view.host, function.bdf) % 4


def _hwmon(view: View, function: Function) -> dict[str, object]:
    numbers = {"edge": 1, "junction": 2, "mem": 3}
    crit = {"edge": 100, "junction": 110, "mem": 105}
    values: dict[str, object] = {
        "name": "amdgpu",
        "power1_average": 134000000,
        "power1_cap": 750000000,
        "power1_cap_max": 750000000,
    }
    values |= {"in0_input": 773, "in0_label": "vddgfx", "freq1_input": 132000000, "freq1_label": "sclk"}
    for sensor in view.product.sensors:
        stem = f"temp{numbers[sensor]}"
        values |= {f"{stem}_label": sensor, f"{stem}_input": int(_celsius(view, function, sensor) * 1000)}
        values |= {f"{stem}_crit": crit[sensor] * 1000, f"{stem}_emergency": (crit[sensor] + 5) * 1000}
    return values


def _drm(tree: Tree, function: Function, base: str) -> None:
    index = function.gpu or 0
    # card0 is the BMC's own graphics, as on nearly every server.
    for name, minor in ((f"card{index + 1}", index + 1), (f"renderD{128 + index}", 128 + index)):
        place = f"{base}/drm/{name}"
        tree.put(place, {"dev": f"226:{minor}"})
        tree.links[f"{place}/device"] = base
        tree.links[f"class/drm/{name}"] = place


def _compute_node(tree: Tree, function: Function) -> None:
    domain, bus, device = int(function.bdf[:4], 16), int(function.bdf[5:7], 16), int(function.bdf[8:10], 16)
    text = f"simd_count 1216\nvendor_id 4098\nlocation_id {bus << 8 | device << 3}\ndomain {domain}"
    # The two processors are nodes 0 and 1.
    tree.put(f"class/kfd/kfd/topology/nodes/{2 + (function.gpu or 0)}", {"properties": text})


def add_gpu(tree: Tree, view: View, function: Function, base: str) -> None:
    """Add what the driver shows of one GPU: identity, modes, RAS, sensors and its DRM nodes."""
    for values in (_board(view, function), _modes(view), _ras(view, function), _firmware(view)):
        tree.put(base, values)
    place = f"{base}/hwmon/hwmon{(function.gpu or 0) + 2}"
    tree.put(place, _hwmon(view, function))
    tree.links[f"{place}/device"] = base
    tree.links[f"class/hwmon/hwmon{(function.gpu or 0) + 2}"] = place
    _drm(tree, function, base)
    _compute_node(tree, function)
