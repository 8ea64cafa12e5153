# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ledger of the least kind for the admission test: `ledger.py FILE admit NODE,... WAVE`, `... finish NODE`."""

from __future__ import annotations

import os
import sys


def rows(path: str) -> list[list[str]]:
    """Records so far: verb, node and, for an admission, wave."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as stream:
        return [line.split() for line in stream]


def lost(path: str, wave: int) -> list[str]:
    """Nodes that a wave before this one admitted and that never finished."""
    written = rows(path)
    finished = {row[1] for row in written if row[0] == "finish"}
    admitted = [(name, int(row[2])) for row in written if row[0] == "admit" for name in row[1].split(",")]
    return [name for name, number in admitted if number < wave and name not in finished]


def main() -> None:
    """Refuse an admission while a node of an earlier wave is lost; write down everything else."""
    path, *record = sys.argv[1:]
    if record[0] == "admit" and (names := lost(path, int(record[2]))):
        sys.exit(f"not admitted: lost in an earlier wave: {' '.join(names)}")
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(" ".join(record) + "\n")


if __name__ == "__main__":
    main()
