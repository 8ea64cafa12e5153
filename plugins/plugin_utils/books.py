# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledgers below a fleet directory, for who proves or exports them: one that does not open must not be left out."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import ledger_export
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import nearest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import LedgerError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rollout import ledger_path


def every(fleet_dir: str) -> list[Path]:
    """Where the ledger of each rollout should be, by name of the rollout; one that was taken away is among them.

    :raises FleetError: no rollout was ever started there.
    """
    folder = Path(os.path.abspath(fleet_dir)) / "rollouts"
    found = {path.parent for name in ("ledger.sqlite", "plan.json") for path in folder.glob(f"*/{name}")}
    if not found:
        raise FleetError(fleet_dir, "no rollout was ever started here", "a rollout", "give -e fleet_dir=DIR")
    return [ledger_path(directory) for directory in sorted(found)]


def newest(fleet_dir: str) -> list[Path]:
    """The ledger of the newest rollout, and before it each whose date cannot be read: that one may be newer."""
    dated, undated = [], []
    for path in every(fleet_dir):
        try:
            dated.append((Ledger.at(path).begun_at(), path))
        except (LedgerError, TypeError):  # TypeError: the row is gone
            undated.append(path)
    return [*undated, *(path for _begun, path in sorted(dated)[-1:])]


def named(fleet_dir: str, name: str) -> Path:
    """The ledger of a rollout.

    :param name: its plan id, or the path of its plan file.
    :raises FleetError: there is no such rollout.
    """
    found = {path.parent.name: path for path in every(fleet_dir)}
    wanted = Path(name).stem
    if wanted not in found:
        raise FleetError(f"rollout {name}", "was never started", nearest(wanted, found), "correct the name")
    return found[wanted]


def verify(paths: list[Path]) -> dict[str, list[str]]:
    """What is wrong with each ledger: sentences that name the row; none for a whole one."""
    return {str(path): Ledger.verify(path) for path in paths}


def verify_export(path: str) -> list[str]:
    """What is wrong with a file of JSON lines; FleetError where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
            return ledger_export.faults(lines)
    except OSError as error:
        raise FleetError(path, f"cannot be read: {error.strerror}", "an export of a ledger", "correct -e exported=FILE"
                         ) from error  # fmt: skip


def sum_up(found: dict[str, list[str]]) -> str:
    """The files that are damaged, each with its first fault; an empty text for none."""
    bad = {path: faults for path, faults in found.items() if faults}
    named = [f"{path}: {faults[0]}" + (f" (and {len(faults) - 1} more)" if faults[1:] else "")
             for path, faults in bad.items()]  # fmt: skip
    return f"{len(bad)} of {len(found)} damaged: {'; '.join(named)}" if bad else ""


def stamp(path: Path) -> list[str]:
    """A file in one line, without its contents: digest and mode; none where there is no such file.

    :raises FleetError: it is there and cannot be read.
    """
    try:
        return [stamp_of(path.read_bytes(), path.stat().st_mode & 0o7777)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FleetError(
            str(path), f"cannot be read: {error.strerror}", "a file", "name another: -e to=FILE"
        ) from error


def stamp_of(content: bytes, mode: int) -> str:
    """The same line for what a file is to be."""
    return f"sha256:{hashlib.sha256(content).hexdigest()} mode {mode:04o}"
