# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Firmware images of the simulated makers: a small container of our own, so that nobody mistakes one for real."""

from __future__ import annotations

import hashlib
import json
from typing import Any

MAGIC = b"SIMFW1\n"


class BadImage(ValueError):
    """What was uploaded is no image, or its payload is damaged."""


def make_image(
    component: str,
    version: str,
    product: str | None = None,
    part_number: str | None = None,
    size: int = 4096,
    **more: Any,
) -> bytes:
    """An image for one component (`bmc`, `bios`, `gpu`, `cpld`) of `size` bytes of payload.

    `product` and `part_number` of None fit every node. `more` may hold `vbios` (GPU bundle: the VBIOS part number that
    the node shows afterwards), `bios_date` (mm/dd/yyyy) and `min_from` (the oldest version it can be put over).
    """
    seed = hashlib.sha256(f"{component}/{version}/{product}".encode()).digest()
    payload = (seed * (size // len(seed) + 1))[:size]
    header = {"component": component, "version": version, "product": product, "part_number": part_number, **more}
    header["payload_sha256"] = hashlib.sha256(payload).hexdigest()
    return MAGIC + json.dumps(header, sort_keys=True).encode() + b"\n" + payload


def read_image(data: bytes) -> dict[str, Any]:
    """The header of an image; raises BadImage when it is none, is cut off or damaged."""
    if not data.startswith(MAGIC):
        raise BadImage("the file is no firmware image")
    line, _, payload = data[len(MAGIC) :].partition(b"\n")
    try:
        header: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise BadImage("the header of the image cannot be read") from error
    if hashlib.sha256(payload).hexdigest() != header.get("payload_sha256"):
        raise BadImage("the payload of the image is damaged")
    return header
