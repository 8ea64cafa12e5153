# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The configuration space of a PCI function, so that the node's own lspci can read it. Pure."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfleet.pci import Bus, Function

_SPEED_CODE = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_PM, _EXP = 0x40, 0x50
_ROOT, _UP, _DOWN, _ENDPOINT = 4, 5, 6, 0


def _kind(function: Function, bus: Bus) -> int:
    if not function.is_bridge:
        return _ENDPOINT
    if function.parent is None:
        return _ROOT
    return _UP if _kind(bus[function.parent], bus) in (_ROOT, _DOWN) else _DOWN


def _span(function: Function, bus: Bus) -> tuple[int, int]:
    below = [item for item in bus.values() if item.parent == function.bdf]
    if not below:
        return int(function.bdf[5:7], 16) + 1, int(function.bdf[5:7], 16) + 1
    number = int(below[0].bdf[5:7], 16)
    return number, max([number, *(_span(item, bus)[1] for item in below if item.is_bridge)])


def _header(function: Function, bus: Bus) -> bytearray:
    space = bytearray(4096)
    chip = function.chip
    struct.pack_into("<HHHH", space, 0, int(chip.vendor, 16), int(chip.device, 16), 0x0406, 0x0010)
    space[9:12] = bytes.fromhex(chip.pci_class)[::-1]
    space[0x34] = _PM
    if function.is_bridge:
        space[0x0E] = 1
        secondary, subordinate = _span(function, bus)
        space[0x18:0x1B] = bytes([int(function.bdf[5:7], 16), secondary, subordinate])
    else:
        struct.pack_into("<HH", space, 0x2C, int(chip.subsystem[0], 16), int(chip.subsystem[1], 16))
    return space


def _express(space: bytearray, function: Function, kind: int, aspm: bool) -> None:
    chip = function.chip
    space[_PM : _PM + 8] = bytes([0x01, _EXP, 0x03, 0x00, 0, 0, 0, 0])
    struct.pack_into("<BBH", space, _EXP, 0x10, 0, 2 | kind << 4)
    struct.pack_into("<I", space, _EXP + 0x04, 0x8002)  # 512 byte payload, role based error reporting
    struct.pack_into("<HH", space, _EXP + 0x08, 0x5C30, 0)
    capability = _SPEED_CODE[chip.gts] | chip.width << 4 | (0x3 if aspm else 0) << 10 | 1 << 22
    struct.pack_into("<I", space, _EXP + 0x0C, capability)
    struct.pack_into(
        "<HH", space, _EXP + 0x10, 0x0040, _SPEED_CODE.get(function.gts, 0) | function.width << 4 | 1 << 12
    )
    struct.pack_into("<I", space, _EXP + 0x24, 0x00010000)  # ten bit tag completer
    struct.pack_into("<I", space, _EXP + 0x2C, ((1 << _SPEED_CODE[chip.gts]) - 1) << 1)
    struct.pack_into("<HH", space, _EXP + 0x30, _SPEED_CODE[chip.gts], 0x001E)


def config_space(function: Function, bus: Bus, aspm_off: bool) -> bytes:
    """4096 bytes: header, power management, PCI Express with the link's true state, AER."""
    space = _header(function, bus)
    _express(space, function, _kind(function, bus), aspm=not aspm_off)
    struct.pack_into("<I", space, 0x100, 0x0001 | 2 << 16)
    return bytes(space)
