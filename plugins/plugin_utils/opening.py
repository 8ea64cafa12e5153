# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a rollout is opened, forward or back: what must still hold, which plan it follows, and its waves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils import (
    host_variables,
    orders,
    refusals,
    rollout,
    way_back,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger
from ansible_collections.fleetops.instinct.plugins.plugin_utils.plan import catalog_of, load_plan, refuse_changed
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import connection

Find = Callable[[list[str]], dict[str, Any]]


class Opening(NamedTuple):
    """A rollout about to run.

    :param directory: where its ledger is, or will be.
    :param waves: names of nodes; empty where nothing is left to do.
    :param why: for a way back that nobody ordered: what the policy says of it, else an empty text.
    """

    plan: dict[str, Any]
    directory: Path
    waves: list[list[str]]
    why: str = ""


def forward(args: Mapping[str, Any], hostvars: Mapping[str, Any], find: Find) -> Opening:
    """An upgrade by the plan ``args['plan']``, for ``args['nodes']``.

    :param find: the records of this run for the nodes of a list.
    :raises FleetError: an order to pause or abort stands, an input of the plan changed, a node that it needs does not
        answer, fell ill or is this machine.
    """
    plan, members = load_plan(args["plan"]), args["nodes"]
    directory = rollout.rollout_dir(args["fleet_dir"], plan["plan_id"])
    nodes: dict[str, Any] = {}
    if rollout.ledger_path(directory).exists():
        ledger = Ledger.open(rollout.ledger_path(directory))
        orders.refuse_standing(ledger.standing(), f"upgrade {plan['plan_id']}")
        nodes = ledger.nodes()
    waves = rollout.upgrade_waves(plan, nodes, members)
    host_variables.refuse_other_nodes(plan, hostvars, rollout.untouched(plan, nodes, plan["nodes"]), members)
    found = find(rollout.untouched(plan, nodes, members))
    refusals.refuse_unreachable(plan, found)
    refusals.refuse_controller(plan, found)
    refuse_no_recovery(plan, hostvars, [*chain(*waves)])
    host_variables.refuse_moved(plan, hostvars, found)
    refusals.refuse_other_racks(plan, found)
    refuse_changed(plan, catalog_of(plan, args["catalog"]), found)
    refusals.refuse_sick(plan, find(rollout.in_service(nodes, members)))
    others = [node for node in members if node in plan["at_target"]]
    refusals.refuse_below_floor(plan, waves, find(others))
    return Opening(plan, directory, waves)


def refuse_no_recovery(plan: Mapping[str, Any], hostvars: Mapping[str, Any], nodes: list[str]) -> None:
    """Refuse a plan whose policy counts on BMCs, where one of them is not known or nothing here can speak to them.

    A way back is not held up by this: a node that stays silent on it is told with what hindered its recovery.

    :param nodes: those that are to be moved.
    :raises FleetError: naming the nodes, or the library that is missing.
    """
    host_variables.refuse_without_bmc(plan["policy"], hostvars, nodes)
    if nodes and plan["policy"].get("reboot_recovery") == "bmc":
        connection.library()


def back(args: Mapping[str, Any]) -> Opening:
    """A rollback that an operator ordered, of the rollout ``args['rollout']`` or the newest.

    :raises FleetError: there is no such rollout, or none of the nodes is part of it.
    """
    ledger = _begun(args)
    directory, plan = Path(ledger.path).parent, ledger.plan()
    refusals.refuse_strangers(plan, args["nodes"])
    rollout.keep_plan(directory, plan)
    waves = rollout.rollback_waves(plan, ledger.nodes(), args["nodes"], args["incident"])
    return Opening(plan, directory, waves if args["incident"] else way_back.split(waves, plan["policy"]))


def back_by_itself(args: Mapping[str, Any]) -> Opening:
    """What the policy of a rollout sends back now; no wave where it sends nobody, or an operator's order holds it.

    :raises FleetError: the ledger cannot be read.
    """
    ledger = _begun(args)
    plan, nodes = ledger.plan(), ledger.nodes()
    waves = [] if ledger.standing() else way_back.waves(plan, nodes, args["nodes"])
    return Opening(plan, Path(ledger.path).parent, waves, way_back.words(plan, nodes, waves) if waves else "")


def _begun(args: Mapping[str, Any]) -> Ledger:
    directory = rollout.find_rollout(args["fleet_dir"], args["rollout"] or args["plan"])
    return Ledger.open(rollout.ledger_path(directory))
