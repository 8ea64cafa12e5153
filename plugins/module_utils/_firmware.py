# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of firmware: what each block's text means, its one canonical form, and the order within a scheme.

There is no order across products or release lines: a bundle 01.25.17.07 of an MI355X is not newer than 01.25.03.12 of
an MI300X. Whoever compares makes sure that both are of one product and of one line.
"""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Callable

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError

# How amd-smi prints a block tells how its number is made up (amdsmi_interface.py, hex_format_fw and dec_format_fw):
# PSP, TA and VCN are bytes in hex, PM and PLDM_BUNDLE are bytes in decimal, all others are one number. The kernel
# prints all of them as 0x%08x (amdgpu_ucode.c), by the names used here.
_OF_BLOCK = {
    **dict.fromkeys(("sos", "asd", "vcn", "uvd", "vce"), "hex_bytes"),
    **dict.fromkeys(("smc", "pldm_bundle"), "dotted"),
    "ifwi": "ifwi",
}
# Names of amd-smi (amdsmi.h, AMDSMI_FW_ID_*) whose block the kernel calls otherwise; SRLC, SRLG and SRLS are the
# lists that the RLC saves and restores.
_NAMES = {
    "cp_mec1": "mec",
    "cp_mec2": "mec2",
    "cp_me": "me",
    "cp_pfp": "pfp",
    "cp_ce": "ce",
    "cp_mes": "mes",
    "cp_mes_kiq": "mes_kiq",
    "sdma0": "sdma",
    "sdma1": "sdma2",
    "pm": "smc",
    "psp_sosdrv": "sos",
    "psp_asd": "asd",
    "rlc_restore_list_cntl": "rlc_srlc",
    "rlc_restore_list_gpm_mem": "rlc_srlg",
    "rlc_restore_list_srm_mem": "rlc_srls",
}
_LARGEST = 2**32 - 1
_NUMBER = re.compile(r"0[xX]([0-9a-fA-F]{1,8})|([0-9]{1,10})")
_HEX_GROUPS = re.compile(r"[0-9a-fA-F]{1,2}(?:\.[0-9a-fA-F]{1,2}){2,3}")
_DECIMAL_GROUPS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){1,7}")
_PI = re.compile(r"PI ?([0-9]{1,6})([A-Z]?)")
_IFWI = re.compile(r"(?:IFWI )?(?:(?P<build>[0-9]{8})|(?P<level>[0-9]{1,4})|(?P<name>[A-Z]{2,4}[0-9]{3,6}[A-Z]?))")
_LEGACY_IFWI = re.compile(r"[0-9]{3}(?:\.[0-9]{3}){3}\.[0-9]{6}")
_PART = re.compile(r"(?=.*[0-9])[A-Z0-9]+(?:-[A-Z0-9_.]+)+")

# Versions of these kinds are the same or other, never older or newer.
_UNORDERED = ("part_number", "name")


def block_of(name: str) -> str:
    """The kernel's name of a firmware block of amd-smi or rocm-smi; its own in lower case where the kernel has none."""
    own = "_".join(name.lower().replace("-", " ").split())
    return _NAMES.get(own, own)


def scheme_of(block: str) -> str:
    """The scheme of a block, named as the kernel names it; ``integer`` for one that is not in the table."""
    return _OF_BLOCK.get(block, "hex_bytes" if block.startswith("ta_") else "integer")


def normalise(scheme: str, text: str) -> str | None:
    """The canonical form of a version; None where the text is not one of the scheme, or says that there is none.

    Leading zeros and the case of letters do not matter, and a number stands for the bytes that it is made of:
    ``0x00360256`` and ``0.36.2.56`` are ``00.36.02.56`` as hex_bytes.

    :raises ParseError: for a scheme that there is none of.
    """
    if scheme not in _SCHEMES:
        raise ParseError(scheme, "no scheme of firmware versions", ", ".join(_SCHEMES))
    stripped = text.strip()
    return _SCHEMES[scheme](stripped) if stripped.isascii() and len(stripped) <= 64 else None


def compare(scheme: str, one: str, other: str) -> int | None:
    """-1, 0 or 1 as the first version is older than, the same as or newer than the other; None where there is no order.

    No order is between part numbers that differ, between the kinds of IFWI (``75``, ``00189939``, the old dotted one,
    ``PRD1000A``), and between groups of which one has more and the other less than four. Otherwise only what both have
    is compared: a BMC tells a fifth group of the bundle.

    :raises ParseError: for a text that is not a version of the scheme.
    """
    first, second = (_order(scheme, text) for text in (one, other))
    if first == second:
        return 0
    (kind, groups), (other_kind, other_groups) = first, second
    alike = kind == other_kind and (len(groups) == len(other_groups) or min(len(groups), len(other_groups)) >= 4)
    if not alike or kind in _UNORDERED:
        return None
    pairs = [(a, b) for a, b in zip(groups, other_groups) if a != b]
    return (-1 if pairs[0][0] < pairs[0][1] else 1) if pairs else 0


def value_of(block: str, text: str, decimal_bytes: bool = False) -> str | None:
    """The canonical form of what a source says about a block.

    :param decimal_bytes: whether groups of this source are decimal for every block, as rocm-smi prints them: its
        27.00.01.60 of TA_RAS is 1B.00.01.3C.
    """
    scheme = scheme_of(block)
    if decimal_bytes and scheme == "hex_bytes" and "." in text:
        return _hex_of_decimal(text.strip())
    value = normalise(scheme, text)
    # Three groups are the version without the program in front, which is 0 where it is left out.
    return f"00.{value}" if value is not None and block == "smc" and value.count(".") == 2 else value


def is_absent(text: str) -> bool:
    """Whether a source says by a zero that the GPU has no such block."""
    return _whole(text.strip()) == 0


def _whole(text: str) -> int | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    number = int(match[1], 16) if match[1] is not None else int(match[2])
    # All ones is what a source writes where it has no version.
    return number if number < _LARGEST else None


def _bytes_of(text: str) -> list[int] | None:
    number = _whole(text)
    return None if number is None else list(number.to_bytes(4, "big"))


def _integer(text: str) -> str | None:
    number = _whole(text)
    return None if number is None else str(number)


def _hex_bytes(text: str) -> str | None:
    groups = _bytes_of(text)
    if groups is None and _HEX_GROUPS.fullmatch(text) and not _cut_wrongly(text.split(".")):
        groups = [int(group, 16) for group in text.split(".")]
    # Before ROCm 6.2.1 a first byte of zero was not printed.
    return None if groups is None else ".".join(f"{byte:02X}" for byte in [0] * (4 - len(groups)) + groups)


def _cut_wrongly(groups: list[str]) -> bool:
    # Before ROCm 6.2.1 a first digit of zero was not printed, and the rest cut into pairs from there: 0x09117009 was
    # 91.17.00.9. It cannot be told from a 91.17.00.09 without its zeros.
    return [len(group) for group in groups] == [2] * (len(groups) - 1) + [1] and groups[0][0] != "0"


def _hex_of_decimal(text: str) -> str | None:
    groups = [int(group) for group in text.split(".")] if _DECIMAL_GROUPS.fullmatch(text) else []
    return ".".join(f"{byte:02X}" for byte in groups) if len(groups) == 4 and max(groups) < 256 else None


def _dotted(text: str) -> str | None:
    groups = _bytes_of(text)
    if groups is None and _DECIMAL_GROUPS.fullmatch(text):
        groups = [int(group) for group in text.split(".")]
    return None if groups is None else ".".join(f"{number:02d}" for number in groups)


def _pi(text: str) -> str | None:
    match = _PI.fullmatch(text.upper())
    return f"PI{int(match[1])}{match[2]}" if match else None


def _ifwi(text: str) -> str | None:
    if _LEGACY_IFWI.fullmatch(text):
        return text
    match = _IFWI.fullmatch(text.upper())
    if match is None:
        return None
    return match["build"] or match["name"] or str(int(match["level"]))


def _part_number(text: str) -> str | None:
    return text.upper() if _PART.fullmatch(text.upper()) else None


_SCHEMES: dict[str, Callable[[str], str | None]] = {
    "integer": _integer,
    "hex_bytes": _hex_bytes,
    "dotted": _dotted,
    "pi": _pi,
    "ifwi": _ifwi,
    "part_number": _part_number,
}


def _order(scheme: str, text: str) -> tuple[str, tuple]:
    """The kind of a version, and what its place among those of its kind rests on."""
    version = normalise(scheme, text)
    if version is None:
        raise ParseError(repr(text[:60]), "not a firmware version", f"one of the scheme {scheme}")
    if scheme == "ifwi":
        return _order_of_ifwi(version)
    if scheme == "part_number":
        # AMD's own lists leave out the class of the part, which is 113 for the image of a board.
        return scheme, (version[4:] if version.startswith("113-") else version,)
    if scheme == "pi":
        number = version[2:].rstrip(ascii_uppercase)
        return scheme, (int(number), version[2 + len(number) :])
    return scheme, tuple(int(group, 16 if scheme == "hex_bytes" else 10) for group in version.split("."))


def _order_of_ifwi(version: str) -> tuple[str, tuple]:
    if not version.replace(".", "").isdecimal():
        return "name", (version,)
    kind = "dotted" if "." in version else "build" if len(version) == 8 else "level"
    return kind, tuple(int(group) for group in version.split("."))
