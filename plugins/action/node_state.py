# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write to the ledger what is about to happen to a node, or what has happened."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, diagnosis, flashes, rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.node_state."""

    SPEC = {
        "rollout": {"type": "dict"},
        "state": {"type": "str"},
        "intent": {"type": "bool", "default": False},
        "reason": {"type": "str", "default": ""},
        "data": {"type": "dict"},
        "failure": {"type": "dict"},
        "actions": {"type": "list", "elements": "str", "default": []},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node, here = task_vars["inventory_hostname"], args["rollout"] or {}
        ledger = self._ledger(here)
        if args["failure"] is not None and args["state"] == "failed":
            args |= {"state": diagnosis.state_after(args["failure"]), "data": diagnosis.data_of(args["failure"])}
        if self.checking or ledger is None:
            self._fail_here(node, args)
        elif args["state"]:
            ledger.record(
                here["epoch"],
                node,
                args["state"],
                kind="intent" if args["intent"] else "outcome",
                reason=args["reason"],
                data=args["data"],
                action=rollout.action_for(ledger.state_of(node), args["state"], args["actions"]),
            )
        elif args["reason"]:
            ledger.note(here["epoch"], node, args["reason"])
        events = ledger.events(node) if ledger else []
        return {
            "changed": False,
            "state": ledger and ledger.state_of(node),
            "snapshot": ledger and rollout.snapshot_in(ledger, node),
            **{key: getattr(flashes, key)(events) for key in ("bios_before", "stays", "unfit")},
        }

    @staticmethod
    def _ledger(here: dict[str, Any]) -> Ledger | None:
        return Ledger.open(rollout.ledger_path(here["dir"])) if here.get("dir") else None

    def _fail_here(self, node: str, args: dict[str, Any]) -> None:
        # Where no ledger keeps a failure that was rescued, nothing but this task can end the run with it.
        if args["state"] in ("failed", "inconclusive", "quarantined") or (args["reason"] and not args["state"]):
            what = "the rehearsal" if self.checking else "what was tried without a rollout"
            raise FleetError(node, f"{what} failed: {args['reason']}", "no failure", "mend that first")
