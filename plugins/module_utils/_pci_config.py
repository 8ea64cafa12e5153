# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The PCI configuration space of a device: what its PCI Express capability says about the link. Pure.

A reader that is not root gets the first 64 bytes only, and a device that fell off the bus reads as all ones: neither
says anything about the link, and both are told apart.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import speed_of_code, width_of_code

# The part that capabilities lie in; what comes after it (AER and others) is not read.
SIZE = 256
_HEADER = 64
_EXPRESS = 0x10
_HAS_CAPABILITIES = 0x10
# Pointers are multiples of four above the header: no list is longer, whatever a damaged one says.
_LONGEST = (SIZE - _HEADER) // 4
_PORTS = {
    0: "endpoint",
    1: "legacy_endpoint",
    4: "root_port",
    5: "upstream_port",
    6: "downstream_port",
    7: "bridge_to_pci",
    8: "bridge_from_pci",
    9: "integrated_endpoint",
    10: "event_collector",
}
# These sit inside the root complex and have no link.
_WITHOUT_LINK = frozenset({9, 10})
_ERRORS = ("correctable", "nonfatal", "fatal", "unsupported")


class Express(NamedTuple):
    """Registers of the PCI Express capability; None where one is not there, reads as all ones, or says what cannot be.

    Speeds are GT/s, widths lanes. ``aspm`` are the states that are switched on, ``aspm_supported`` those the device
    has, both out of ``l0s`` and ``l1``. ``autonomous`` is false where the hardware may not change the speed by itself.
    ``errors`` are the sticky bits of the device status: correctable, nonfatal, fatal, unsupported.
    """

    port: str | None = None
    speed_gts: float | None = None
    width: int | None = None
    max_speed_gts: float | None = None
    max_width: int | None = None
    target_speed_gts: float | None = None
    autonomous: bool | None = None
    active: bool | None = None
    aspm: tuple[str, ...] | None = None
    aspm_supported: tuple[str, ...] | None = None
    errors: tuple[str, ...] | None = None


class ConfigSpace(NamedTuple):
    """What a configuration space says.

    ``answers`` is false where the device reads as all ones, None where nothing could be read. ``vendor_id`` and
    ``device_id`` are four hex digits. ``reason`` says why there are no ``express`` registers; None where there are.
    """

    answers: bool | None
    vendor_id: str | None
    device_id: str | None
    express: Express
    reason: str | None


def parse_config(data: bytes) -> ConfigSpace:
    """What the first bytes of a configuration space say; never raises."""
    if len(data) < _HEADER:
        return _silent(f"the configuration space ends after {len(data)} bytes")
    if not any(data[:_HEADER]):
        return _silent("the configuration space reads as all zeros")
    # A virtual function has all ones for its vendor as well: only its header type tells it from a device that is gone.
    if data[0:2] == b"\xff\xff" and data[0x0E] == 0xFF:
        return ConfigSpace(False, None, None, Express(), "the device does not answer: it reads as all ones")
    vendor, device, _command, status = struct.unpack_from("<HHHH", data)
    ids = [None if number == 0xFFFF else f"{number:04x}" for number in (vendor, device)]
    express, reason = _express(data, status)
    return ConfigSpace(True, ids[0], ids[1], express, reason)


def unread(reason: str) -> ConfigSpace:
    """The same for a configuration space that could not be read at all."""
    return _silent(reason)


def _silent(reason: str) -> ConfigSpace:
    return ConfigSpace(None, None, None, Express(), reason)


def _express(data: bytes, status: int) -> tuple[Express, str | None]:
    if not status & _HAS_CAPABILITIES:
        return Express(), "the device has no list of capabilities"
    place = _place_of(data, _EXPRESS)
    if place is not None:
        return _registers(data, place), None
    if len(data) < SIZE:
        return Express(), f"only the first {len(data)} bytes can be read, all of them by root only"
    return Express(), "no PCI Express capability in the list, or the list is damaged"


def _place_of(data: bytes, wanted: int) -> int | None:
    # The card bus bridge is the one kind of header that keeps the pointer elsewhere.
    pointer = data[0x14 if data[0x0E] & 0x7F == 2 else 0x34] & 0xFC
    for _step in range(_LONGEST):
        if pointer < _HEADER or pointer + 2 > len(data):
            return None
        if data[pointer] == wanted:
            return pointer
        pointer = data[pointer + 1] & 0xFC
    return None


def _registers(data: bytes, place: int) -> Express:
    kind = _field(data, place + 0x02, "<H")
    if kind is None:
        return Express()
    port, version = (kind >> 4) & 0xF, kind & 0xF
    device_status = _field(data, place + 0x0A, "<H")
    errors = None if device_status is None else _named(device_status, _ERRORS)
    if port in _WITHOUT_LINK:
        return Express(port=_PORTS[port], errors=errors)
    control2 = _field(data, place + 0x30, "<H") if version >= 2 else None
    return _link(data, place)._replace(
        port=_PORTS.get(port),
        errors=errors,
        target_speed_gts=None if control2 is None else speed_of_code(control2 & 0xF),
        autonomous=None if control2 is None else not control2 >> 5 & 1,
    )


def _link(data: bytes, place: int) -> Express:
    capable = _field(data, place + 0x0C, "<I")
    control = _field(data, place + 0x10, "<H")
    state = _field(data, place + 0x12, "<H")
    return Express(
        speed_gts=None if state is None else speed_of_code(state & 0xF),
        width=None if state is None else width_of_code(state >> 4 & 0x3F),
        active=None if state is None else bool(state >> 13 & 1),
        max_speed_gts=None if capable is None else speed_of_code(capable & 0xF),
        max_width=None if capable is None else width_of_code(capable >> 4 & 0x3F),
        aspm_supported=None if capable is None else _named(capable >> 10, ("l0s", "l1")),
        aspm=None if control is None else _named(control, ("l0s", "l1")),
    )


def _field(data: bytes, place: int, form: str) -> int | None:
    """A register; None where it lies beyond the end or reads as all ones, which none of those read here can be."""
    size = struct.calcsize(form)
    if place + size > len(data) or data[place : place + size] == b"\xff" * size:
        return None
    return struct.unpack_from(form, data, place)[0]


def _named(bits: int, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for index, name in enumerate(names) if bits >> index & 1)
