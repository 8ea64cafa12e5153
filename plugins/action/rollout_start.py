# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a rollout or its rollback: check that nothing the plan rests on has changed, take the lease, give the waves."""

from __future__ import annotations

import os
from itertools import chain
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, opening, rollout, this_run
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.rollout_start."""

    SPEC = {
        "mode": {"type": "str", "default": "upgrade", "choices": ["upgrade", "rollback"]},
        "plan": {"type": "path"},
        "catalog": {"type": "path"},
        "rollout": {"type": "str"},
        "nodes": {"type": "list", "elements": "str", "required": True},
        "incident": {"type": "bool", "default": False},
        "automatic": {"type": "bool", "default": False},
        "takeover": {"type": "str", "default": ""},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        opened = self._opening(args, task_vars)
        if opened.why or not args["automatic"]:
            order = f"left to do: {sum(map(len, opened.waves))} nodes, {len(opened.waves)} waves."
            self.say(f"{args['mode'].capitalize()} {opened.plan['plan_id']}: {opened.why or order}")
        # A name of its own: the plays that close an upgrade still need what the upgrade was.
        name = "fleet_way_back" if args["mode"] == "rollback" else "fleet_rollout"
        return {"changed": False, "ansible_facts": {name: self._facts(opened, args)}}

    def _opening(self, args: dict[str, Any], task_vars: dict[str, Any]) -> opening.Opening:
        if args["mode"] == "rollback":
            return (opening.back_by_itself if args["automatic"] else opening.back)(args)
        opened = opening.forward(args, task_vars["hostvars"], lambda nodes: this_run.found(args["fleet_dir"], nodes))
        if opened.plan["nodes"] and not self.checking:
            rollout.begin(opened.directory, opened.plan)
        return opened

    def _facts(self, opened: opening.Opening, args: dict[str, Any]) -> dict[str, Any]:
        kept = opened.directory / "plan.json"
        return {
            "mode": args["mode"],
            "plan_id": opened.plan["plan_id"],
            "dir": str(opened.directory) if kept.exists() else None,
            "plan": str(kept) if kept.exists() else os.path.abspath(args["plan"]),
            "epoch": None if self.checking or not opened.waves else self._take(opened, args),
            "why": opened.why or "asked for by the operator",
            "waves": opened.waves,
            "order": [*chain(*opened.waves)],
            "sizes": [len(wave) for wave in opened.waves],
        }

    @staticmethod
    def _take(opened: opening.Opening, args: dict[str, Any]) -> int:
        ttl = rollout.lease_seconds(opened.plan)
        ledger = Ledger.open(rollout.ledger_path(opened.directory))
        epoch = ledger.take_lease(action.owner(), ttl, takeover=bool(args["takeover"]), reason=args["takeover"])
        data = {"mode": args["mode"], "nodes": [*chain(*opened.waves)]}
        data |= {"automatic": True} if opened.why else {}
        ledger.note(epoch, None, f"{args['mode']} begins" + (f": {opened.why}" if opened.why else ""), data)
        return epoch
