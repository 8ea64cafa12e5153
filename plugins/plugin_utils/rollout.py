# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout as the actions see it: where it lives, what is left of it, and what one node of it is to become."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import flashes, states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import write_json

# Of redfish_firmware: update_timeout, and a silent BMC before and after it. What is told between is a write.
_LONGEST_FLASH = 3600 + 2 * 900


def plan_path(fleet_dir: str, plan_id: str) -> Path:
    """Where a plan is saved."""
    return Path(os.path.abspath(fleet_dir)) / "plans" / f"{plan_id}.json"


def rollout_dir(fleet_dir: str, plan_id: str) -> Path:
    """Where the ledger, the report and the facts from before live."""
    return Path(os.path.abspath(fleet_dir)) / "rollouts" / plan_id


def ledger_path(directory: str | Path) -> Path:
    """The ledger of a rollout directory."""
    return Path(directory) / "ledger.sqlite"


def begin(directory: Path, plan: Mapping[str, Any]) -> None:
    """Make the ledger of a rollout, and its plan beside it, where they are not there yet."""
    if not ledger_path(directory).exists():
        Ledger.create(ledger_path(directory), plan)
    keep_plan(directory, plan)


def keep_plan(directory: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan beside its ledger, also beside one that is there: a controller may have died between the two."""
    if not (directory / "plan.json").exists():
        write_json(directory / "plan.json", plan)


def find_rollout(fleet_dir: str, name: str | None) -> Path:
    """The directory of a rollout: the named one, or the newest below ``fleet_dir``.

    :param name: a plan id, the path of a plan file, or None for the newest.
    :raises FleetError: there is none.
    """
    found = ledgers(fleet_dir)
    if not found:
        raise FleetError(
            fleet_dir, "no rollout was ever started here", "a rollout", "run upgrade first, or give -e fleet_dir=DIR"
        )
    if not name:
        return all_rollouts(fleet_dir)[-1]
    for path in found:
        if path.parent.name == Path(name).stem:
            return path.parent
    known = ", ".join(path.parent.name for path in found)
    raise FleetError(
        f"rollout {name}", "was never started", "the plan id of a rollout that was started", f"name one of: {known}"
    )


def all_rollouts(fleet_dir: str) -> list[Path]:
    """The directories of all rollouts that were started, the newest last.

    By what the ledgers say: the times of files are others after a copy or a restored backup.
    """
    return [path.parent for path in sorted(ledgers(fleet_dir), key=lambda path: Ledger.open(path).begun_at())]


def ledgers(fleet_dir: str) -> list[Path]:
    """The ledgers of all rollouts that were started, whether they can be read or not."""
    return sorted((Path(os.path.abspath(fleet_dir)) / "rollouts").glob("*/ledger.sqlite"))


def upgrade_waves(
    plan: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], members: Iterable[str]
) -> list[list[str]]:
    """The plan's waves without what is done and without what waits for an operator; empty waves fall out.

    A node that a killed controller left on its way is still in: it is taken up again.
    """
    wanted = set(members)

    def is_left(node: str) -> bool:
        state = nodes.get(node, {}).get("state", "planned")
        return node in wanted and state not in states.TERMINAL | states.LOST | states.HELD

    waves = ([node for node in wave["nodes"] if is_left(node)] for wave in plan["waves"])
    return [wave for wave in waves if wave]


def untouched(plan: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], members: Iterable[str]) -> list[str]:
    """The nodes of the plan that this run may move and that no run has touched yet: they must be what was planned."""
    return [
        node for node in members if node in plan["nodes"] and nodes.get(node, {}).get("state", "planned") == "planned"
    ]


def in_service(nodes: Mapping[str, Mapping[str, Any]], members: Iterable[str]) -> list[str]:
    """Those of this run's nodes that the rollout has put into service."""
    return [node for node in members if nodes.get(node, {}).get("state") in states.FINISHED_OK]


def rollback_waves(
    plan: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], members: Iterable[str], incident: bool
) -> list[list[str]]:
    """The nodes that this rollout changed, in the plan's waves: the same sizes and racks that were safe on the way up.

    :param incident: all at once; the fleet is down anyway.
    """
    wanted = set(members)
    waves = [
        [node for node in wave["nodes"] if node in wanted and was_changed(nodes.get(node, {}))]
        for wave in plan["waves"]
    ]
    if incident:
        waves = [[node for wave in waves for node in wave]]
    return [wave for wave in waves if wave]


def was_changed(row: Mapping[str, Any]) -> bool:
    """True for a node that has a snapshot to go back to and is not back yet."""
    state = row.get("state", "planned")
    return bool(row.get("has_snapshot")) and state != "restored"


def was_begun(directory: str | Path, node: str) -> bool:
    """True where a run of the rollout has begun to change the node: what it is by now is the rollout's own doing.

    A node that was proven to be back where it was is as one that was never changed.
    """
    return begun_in(events_of(directory, node))


def was_flashed(directory: str | Path, node: str) -> bool:
    """True where the rollout has sent firmware to the node's BMC, however that ended."""
    return flashes.was_flashed(events_of(directory, node))


def events_of(directory: str | Path, node: str) -> list[dict[str, Any]]:
    """The events of a node by the ledger of a rollout directory; none where there is no ledger."""
    path = ledger_path(directory)
    return Ledger.open(path).events(node) if path.exists() else []


def begun_in(events: Iterable[Mapping[str, Any]]) -> bool:
    """The same by the events of the node."""
    begun = False
    for event in events:
        restored = event["state"] == "restored" and event["kind"] == "outcome"
        begun = not restored and (begun or event["state"] == "changing")
    return begun


def boot_in(events: Iterable[Mapping[str, Any]]) -> str | None:
    """The boot in which a node was last proven to be, by its events; None where nothing says in which it should be now.

    What was ordered of it since, and what happened before a later controller took it up, may have rebooted it.
    """
    boot = None
    for event in events:
        data = event["data"] or {}
        if event["state"] == "booted" and event["kind"] == "outcome":
            boot = data.get("boot_id")
        elif event["state"] == "admitted" or "reboot" in data:
            boot = None
    return boot


def left_by(ledger: Ledger | None, node: str) -> dict[str, bool]:
    """How earlier runs left a node: ``begun`` to change it, in the middle of ``activating`` firmware, ``rebooting``."""
    events = ledger.events(node) if ledger is not None else []
    down = ledger is not None and ledger.state_of(node) in ("activating", "rolling_back")
    return {"begun": begun_in(events), "activating": flashes.is_activating(events), "rebooting": down}


def ordered_back(events: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The nodes whose last order, by the notes that opened each run, was to go back."""
    last: dict[str, str] = {}
    for event in events:
        if event["kind"] == "note" and "mode" in (event["data"] or {}):
            last |= dict.fromkeys(event["data"].get("nodes", ()), event["data"]["mode"])
    return frozenset(node for node, mode in last.items() if mode == "rollback")


def mode_of(events: Iterable[Mapping[str, Any]]) -> str:
    """Which way a rollout goes, by the last note that opened a run of it: ``upgrade`` or ``rollback``."""
    modes = [event["data"]["mode"] for event in events if event["kind"] == "note" and "mode" in (event["data"] or {})]
    return str(modes[-1]) if modes else "upgrade"


def action_for(current: str, new: str, allowed: Iterable[str]) -> str | None:
    """The named action that a step needs: None for an ordinary step, else the first allowed one that fits."""
    for action in (None, *allowed):
        try:
            states.advance(current, new, action)
        except states.StateError:
            continue
        return action
    return None


def snapshot_in(ledger: Ledger, node: str) -> dict[str, Any] | None:
    """What the snapshot role recorded for a node in this rollout, None before that."""
    data = ledger.snapshot_of(node)
    return data.get("snapshot") if data else None


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as the operator may write it: a plan keeps nulls for what was not given, and no option takes one."""
    return {key: value for key, value in row.items() if value is not None}


def lease_seconds(plan: Mapping[str, Any]) -> int:
    """How long a lease has to hold without a write: each write renews it, and the longest silences are a drain, a
    reboot and the flash of one component."""
    policy = plan["policy"]
    flash = _LONGEST_FLASH if any(row.get("firmware") for row in plan["target"]["products"].values()) else 0
    waits = (policy[f"{key}_seconds"] for key in ("drain_timeout", "reboot_timeout", "soak"))
    return sum(waits) + flash + 600


def node_view(plan: Mapping[str, Any], node: str, repository: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the roles need to know of one node, out of the plan."""
    row = plan["nodes"][node]
    wanted = plan["target"]["products"][row["product"]]
    kernel = wanted.get("kernel") or {}
    return {
        "rocm": wanted.get("rocm"),
        "driver": wanted.get("driver"),
        "packages": wanted.get("packages") or ["rocm", "amdgpu-dkms"],
        "repository": dict(repository or {}),
        "kernel": kernel,
        # A target that is silent on the kernel must not undo what another one declared: no plan showed that.
        "declares_kernel": any(kernel.values()),
        "firmware": [_given(row) for row in wanted.get("firmware") or []],
        "firmware_images": os.path.dirname(plan.get("inputs", {}).get("target", {}).get("path") or "") or ".",
        "bios": wanted.get("bios") or {},
        "policy": plan["policy"],
        "goes_back": plan["policy"].get("automatic_rollback", "node") != "none",
    }
