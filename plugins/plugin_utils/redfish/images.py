# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image on the controller: is it the one that was meant? Reads the file in blocks, and runs the operator's check."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.recovery import run_command
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError

_BLOCK = 1 << 20
PLACE = "{image}"


def proven(
    wanted: Iterable[Mapping[str, Any]], folder: str, node: str
) -> tuple[list[dict[str, Any]], list[int | None]]:
    """Rows with the paths of their images, and the sizes, once each image is the one that was meant.

    :raises BmcError: one is not; nothing has been sent.
    """
    rows = [placed(wish, folder) for wish in wanted]
    return rows, [prove(row, node) for row in rows]


def placed(wish: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The row with the path of its image as it is from here; a relative one lies in the folder."""
    return {**wish, "image": os.path.join(folder, wish["image"]) if wish["image"] else None}


def prove(wish: Mapping[str, Any], node: str) -> int | None:
    """The size of the image, once its SHA-256 is proven, and its signature where one is asked for.

    :returns: None where only the BMC fetches the image.
    :raises BmcError: it is not; nothing has been sent.
    """
    path = wish["image"]
    if not path:
        return None
    try:
        seen, size = _digest(path), os.path.getsize(path)
    except OSError as problem:
        raise BmcError(
            "no_image", path, f"cannot be read: {problem.strerror}", "an image", "correct image"
        ) from problem
    if seen != wish["sha256"]:
        raise BmcError(
            "wrong_image",
            path,
            f"its SHA-256 is {seen}",
            str(wish["sha256"]),
            "fetch the image again; it is damaged, or another one",
        )
    command = [word.replace(PLACE, path) for word in wish["signature"]]
    failed = run_command(command, node) if command else ""
    if failed:
        raise BmcError("bad_signature", path, failed, "a signature that holds", "do not use this image")
    return size


def _digest(path: str) -> str:
    made = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(_BLOCK):
            made.update(block)
    return made.hexdigest()
