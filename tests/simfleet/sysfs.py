# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a node shows under /sys, computed from its bus, its loaded driver and its command line. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from simfleet import cpufiles, gpufiles, pciconfig
from simfleet.faults import Fault
from simfleet.machines import Product
from simfleet.pci import Bus, Function, is_lower_end
from simfleet.tree import Tree

EIO = "/proc/self/mem"  # reading it from the start gives EIO, as a register of a dead device does


@dataclass(frozen=True)
class Driver:
    """The amdgpu module that is loaded; `version` is None for the kernel's own one."""

    version: str | None
    srcversion: str
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass
class View:
    """What decides the content of /sys."""

    host: str
    product: Product
    bus: Bus
    driver: Driver | None
    cmdline: list[str]
    faults: list[Fault] = field(default_factory=list)
    firmware: dict[str, Any] = field(default_factory=dict)  # bios_version, bios_date, vbios, bundle, off

    def is_off(self, setting: str) -> bool:
        """Whether the BIOS has this switched off: smt, iommu, global_cstate, boost."""
        return setting in self.firmware.get("off", ())


def stable_hex(*words: str, digits: int = 16) -> str:
    """Hex digits that depend on the words only, so that a node keeps its identities for ever."""
    return hashlib.sha256("/".join(words).encode()).hexdigest()[:digits]


def device_path(bus: Bus, function: Function) -> str:
    """The directory of a function below /sys, from its host bridge down."""
    names = [function.bdf]
    while function.parent is not None:
        function = bus[function.parent]
        names.append(function.bdf)
    return "/".join(["devices", f"pci{function.bdf[:7]}", *reversed(names)])


def speed_text(gts: float) -> str:
    """As the kernel prints it: `32.0 GT/s PCIe`."""
    return f"{gts:.1f} GT/s PCIe"


_COR = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF")
_UNCOR = (
    "Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq",
    "ACSViol", "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked",
)  # fmt: skip


def _aer_table(names: tuple[str, ...], where: str, total: str, count: int) -> str:
    rows = [f"{name} {count if name == where else 0}" for name in names]
    return "\n".join([*rows, f"{total} {count}"])


def _aer(function: Function, faults: list[Fault]) -> dict[str, object]:
    mine = [f.args for f in faults if f.effect == "aer_errors" and f.args["index"] == function.gpu]
    count = {kind: sum(args[kind] for args in mine) for kind in ("correctable", "nonfatal", "fatal")}
    return {
        "aer_dev_correctable": _aer_table(_COR, "RxErr", "TOTAL_ERR_COR", count["correctable"]),
        "aer_dev_nonfatal": _aer_table(_UNCOR, "CmpltTO", "TOTAL_ERR_NONFATAL", count["nonfatal"]),
        "aer_dev_fatal": _aer_table(_UNCOR, "DLP", "TOTAL_ERR_FATAL", count["fatal"]),
    }


def _identity(function: Function) -> dict[str, object]:
    chip = function.chip
    ids = chip.vendor.upper(), chip.device.upper()
    return {
        "vendor": f"0x{chip.vendor}",
        "device": f"0x{chip.device}",
        "subsystem_vendor": f"0x{chip.subsystem[0]}",
        "subsystem_device": f"0x{chip.subsystem[1]}",
        "class": f"0x{chip.pci_class}",
        "revision": "0x00",
        "enable": 1 if function.is_bridge else 0,
        "irq": 0,
        "numa_node": function.numa,
        "modalias": f"pci:v0000{ids[0]}d0000{ids[1]}bc{chip.pci_class[:2]}sc{chip.pci_class[2:4]}",
        "resource": "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 13),
        "power/control": "on",
        "power/runtime_status": "active",
    }


def _link(function: Function) -> dict[str, object]:
    return {
        "current_link_speed": speed_text(function.gts),
        "current_link_width": function.width,
        "max_link_speed": speed_text(function.chip.gts),
        "max_link_width": function.chip.width,
    }


def _function(tree: Tree, view: View, function: Function) -> None:
    base = device_path(view.bus, function)
    tree.put(base, {**_identity(function), **_link(function), **_aer(function, view.faults)})
    tree.files[f"{base}/config"] = pciconfig.config_space(function, view.bus, aspm_off="pcie_aspm=off" in view.cmdline)
    if function.parent is None:
        tree.put(base, {f"aer_rootport_total_err_{kind}": 0 for kind in ("cor", "nonfatal", "fatal")})
    elif "pcie_aspm=off" not in view.cmdline and is_lower_end(view.bus, function):
        # The kernel puts a link's ASPM switches at its lower end only.
        tree.put(base, {"link/l0s_aspm": 0, "link/l1_aspm": 0, "link/clkpm": 0})
    tree.links[f"bus/pci/devices/{function.bdf}"] = base
    tree.links[f"{base}/subsystem"] = "bus/pci"
    driver = _driver_of(view, function)
    if driver:
        tree.links[f"{base}/driver"] = f"bus/pci/drivers/{driver}"
        tree.links[f"bus/pci/drivers/{driver}/{function.bdf}"] = base
    if driver == "amdgpu":
        gpufiles.add_gpu(tree, view, function, base)


def _driver_of(view: View, function: Function) -> str | None:
    if function.is_bridge:
        return "pcieport"
    if function.gpu is None:
        return {"15b3": "mlx5_core", "14e4": "bnxt_en"}.get(function.chip.vendor)
    return "amdgpu" if view.driver else None


def _iommu(tree: Tree, view: View) -> None:
    if view.is_off("iommu"):
        return
    kind = "identity" if "iommu=pt" in view.cmdline else "DMA-FQ"
    for group, function in enumerate(view.bus.values()):
        base = f"kernel/iommu_groups/{group}"
        device = device_path(view.bus, function)
        tree.put(base, {"type": kind})
        tree.links[f"{base}/devices/{function.bdf}"] = device
        tree.links[f"{device}/iommu_group"] = base


def loaded_modules(driver: Driver | None) -> list[tuple[str, int, str, str]]:
    """What /proc/modules lists: name, size, users (comma after each), taint."""
    rows = [("mlx5_core", 2228224, "", ""), ("nvme", 61440, "", "")]
    if driver and driver.version:
        rows += [
            ("amdgpu", 17424384, "", "OE"),
            ("amdttm", 94208, "amdgpu,", "OE"),
            ("amdkcl", 45056, "amdttm,amdgpu,", "OE"),
        ]
    elif driver:
        rows += [("amdgpu", 9682944, "", ""), ("ttm", 94208, "amdgpu,", "")]
    return rows


def _module(tree: Tree, driver: Driver | None) -> None:
    tree.put("module/pcie_aspm/parameters", {"policy": "[default] performance powersave powersupersave "})
    for name, size, users, taint in loaded_modules(driver):
        source = stable_hex(name, (driver.version if driver else None) or "", digits=23).upper()
        base = f"module/{name}"
        tree.put(
            base,
            {"srcversion": source, "initstate": "live", "refcnt": users.count(","), "taint": taint, "coresize": size},
        )
        tree.dirs.add(f"{base}/holders")
        for user in users.split(",")[:-1]:
            tree.links[f"{base}/holders/{user}"] = f"module/{user}"
    if driver is None:
        return
    tree.put("module/amdgpu", {"srcversion": driver.srcversion})
    if driver.version is not None:
        tree.put("module/amdgpu", {"version": driver.version})
    tree.put("module/amdgpu/parameters", {**gpufiles.PARAMETERS, **driver.parameters})
    tree.links["bus/pci/drivers/amdgpu/module"] = "module/amdgpu"


def _dmi(tree: Tree, view: View) -> None:
    values = dict(view.product.dmi)
    values |= {key: view.firmware[key] for key in ("bios_version", "bios_date") if view.firmware.get(key)}
    serial = stable_hex(view.host, "chassis", digits=12).upper()
    values |= {"product_serial": f"S{serial}", "board_serial": f"B{serial}", "chassis_type": "23"}
    tree.put("devices/virtual/dmi/id", dict(values))
    tree.links["class/dmi/id"] = "devices/virtual/dmi/id"


def _kernel(tree: Tree, view: View) -> None:
    if not view.is_off("iommu"):
        tree.put("devices/pci0000:00/0000:00:00.2/iommu/ivhd0", {"amd-iommu/cap": "190b640f"})
        tree.links["class/iommu/ivhd0"] = "devices/pci0000:00/0000:00:00.2/iommu/ivhd0"
    chosen = [word.partition("=")[2] for word in view.cmdline if word.startswith("transparent_hugepage=")]
    mode = chosen[-1] if chosen else "madvise"
    text = " ".join(f"[{word}]" if word == mode else word for word in ("always", "madvise", "never"))
    tree.put(
        "kernel/mm/transparent_hugepage", {"enabled": text, "defrag": "always defer defer+madvise [madvise] never"}
    )


def build_tree(view: View) -> Tree:
    """Everything below /sys of one node."""
    tree = Tree()
    for function in view.bus.values():
        _function(tree, view, function)
    for part in (_iommu, cpufiles.add_cpus, _dmi, _kernel):
        part(tree, view)
    cpufiles.add_nodes(tree)
    _module(tree, view.driver)
    tree.dirs |= {"bus/pci/drivers/amdgpu"} if view.driver else set()
    if view.driver:
        for node in (0, 1):
            text = "cpu_cores_count 96\nsimd_count 0\nvendor_id 0\nlocation_id 0\ndomain 0"
            tree.put(f"class/kfd/kfd/topology/nodes/{node}", {"properties": text})
    tree.dirs |= {
        "class/drm",
        "class/net",
        "class/hwmon",
        "class/kfd",
        "fs/cgroup",
        "block",
        "class/block",
        "firmware/acpi",
    }
    for fault in view.faults:
        _file_fault(tree, view, fault)
    return tree


def _file_fault(tree: Tree, view: View, fault: Fault) -> None:
    if fault.effect not in ("sysfs_unreadable", "sysfs_garbage"):
        return
    gpu = next((item for item in view.bus.values() if item.gpu == fault.args["index"]), None)
    if gpu is None:
        return
    path = f"{device_path(view.bus, gpu)}/{fault.args['file']}"
    tree.files.pop(path, None)
    if fault.effect == "sysfs_garbage":
        tree.files[path] = fault.args["text"]
    else:
        tree.links[path] = EIO
