# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Speed and width of PCI Express links, as the kernel prints them and as registers encode them."""

from __future__ import annotations

import re

_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s(?: PCIe)?")
_GENERATION = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
# Generations 1 and 2 send 10 bits for 8; later ones lose less than two percent.
_EFFICIENCY = {2.5: 0.8, 5.0: 0.8}
_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
_LEVEL = re.compile(
    r"[0-9]{1,3}: ([0-9]{1,3}(?:\.[0-9])?)G(?:T/s|B), x([0-9]{1,3})(?: +[0-9]{1,6}Mhz)?( +\*)?", re.IGNORECASE
)


def parse_speed(text: str) -> float | None:
    """GT/s of ``"32.0 GT/s PCIe"`` or ``"8 GT/s"``; None for ``Unknown`` and for a speed that no generation has."""
    match = _SPEED.fullmatch(_bare(text))
    return known_speed(match[1]) if match else None


def parse_width(text: str) -> int | None:
    """Lanes; None for 0, 255 and everything else a link cannot be made of (a dead device reads as all ones)."""
    return next((width for width in _WIDTHS if _bare(text) == str(width)), None)


def known_speed(number: str) -> float | None:
    """The speed in GT/s of a number without a unit; None where no generation has it."""
    try:
        speed = float(number)
    except ValueError:
        return None
    return speed if speed in _GENERATION else None


def speed_of_code(code: int) -> float | None:
    """GT/s of the four bits that link registers use; None for a code that no generation has, such as 15."""
    return next((speed for speed, number in _GENERATION.items() if number == code), None)


def width_of_code(code: int) -> int | None:
    """Lanes of the six bits that link registers use; None for a code that is no width, such as 63."""
    return code if code in _WIDTHS else None


def parse_levels(text: str) -> list[dict] | None:
    """Levels of ``pp_dpm_pcie`` (``1: 16.0GT/s, x8 1143Mhz *``): ``{"speed_gts", "width", "active"}`` each.

    None where there are none, or one of them is not understood: what power saving may do is then not known.
    """
    lines = [line.strip() for line in _bare(text).splitlines() if line.strip()]
    matches = [_LEVEL.fullmatch(line) for line in lines]
    levels = [
        {"speed_gts": known_speed(match[1]), "width": parse_width(match[2]), "active": bool(match[3])}
        for match in matches
        if match
    ]
    whole = len(levels) == len(lines) and all(level["speed_gts"] and level["width"] for level in levels)
    return levels if levels and whole else None


def partner(path: list, index: int) -> int:
    """Index of the hop at the other end of a hop's link, in a path from the GPU up to the root port.

    GPU and port, upper port and port: the ends of a link come in pairs. Where a hop is missing the pairs cannot be
    told, and the hop above stands in.
    """
    return index ^ 1 if len(path) % 2 == 0 else min(index + 1, len(path) - 1)


def generation(gts: float | None) -> int | None:
    """PCI Express generation of a speed in GT/s: 8.0 is 3, 16.0 is 4, 32.0 is 5; None where no generation has it."""
    return _GENERATION.get(gts) if gts is not None else None


def describe(gts: float | None) -> str:
    """``"32.0 GT/s (Gen5)"``, or ``"unknown"``."""
    number = generation(gts)
    return f"{gts:.1f} GT/s (Gen{number})" if number else "unknown"


def bandwidth(speed_gts: float | None, width: int | None) -> float | None:
    """What a link carries, in Gbit/s one way; None where speed or width is not known."""
    if speed_gts is None or width is None:
        return None
    return speed_gts * width * _EFFICIENCY.get(speed_gts, 128 / 130)


def narrowest(hops: list[dict]) -> dict | None:
    """The hop (``speed_gts``, ``width``) that carries least, the first of equals; None where no hop is readable.

    Hops that cannot be read are passed over, so a caller that must not pass on no data looks for them itself.
    """
    readable = [hop for hop in hops if bandwidth(hop.get("speed_gts"), hop.get("width")) is not None]
    return min(readable, key=lambda hop: bandwidth(hop["speed_gts"], hop["width"]) or 0.0, default=None)


def _bare(text: object) -> str:
    # Some kernels hand out whole pages: the text, and NULs up to the end.
    return str(text).rstrip("\0 \t\n").strip()
