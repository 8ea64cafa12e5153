# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next boot comes to: from grub's defaults to /proc/cmdline, from the initramfs to the loaded driver."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from simfleet.boot import another_kernel, cpio_members, first_entry, modinfo, module_options, next_boot
from simfleet.errors import SimfleetError

PROGRAMS = Path(__file__).parents[2] / "simfleet" / "node" / "bin"
KERNEL = "6.1.0-57-amd64"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("boot", "etc/default/grub.d", "etc/modprobe.d"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / f"boot/vmlinuz-{KERNEL}").touch()
    return tmp_path


def _run(root: Path, program: str, *words: str) -> str:
    environment = {**os.environ, "SYSROOT": str(root)}
    done = subprocess.run([PROGRAMS / program, *words], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def _elf(*sections: bytes) -> bytes:
    """An object file with the sections `.modinfo` and `.shstrtab` and nothing else."""
    start, rows = 64 + 3 * 64, [(0, 0, 0, 0)]
    for name, content in zip((1, 10), sections, strict=True):
        rows.append((name, 1, start, len(content)))
        start += len(content)
    header = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    header += struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 2)
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0) for name, kind, at, size in rows
    )
    return header + table + b"".join(sections)


def _module(root: Path, place: str, *texts: str) -> None:
    path = root / f"usr/lib/modules/{KERNEL}" / place / "amdgpu.ko"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_elf("\0".join([*texts, ""]).encode(), b"\0.modinfo\0.shstrtab\0"))


def _next_version(root: Path) -> str | None:
    driver = next_boot(root)[1]
    assert driver is not None
    return driver.version


def _grub(root: Path, text: str, **drop_ins: str) -> list[str]:
    (root / "etc/default/grub").write_text(text, encoding="utf-8")
    for name, more in drop_ins.items():
        (root / f"etc/default/grub.d/{name}.cfg").write_text(more, encoding="utf-8")
    _run(root, "update-grub")
    return first_entry((root / "boot/grub/grub.cfg").read_text(encoding="utf-8")).cmdline


def test_grub_puts_linux_before_default_as_grub_mkconfig_does(root: Path) -> None:
    words = _grub(root, 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="iommu=pt"\n')
    assert words == [f"BOOT_IMAGE=/boot/vmlinuz-{KERNEL}", "root=/dev/nvme0n1p2", "ro", "iommu=pt", "quiet"]


def test_a_drop_in_is_read_after_the_file_and_may_build_on_it(root: Path) -> None:
    more = 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX pcie_aspm=off"\n'
    words = _grub(root, 'GRUB_CMDLINE_LINUX="iommu=pt"\n', zz=more, aa='GRUB_CMDLINE_LINUX="pci=bfsort"\n')
    assert words[3:] == ["pci=bfsort", "pcie_aspm=off"]


def test_the_newest_kernel_is_the_first_entry(root: Path) -> None:
    for kernel in ("6.1.0-9-amd64", "6.1.0-100-amd64"):
        (root / f"boot/vmlinuz-{kernel}").touch()
    assert _grub(root, "")[0] == "BOOT_IMAGE=/boot/vmlinuz-6.1.0-100-amd64"


def test_a_grub_cfg_without_an_entry_stops_the_boot() -> None:
    with pytest.raises(SimfleetError, match="no `linux` line"):
        first_entry("# empty\n")


def test_the_driver_of_the_next_boot_is_the_one_in_the_initramfs(root: Path) -> None:
    _grub(root, "")
    _module(root, "updates/dkms", "version=6.12.12", "srcversion=AB12")
    _run(root, "update-initramfs", "-u", "-k", "all")
    _module(root, "updates/dkms", "version=6.14.14")
    entry, driver = next_boot(root)
    assert entry.kernel == KERNEL
    assert driver is not None
    assert (driver.version, driver.srcversion) == ("6.12.12", "AB12")


def test_the_dkms_module_goes_before_the_kernels_own(root: Path) -> None:
    _module(root, "kernel/drivers/gpu/drm/amd/amdgpu", "description=AMD GPU")
    _run(root, "update-initramfs", "-c", "-k", KERNEL)
    _grub(root, "")
    before = _next_version(root)
    _module(root, "updates/dkms", "version=6.12.12")
    _run(root, "update-initramfs", "-u", "-k", KERNEL)
    assert (before, _next_version(root)) == (None, "6.12.12")


def test_a_damaged_initramfs_leaves_the_module_on_the_disk(root: Path) -> None:
    _grub(root, "")
    _module(root, "updates/dkms", "version=6.12.12")
    (root / f"boot/initrd.img-{KERNEL}").write_bytes(b"\x1f\x8b broken")
    assert _next_version(root) == "6.12.12"


@pytest.mark.parametrize("text, cmdline", [("", "modprobe.blacklist=nouveau,amdgpu"), ("blacklist amdgpu\n", "")])
def test_a_blacklisted_driver_is_not_loaded(root: Path, text: str, cmdline: str) -> None:
    _grub(root, f'GRUB_CMDLINE_LINUX="{cmdline}"\n')
    _module(root, "updates/dkms", "version=6.12.12")
    (root / "etc/modprobe.d/x.conf").write_text(text, encoding="ascii")
    assert next_boot(root)[1] is None


def test_module_options_come_from_files_and_from_the_command_line() -> None:
    texts = {"a.conf": "options amdgpu aspm=0 dpm=1 # why\noptions other x=1\n"}
    options, blocked = module_options(texts, ["quiet", "amdgpu.dpm=0"])
    assert options == {"aspm": "0", "dpm": "0"}
    assert not blocked


def test_the_initramfs_is_an_archive_that_lists_what_went_in(root: Path) -> None:
    _module(root, "updates/dkms", "version=6.12.12")
    (root / "etc/modprobe.d/amdgpu.conf").write_text("options amdgpu aspm=0\n", encoding="ascii")
    _run(root, "update-initramfs", "-u", "-k", "all")
    image = root / f"boot/initrd.img-{KERNEL}"
    names = _run(root, "lsinitramfs", str(image)).split()
    assert f"usr/lib/modules/{KERNEL}/updates/dkms/amdgpu.ko" in names
    assert cpio_members(image.read_bytes())["etc/modprobe.d/amdgpu.conf"] == b"options amdgpu aspm=0\n"


def test_what_is_no_module_has_no_modinfo() -> None:
    assert modinfo(b"not a module") == {}


def test_another_kernel_than_the_boot_loader_says_has_the_driver_only_where_one_is_on_its_disk(root: Path) -> None:
    _module(root, "updates/dkms", "version=6.14.14", "srcversion=AB")
    entry = first_entry(f"linux /boot/vmlinuz-{KERNEL} ro\n")
    other, driver = another_kernel(root, entry, "5.10.0-9-amd64")
    assert (other.kernel, driver) == ("5.10.0-9-amd64", None)
    assert other.cmdline == ["BOOT_IMAGE=/boot/vmlinuz-5.10.0-9-amd64", "ro"]
    same, driver = another_kernel(root, entry, KERNEL)
    assert (same, driver and driver.version) == (entry, "6.14.14")
