# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a reboot: stable words, the error that carries one, and the state that a node is in after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

# In the result of the task, in brackets at the end of what was seen, and in the data of the ledger's event. Stable.
DIAGNOSES = (
    "rebooted",
    "refused",
    "loop",
    "no_answer",
    "ignored",
    "doubled",
    "wrong_kernel",
    "not_younger",
    "flapping",
    "host_key_changed",
    "never_back",
)
# What says nothing about the node that an automatic way back, or a power cycle, could rest on: a person has to look.
INCONCLUSIVE = frozenset(
    ("no_answer", "not_younger", "flapping", "host_key_changed", "never_back", "firmware_unproven")
)


class NotRebooted(FleetError):
    """A reboot that is not proven.

    :param diagnosis: one of ``DIAGNOSES``, but not ``rebooted``.
    :param evidence: what the diagnosis rests on, plain data for the result of the task.
    """

    def __init__(
        self,
        diagnosis: str,
        subject: str,
        seen: str,
        wanted: str = "",
        fix: str = "",
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        self.diagnosis, self.evidence = diagnosis, dict(evidence or {})
        super().__init__(subject, f"{seen} [{diagnosis}]", wanted, fix)


class Recovered(NamedTuple):
    """What a recovery of a silent node came to.

    :param failed: why nothing was done for it that is worth waiting for; empty where something was.
    :param told: what was done, in words; may be empty.
    """

    failed: str = ""
    told: str = ""


def state_after(failure: Mapping[str, Any] | None) -> str:
    """The state of a node whose step failed: ``inconclusive`` where a person has to look first, else ``failed``.

    :param failure: the result of the failed task; None, or one without a diagnosis, is an ordinary failure.
    """
    return "inconclusive" if (failure or {}).get("diagnosis") in INCONCLUSIVE else "failed"


def data_of(failure: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the ledger keeps of the result of a failed task: its diagnosis and evidence, empty where it has none."""
    return {key: failure[key] for key in ("diagnosis", "evidence") if failure and failure.get(key)}
