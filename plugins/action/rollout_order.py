# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give an operator's order to a rollout or to some of its nodes; who ordered it and why lands in the ledger."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, orders, rollout, standing_orders
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

TTL = 60  # seconds: each event prolongs it, and it is given back at the end


class ActionModule(action.FleetAction):
    """See the documentation of fleetops.instinct.rollout_order."""

    SPEC = {
        "order": {"type": "str", "required": True, "choices": list(orders.NAMES)},
        "reason": {"type": "str", "required": True},
        "rollout": {"type": "str"},
        "nodes": {"type": "list", "elements": "str"},
        "takeover": {"type": "str", "default": ""},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        orders.refuse_unclear(args["order"], args["reason"], args["nodes"])
        directory = rollout.find_rollout(args["fleet_dir"], args["rollout"])
        ledger = Ledger.open(rollout.ledger_path(directory))
        subject = f"rollout {directory.name}"
        result = (self._rollout if args["nodes"] is None else self._nodes)(ledger, args, subject)
        self.say(f"Rollout {directory.name}: {result['msg']}")
        return {"rollout": directory.name, "order": args["order"], **result}

    def _rollout(self, ledger: Ledger, args: dict[str, Any], subject: str) -> dict[str, Any]:
        before, here = ledger.standing(), ledger.standing(rollback=True)
        if self.checking:
            new = standing_orders.is_new(args["order"], before, here, ledger.path)
        else:
            new = ledger.order(action.owner(), args["order"], args["reason"]) is not None
        now = ledger.standing(rollback=True)
        said = [standing_orders.words(order) if order else "no order stands" for order in (here, now)]
        wanted = f"{args['order']}: {args['reason']}" if self.checking or now is None else said[1]
        held = (ledger.holder() or {}) if new and args["order"] != "resume" else {}
        at_work = f"; what {held['who']} on {held['host']} has under way goes on" if held.get("expires_at") else ""
        msg = f"{wanted}{at_work}" if new else f"{args['order']} stands already, {said[1]}"
        return {
            "changed": new, "msg": msg, "standing": now, "nodes": {},
            "diff": orders.diff(said[:1], [wanted] if new else said[:1], subject),
        }  # fmt: skip

    def _nodes(self, ledger: Ledger, args: dict[str, Any], subject: str) -> dict[str, Any]:
        moves = orders.moves(args["order"], args["nodes"], ledger.nodes(), subject, ledger.standing())
        if moves and not self.checking:
            self._write(ledger, args, subject)
        elif moves and not args["takeover"]:
            ledger.refuse_at_work(action.owner())
        return {
            "changed": bool(moves),
            "msg": orders.told(args["order"], moves),
            "standing": ledger.standing(),
            "nodes": {move.node: {"before": move.before, "after": move.after} for move in moves},
            "diff": orders.diff(
                [f"{move.node}: {move.before}" for move in moves],
                [f"{move.node}: {move.after}" for move in moves],
                subject,
            ),
        }

    @staticmethod
    def _write(ledger: Ledger, args: dict[str, Any], subject: str) -> None:
        epoch = ledger.take_lease(action.owner(), TTL, takeover=bool(args["takeover"]), reason=args["takeover"])
        try:  # judged once more: until now another controller could have moved them
            for move in orders.moves(args["order"], args["nodes"], ledger.nodes(), subject, ledger.standing()):
                ledger.record(epoch, move.node, move.after, reason=args["reason"], action=args["order"])
        finally:
            ledger.release_lease(epoch)
