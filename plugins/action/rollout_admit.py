# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate at the start of each wave: every host of the wave reads the ledger before anything is touched."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, alerts, closing, gate, rollout, way_back
from ansible_collections.fleetops.instinct.plugins.plugin_utils.lease import StaleController
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import load_plan
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.rehearsal import rehearsal
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import repository_for


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.rollout_admit."""

    SPEC = {"rollout": {"type": "dict", "required": True}}

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node, here = task_vars["inventory_hostname"], args["rollout"]
        plan = load_plan(here["plan"])
        view = rollout.node_view(plan, node, repository_for(plan["target"], plan["nodes"][node]["product"]))
        ledger = Ledger.open(rollout.ledger_path(here["dir"])) if here["dir"] else None
        view |= rollout.left_by(ledger, node)
        view["stopped"] = False
        # Only who is told how to log in asks a BMC what somebody else has staged there.
        view["has_bmc"] = all(task_vars.get(f"fleet_bmc_{key}") for key in ("address", "user"))
        if ledger is not None and here["epoch"] is not None and not self.checking:
            view["stopped"] = self._admit(ledger, plan, node, here)
        if self.checking and here["mode"] == "upgrade":
            self.say(rehearsal(plan, node, colour=self.colour()))
        return {"changed": False, "ansible_facts": {"fleet_node": view}}

    @classmethod
    def _admit(cls, ledger: Ledger, plan: dict[str, Any], node: str, here: dict[str, Any]) -> bool:
        """Write the admission down; true where the wave is refused and the way back of the policy follows."""
        rollback = here["mode"] == "rollback"
        wave = next(number for number, members in enumerate(here["waves"], start=1) if node in members)
        clock = datetime.fromisoformat(action.now())
        answer = gate.admission(
            plan, ledger.nodes(), wave, waves=here["waves"], rollback=rollback, now=clock,
            standing=ledger.standing(rollback), alerts=lambda: alerts.ask(plan["policy"]),
        )  # fmt: skip
        quiet = not rollback and way_back.goes_on(plan["policy"], answer["code"])
        try:
            if not answer["admit"] and (node == here["waves"][wave - 1][0] or answer["code"] in gate.ASKED):
                cls._close(ledger, answer, wave, here, quiet)
            elif answer["admit"] and not rollback:
                action_name = rollout.action_for(ledger.state_of(node), "admitted", ["resume"])
                ledger.record(here["epoch"], node, "admitted", reason=f"wave {wave}", action=action_name)
        except StaleController as lost:
            raise gate.Refused("lease_lost", lost.subject, lost.seen, lost.wanted, lost.fix) from lost
        if not answer["admit"] and not quiet:
            subject = f"{here['mode']} {plan['plan_id']}"
            raise gate.Refused(answer["code"], subject, answer["reason"], answer["wanted"], answer["fix"])
        return quiet

    @staticmethod
    def _close(ledger: Ledger, answer: dict[str, Any], wave: int, here: dict[str, Any], quiet: bool) -> None:
        """Once for the wave: the refusal goes into the ledger and the report, and the lease back."""
        if (quiet or answer["code"] in gate.ASKED) and gate.was_refused(ledger.events(), here["epoch"], answer["code"]):
            return
        data = {"code": answer["code"], "wave": wave, "lost": [row["node"] for row in answer["lost"]]}
        ledger.note(here["epoch"], None, answer["reason"], data)
        if not quiet:  # else the plays that follow go on with the lease, and report at their end
            closing.write(Path(here["dir"]), closing.read(Path(here["dir"])))
            closing.give_back(Path(here["dir"]), action.owner())
