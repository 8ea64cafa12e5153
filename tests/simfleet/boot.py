# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the next boot of a node comes to, read from what is installed on it: command line, kernel, driver. Pure."""

from __future__ import annotations

import gzip
import hashlib
import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path

from simfleet.errors import SimfleetError
from simfleet.sysfs import Driver


@dataclass(frozen=True)
class Entry:
    """The first entry of grub.cfg: what the boot loader would start."""

    kernel: str
    image: str
    words: tuple[str, ...]

    @property
    def cmdline(self) -> list[str]:
        """The words of /proc/cmdline."""
        return [f"BOOT_IMAGE={self.image}", *self.words]


def first_entry(grub_cfg: str) -> Entry:
    """Read the first `linux` line; raises SimfleetError when there is none, as a machine would stop at the prompt."""
    found = re.search(r"^\s*linux\s+(\S+)[ \t]*(.*)$", grub_cfg, re.M)
    if found is None:
        raise SimfleetError("grub.cfg has no `linux` line: the node would stop at the boot loader's prompt")
    image = found[1]
    return Entry(image.rpartition("/vmlinuz-")[2], image, tuple(found[2].split()))


def cpio_members(data: bytes) -> dict[str, bytes]:
    """The files of a newc archive (gzip or plain), by name; what is cut off at the end is left out."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    members: dict[str, bytes] = {}
    place = 0
    while data[place : place + 6] == b"070701":
        size, length = (int(data[place + 6 + 8 * n : place + 14 + 8 * n], 16) for n in (6, 11))
        name = data[place + 110 : place + 109 + length].decode()
        if name == "TRAILER!!!":
            break
        start = place + (110 + length + 3) // 4 * 4
        members[name] = data[start : start + size]
        place = start + (size + 3) // 4 * 4
    return members


def modinfo(module: bytes) -> dict[str, str]:
    """The key=value texts of the `.modinfo` section of a kernel module (64-bit ELF, little endian)."""
    if module[:4] != b"\x7fELF":
        return {}
    (table,) = struct.unpack_from("<Q", module, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", module, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", module, table + size * number) for number in range(count)]
    names = headers[names_at][4]
    for name, _kind, _flags, _address, offset, length in headers:
        end = module.index(b"\0", names + name)
        if module[names + name : end] == b".modinfo":
            texts = module[offset : offset + length].split(b"\0")
            return dict(text.decode(errors="replace").partition("=")[::2] for text in texts if text)
    return {}


def driver_of(module: bytes, options: dict[str, str]) -> Driver:
    """The driver that loading this module file gives."""
    facts = modinfo(module)
    source = facts.get("srcversion") or hashlib.sha256(module).hexdigest()[:23].upper()
    return Driver(facts.get("version"), source, options)


def module_options(texts: dict[str, str], cmdline: list[str]) -> tuple[dict[str, str], bool]:
    """Options for amdgpu from modprobe.d texts and the command line, and whether it is blacklisted."""
    options: dict[str, str] = {}
    blocked = any(
        "amdgpu" in word.partition("=")[2].split(",") for word in cmdline if word.startswith("modprobe.blacklist=")
    )
    for _, text in sorted(texts.items()):
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if words[:2] == ["options", "amdgpu"]:
                options |= dict(word.partition("=")[::2] for word in words[2:])
            blocked = blocked or words[:2] == ["blacklist", "amdgpu"]
    options |= dict(word[len("amdgpu.") :].partition("=")[::2] for word in cmdline if word.startswith("amdgpu."))
    return options, blocked


def _module_on_disk(root: Path, kernel: str) -> bytes | None:
    base = root / "usr/lib/modules" / kernel
    for place in ("updates/dkms/amdgpu.ko", "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"):
        if (base / place).is_file():
            return (base / place).read_bytes()
    return None


def _texts(root: Path) -> dict[str, str]:
    return {path.name: path.read_text(errors="replace") for path in (root / "etc/modprobe.d").glob("*.conf")}


def load_now(root: Path, kernel: str, cmdline: list[str]) -> Driver | None:
    """What `modprobe amdgpu` loads in the running node: the module on the disk, blacklist or not."""
    module = _module_on_disk(root, kernel)
    options, _ = module_options(_texts(root), cmdline)
    return None if module is None else driver_of(module, options)


def next_boot(root: Path) -> tuple[Entry, Driver | None]:
    """What a boot from this root starts: the boot entry and the driver that its initramfs (else the disk) brings."""
    entry = first_entry((root / "boot/grub/grub.cfg").read_text(encoding="utf-8"))
    try:
        members = cpio_members((root / f"boot/initrd.img-{entry.kernel}").read_bytes())
    except (OSError, gzip.BadGzipFile, EOFError, ValueError):
        members = {}
    modules = [data for name, data in members.items() if name.endswith("/amdgpu.ko")]
    module = modules[0] if modules else _module_on_disk(root, entry.kernel)
    options, blocked = module_options(_texts(root), entry.cmdline)
    return entry, None if blocked or module is None else driver_of(module, options)


def another_kernel(root: Path, entry: Entry, kernel: str) -> tuple[Entry, Driver | None]:
    """The same boot with another kernel, as a boot loader may start it; the driver is what is on the disk for it."""
    other = replace(entry, kernel=kernel, image=f"/boot/vmlinuz-{kernel}")
    return other, load_now(root, kernel, other.cmdline)
