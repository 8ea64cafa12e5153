# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node shows under /sys follows from its machine, its driver, its command line and its faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simfleet.cpufiles import CPUS, cpuinfo
from simfleet.faults import Fault
from simfleet.kernellog import as_records, boot_log
from simfleet.machines import PRODUCTS
from simfleet.pci import apply_faults, build_bus, is_lower_end, path_to
from simfleet.sysfs import Driver, View, build_tree, device_path
from simfleet.tree import Tree, change, write

DKMS = Driver("6.12.12", "ABCDEF")


def _view(product: str = "MI300X", driver: Driver | None = DKMS, cmdline: str = "", faults: Any = ()) -> View:
    bus = build_bus(PRODUCTS[product], 8)
    apply_faults(bus, list(faults))
    return View("g01", PRODUCTS[product], bus, driver, cmdline.split(), list(faults))


def _read(tree: Tree, view: View, gpu: int, name: str) -> str | None:
    function = next((item for item in view.bus.values() if item.gpu == gpu), None)
    value = tree.files.get(f"{device_path(view.bus, function)}/{name}") if function else None
    return value.decode() if isinstance(value, bytes) else value


def _fault(effect: str, **args: Any) -> Fault:
    return Fault("g01", effect, {"hop": "gpu", **args} if effect.startswith("link_") else args)


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_product_has_eight_gpus_with_their_own_identity(product: str) -> None:
    view = _view(product)
    tree = build_tree(view)
    chip = PRODUCTS[product].chip
    assert {_read(tree, view, gpu, "device") for gpu in range(8)} == {f"0x{chip.device}\n"}
    assert {_read(tree, view, gpu, "class") for gpu in range(8)} == {f"0x{chip.pci_class}\n"}
    assert len({_read(tree, view, gpu, "unique_id") for gpu in range(8)}) == 8


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_link_runs_at_the_best_of_its_two_ends(product: str) -> None:
    bus = build_bus(PRODUCTS[product], 8)
    for lower in (item for item in bus.values() if is_lower_end(bus, item)):
        upper = bus[lower.parent or ""]
        assert lower.gts == upper.gts == min(upper.chip.gts, lower.chip.gts)
        assert lower.width == upper.width == min(upper.chip.width, lower.chip.width)


def test_an_mi250_board_has_eight_lanes_by_design() -> None:
    path = path_to(build_bus(PRODUCTS["MI250"], 8), 0)
    assert [hop.width for hop in path[:4]] == [16, 16, 8, 8]


def test_the_path_of_an_mi300x_is_gpu_board_switches_root() -> None:
    path = path_to(build_bus(PRODUCTS["MI300X"], 8), 7)
    ids = [f"{hop.chip.vendor}:{hop.chip.device}" for hop in path]
    assert ids == ["1002:74a1", "1002:1500", "1002:1501", *["15b3:1979"] * 4, "1022:14ab"]


def test_without_a_driver_a_gpu_shows_what_the_bus_knows_and_nothing_more() -> None:
    view = _view(driver=None)
    tree = build_tree(view)
    assert _read(tree, view, 0, "current_link_speed") == "32.0 GT/s PCIe\n"
    assert _read(tree, view, 0, "unique_id") is None
    assert not [path for path in tree.files if "/drm/" in path or "/hwmon/" in path or path.startswith("module/amdgpu")]


def test_the_kernels_own_module_has_no_version_file() -> None:
    tree = build_tree(_view(driver=Driver(None, "ABC")))
    assert tree.files["module/amdgpu/srcversion"] == "ABC\n"
    assert "module/amdgpu/version" not in tree.files
    assert "module/ttm/initstate" in tree.files


@pytest.mark.parametrize("hop, slow", [("gpu", [0, 1]), ("slot", [2, 3]), ("root", [6, 7])])
def test_a_slow_link_is_seen_at_both_of_its_ends_only(hop: str, slow: list[int]) -> None:
    view = _view(faults=[_fault("link_speed", index=3, hop=hop, gts=16.0)])
    path = path_to(view.bus, 3)
    assert [place for place, function in enumerate(path) if function.gts == 16.0] == slow
    assert all(function.gts == 32.0 for function in path_to(view.bus, 4))


def test_a_missing_gpu_takes_its_board_switch_along_and_leaves_the_port_dark() -> None:
    view = _view(faults=[_fault("gpu_missing", index=5)])
    tree = build_tree(view)
    assert not any(item.gpu == 5 for item in view.bus.values())
    assert "bus/pci/devices/0000:ad:00.0" not in tree.links
    assert view.bus["0000:ac:00.0"].width == 0
    assert "class/drm/card6" not in tree.links


def test_an_unreadable_file_is_a_link_to_what_cannot_be_read() -> None:
    view = _view(faults=[_fault("sysfs_unreadable", index=1, file="vbios_version")])
    tree = build_tree(view)
    assert _read(tree, view, 1, "vbios_version") is None
    assert [target for path, target in tree.links.items() if path.endswith("/vbios_version")] == ["/proc/self/mem"]


def test_counters_pages_and_heat_are_where_the_driver_shows_them() -> None:
    faults = [_fault("ras_errors", index=0, block="umc", ue=1, ce=7), _fault("bad_pages", index=0, pages=2)]
    view = _view(faults=[*faults, _fault("hot", index=0, celsius=97)])
    tree = build_tree(view)
    assert _read(tree, view, 0, "ras/umc_err_count") == "ue: 1\nce: 7\nde: 0\n"
    assert (_read(tree, view, 0, "ras/gpu_vram_bad_pages") or "").count(": R\n") == 2
    assert _read(tree, view, 0, "hwmon/hwmon2/temp2_input") == "97000\n"
    assert _read(tree, view, 1, "ras/umc_err_count") == "ue: 0\nce: 0\nde: 0\n"


@pytest.mark.parametrize("product, labels", [("MI300X", {"junction", "mem"}), ("MI210", {"edge", "junction", "mem"})])
def test_the_sensors_are_those_of_the_product(product: str, labels: set[str]) -> None:
    tree = build_tree(_view(product))
    seen = {str(text).strip() for path, text in tree.files.items() if "/temp" in path and path.endswith("_label")}
    assert seen == labels


def test_the_command_line_is_seen_in_aspm_iommu_and_idle_states() -> None:
    plain, set_ = build_tree(_view()), build_tree(_view(cmdline="pcie_aspm=off iommu=pt processor.max_cstate=1"))
    assert any(path.endswith("link/l1_aspm") for path in plain.files)
    assert not any(path.endswith("link/l1_aspm") for path in set_.files)
    assert plain.files["kernel/iommu_groups/0/type"] == "DMA-FQ\n"
    assert set_.files["kernel/iommu_groups/0/type"] == "identity\n"
    assert "devices/system/cpu/cpu0/cpuidle/state2/name" not in set_.files


def test_identities_depend_on_the_node_alone() -> None:
    one, again, other = _view(), _view(driver=Driver("6.14.14", "X")), _view()
    other.host = "g02"
    seen = [_read(build_tree(view), view, 2, "unique_id") for view in (one, again, other)]
    assert seen[0] == seen[1] != seen[2]


def _written(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): str(path.readlink()) if path.is_symlink() else path.read_bytes().hex()
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_links_hold_wherever_the_tree_is_mounted(tmp_path: Path) -> None:
    write(build_tree(_view()), tmp_path)
    assert (tmp_path / "bus/pci/devices/0000:0c:00.0/vendor").read_text() == "0x1002\n"
    assert (tmp_path / "class/drm/card1/device/driver").resolve().name == "amdgpu"


def test_a_changed_tree_is_the_new_tree(tmp_path: Path) -> None:
    with_driver, without = build_tree(_view()), build_tree(_view(driver=None))
    write(with_driver, tmp_path / "a")
    change(with_driver, without, tmp_path / "a")
    write(without, tmp_path / "b")
    assert _written(tmp_path / "a") == _written(tmp_path / "b")
    assert not (tmp_path / "a/module/amdgpu").exists()


def test_a_change_leaves_alone_what_the_node_itself_has_written(tmp_path: Path) -> None:
    old, new = build_tree(_view()), build_tree(_view(faults=[_fault("hot", index=0, celsius=97)]))
    write(old, tmp_path)
    place = tmp_path / "bus/pci/devices/0000:0c:00.0/current_compute_partition"
    place.write_text("CPX\n", encoding="ascii")
    change(old, new, tmp_path)
    assert place.read_text(encoding="ascii") == "CPX\n"


def test_the_kernel_log_is_the_same_to_dmesg_and_to_a_reader_of_its_device() -> None:
    log = boot_log(
        _view(faults=[_fault("kernel_log", text="pcieport 0000:00:01.1: AER: x", count=2)]), "6.1.0-40-amd64"
    )
    records = as_records(log).splitlines()
    assert [record.split(";", 1)[1] for record in records] == [line.split("] ", 1)[1] for line in log.splitlines()]
    assert [record.split(",")[1] for record in records] == [str(number) for number in range(len(records))]
    assert sum("AER: x" in record for record in records) == 2


def test_processors_are_amds_and_of_no_guest_whatever_the_fleet_runs_on() -> None:
    text = cpuinfo()
    assert text.count("vendor_id\t: AuthenticAMD\n") == text.count("processor\t: ") == CPUS
    assert "hypervisor" not in text


def test_the_firmware_that_runs_shows_in_dmi_and_in_the_gpus() -> None:
    view, plain = _view(), build_tree(_view())
    view.firmware = {
        "bios_version": "3.5",
        "bios_date": "02/02/2025",
        "vbios": "113-M3000100-103",
        "bundle": "01.25.05.01",
    }
    tree = build_tree(view)
    assert tree.files["devices/virtual/dmi/id/bios_version"] == "3.5\n"
    assert _read(tree, view, 0, "vbios_version") == "113-M3000100-103\n"
    changed = {name for name in ("smc", "sos", "mec") if _version(tree, view, name) != _version(plain, view, name)}
    assert changed == {"smc", "sos"}


def _version(tree: Tree, view: View, name: str) -> str | None:
    return _read(tree, view, 0, f"fw_version/{name}_fw_version")


@pytest.mark.parametrize(
    "off, smt, boost, groups, states",
    [((), "on", "1", True, 3), (("smt", "iommu", "global_cstate", "boost"), "off", "0", False, 2)],
)
def test_what_is_off_in_the_bios_is_off_in_the_kernel(
    off: Any, smt: str, boost: str, groups: bool, states: int
) -> None:
    view = _view()
    view.firmware = {"off": list(off)}
    tree = build_tree(view)
    cpu = "devices/system/cpu"
    assert (tree.files[f"{cpu}/smt/control"], tree.files[f"{cpu}/cpufreq/boost"]) == (f"{smt}\n", f"{boost}\n")
    assert any(path.startswith("kernel/iommu_groups") for path in tree.files) is groups
    assert (
        len([path for path in tree.files if path.startswith(f"{cpu}/cpu0/cpuidle/") and path.endswith("/name")])
        == states
    )
