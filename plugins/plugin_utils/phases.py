# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look at a node has to show in each phase of a rollout, and what is kept of it.

audit      anything: it is written down.
precheck   the node may be moved (or is at target); its facts are kept as "before", once. Of a node that an earlier run
           of this rollout left half changed it only wants an answer: the steps mend it, and verify proves it.
verify     the node is at target, healthy, still in the boot that was proven, and nothing changed but what the plan
           changes.
soak       the same as verify, looked at again.
verify_old the node is what it was before.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils.fingerprint import (
    booted_again,
    compare_before_after,
    restorable_facts,
    without_firmware,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import before_path, write_json
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils import ledger, rollout
else:  # no audit needs them
    ledger = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger")
    rollout = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.rollout")

PHASES = ("audit", "precheck", "verify", "soak", "verify_old")
ADVICE = frozenset(rule.id for rule in RULES if not rule.deciding)
SHOWN = 8  # a driver that is not there makes every GPU of the node a trouble or three
PLANNED_CHANGES = ("driver", "rocm", "cmdline", "firmware")


class Store:
    """Where a rollout keeps what a node looked like before it was touched."""

    def __init__(self, fleet_dir: str, rollout_dir: str | None, node: str) -> None:
        self.node = node
        self.before = Path(before_path(rollout_dir or fleet_dir, node))
        self.rollout_dir = rollout_dir
        self._boot_id: str | None = None

    @functools.cached_property
    def begun(self) -> bool:
        """True where an earlier run of the rollout began to change the node."""
        return bool(self.rollout_dir) and rollout.was_begun(str(self.rollout_dir), self.node)

    @functools.cached_property
    def booted(self) -> str | None:
        """The boot that was proven after the reboot of this rollout; None where the node was not rebooted."""
        path = rollout.ledger_path(self.rollout_dir) if self.rollout_dir else None
        return rollout.boot_in(ledger.Ledger.open(path).events(self.node)) if path and path.exists() else None

    @functools.cached_property
    def flashed(self) -> bool:
        """True where the rollout has sent firmware to the node's BMC: no way back takes that back."""
        return bool(self.rollout_dir) and rollout.was_flashed(str(self.rollout_dir), self.node)

    def booted_again(self, facts: dict[str, Any]) -> list[str]:
        """What is wrong where the node is not in the boot that was proven, or in that in which this task saw it first:
        it went down by itself."""
        seen = (facts.get("node") or {}).get("boot_id")
        self._boot_id = self._boot_id or self.booted or seen
        if seen and seen == self._boot_id:
            return []
        told = f"boot id {seen or 'that cannot be read'}, wanted {self._boot_id or 'one that can'} all the time"
        return [f"the node must stay in one boot: {told} (see why it went down: journalctl -b -1)"]

    def keep_before(self, facts: dict[str, Any]) -> None:
        """Write the facts down, once: a resumed rollout must not take a half-changed node for the original."""
        if not self.begun and not self.before.exists():
            write_json(self.before, facts)

    def read_before(self) -> dict[str, Any]:
        """The facts from before the change; FleetError where there are none or they cannot be read."""
        try:
            return json.loads(self.before.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FleetError(
                os.fspath(self.before),
                f"the facts of {self.node} from before the change cannot be read: {error}",
                "the file that the precheck wrote",
                f"look at {self.node} yourself before it goes back into service",
            ) from error


def conclude(
    phase: str, record: dict[str, Any], facts: dict[str, Any] | None, store: Store, keep: bool = True
) -> dict[str, Any]:
    """The task's result for a phase: ``failed`` and ``msg`` where the node is not what the phase wants.

    :param record: what the judge said; see docs/contracts.md section 4.
    :param facts: the facts behind it, None for a node that could not be read.
    :param keep: false under check mode: nothing is written.
    """
    troubles = _troubles(phase, record, facts, store)
    if phase == "precheck" and not troubles and keep and facts is not None:
        store.keep_before(facts)
    result: dict[str, Any] = {"changed": False, "class": record["class"], "phase": phase}
    if troubles:
        more = [f"and {len(troubles) - SHOWN} more"] if len(troubles) > SHOWN else []
        result.update(failed=True, msg=f"{record['node']} ({phase}): " + "; ".join(troubles[:SHOWN] + more))
    return result


def _troubles(phase: str, record: dict[str, Any], facts: dict[str, Any] | None, store: Store) -> list[str]:
    if phase == "audit":
        return []
    if facts is None:
        return _sentences(record)
    if phase == "precheck":
        return [] if store.begun or record["class"] in ("may_move", "at_target") else _sentences(record, moving=True)
    if phase == "verify_old":
        before = booted_again(store.read_before(), facts)
        if store.flashed:
            before, facts = without_firmware(before), without_firmware(facts)
        worse = [_sentence(row) for row in compare_before_after(before, facts)]
        return worse or list(_differences(restorable_facts(before), restorable_facts(facts), "facts"))
    again = store.booted_again(facts) if phase == "soak" or store.booted else []
    if again or record["class"] != "at_target":
        return again or _sentences(record)
    # Where the target names firmware, the judge has held it against that.
    planned = (*PLANNED_CHANGES, "vbios") if "firmware" in record else PLANNED_CHANGES
    return [_sentence(row) for row in compare_before_after(store.read_before(), facts, planned)]


def _differences(before: Any, after: Any, place: str) -> Iterator[str]:
    """Each leaf that is not what it was: versions, packages, holds, pins, repositories, settings."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(key), after.get(key), f"{place}.{key}")
    elif before != after:
        yield f"{place}: {json.dumps(after)}, wanted {json.dumps(before)} as before the change"


def _sentences(record: dict[str, Any], moving: bool = False) -> list[str]:
    """What decided the class of a record; that a node which is about to move differs from the target is no trouble."""
    rows = [row for row in record["findings"] if row["verdict"] in ("fail", "unknown") and row["rule"] not in ADVICE]
    if moving:
        rows = [row for row in rows if row["verdict"] == "unknown" or row["area"] != "compliance"]
    return [_sentence(row) for row in rows] or [f"the node is {record['class']}, its steps: {record.get('steps')}"]


def _sentence(finding: dict[str, Any]) -> str:
    seen = f"{finding['subject']}: {finding['observed']}, wanted {finding['expected']}"
    return f"{finding['rule']}: {seen} ({finding['fix']})" if finding.get("fix") else f"{finding['rule']}: {seen}"
