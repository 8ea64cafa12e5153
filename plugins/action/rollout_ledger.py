# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prove the ledgers of rollouts, or export one as JSON lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import (
    action,
    books,
    chain,
    ledger_export,
    orders,
    records,
    rollout,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger_schema import RESCUE

MODE = 0o644


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.rollout_ledger."""

    SPEC = {
        "mode": {"type": "str", "required": True, "choices": ["verify", "export"]},
        "rollout": {"type": "str"},
        "all": {"type": "bool", "default": False},
        "exported": {"type": "path"},
        "to": {"type": "path"},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        return self._verify(args) if args["mode"] == "verify" else self._export(args)

    def _verify(self, args: dict[str, Any]) -> dict[str, Any]:
        if args["exported"]:
            found = {args["exported"]: books.verify_export(args["exported"])}
        elif args["all"]:
            found = books.verify(books.every(args["fleet_dir"]))
        elif args["rollout"]:
            found = books.verify([books.named(args["fleet_dir"], args["rollout"])])
        else:
            found = books.verify(books.newest(args["fleet_dir"]))
        for path, faults in found.items():
            self.say("\n".join(f"{path}: {fault}" for fault in faults or ["whole"]))
        bad = books.sum_up(found)
        result = {"changed": False, "ledgers": [{"path": path, "faults": faults} for path, faults in found.items()]}
        return {**result, "failed": True, "msg": f"{bad}; fix: {RESCUE}"} if bad else result

    def _export(self, args: dict[str, Any]) -> dict[str, Any]:
        directory = rollout.find_rollout(args["fleet_dir"], args["rollout"])
        path = rollout.ledger_path(directory)
        faults = Ledger.verify(path)
        if faults:
            raise chain.broken(str(path), faults)
        text = "".join(f"{line}\n" for line in ledger_export.lines(Ledger.open(path)))
        to = Path(os.path.abspath(args["to"] or directory / "events.jsonl"))
        before, after = books.stamp(to), [books.stamp_of(text.encode(), MODE)]
        if before != after and not self.checking:
            records.write_text(to, text, mode=MODE)
        self.say(f"Ledger of {directory.name}: {to}")
        return {"changed": before != after, "path": str(to), "diff": orders.diff(before, after, str(to))}
