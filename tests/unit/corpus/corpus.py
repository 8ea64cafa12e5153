# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded outputs of real machines beside some checkouts, in ../shared/corpus; used where they are, never needed."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parents[3]


def folder() -> Path | None:
    """The folder of recordings, or None where there is none."""
    checkout = Path(os.environ.get("FLEETOPS_CHECKOUT") or _HERE)
    places = [checkout.parent / "shared" / "corpus", _HERE.parent / "shared" / "corpus"]
    return next((place for place in places if (place / "INDEX.md").is_file()), None)


def corpus() -> Path:
    """The folder of recordings; a test that asks for it is skipped where there is none."""
    found = folder()
    if found is None:
        pytest.skip("no recordings beside the checkout (../shared/corpus); the machines in tests/fixtures stand alone")
    return found


def names(kind: str) -> list[str]:
    """Paths of all files of a kind ("lspci", "smi", "dmesg" ...), relative to the folder; none where there is none."""
    found = folder()
    return sorted(str(path.relative_to(found)) for path in (found / kind).rglob("*") if path.is_file()) if found else []


def text(name: str) -> str:
    """A recording as text."""
    return (corpus() / name).read_bytes().decode("utf-8", "replace")


def members(name: str) -> dict[str, bytes]:
    """The regular files in a recorded archive, by their path in it."""
    with tarfile.open(fileobj=io.BytesIO((corpus() / name).read_bytes())) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in files}
