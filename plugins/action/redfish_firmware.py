# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring a node's firmware to the wanted versions through its BMC, and prove it by what is read back."""

from __future__ import annotations

import functools
import time
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import action, reboots, recovery
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import StoredFacts
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import images, reading, rounds, task, wishes
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import machine_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.client import Client
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.follow import Limits
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.journal import Journal
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Site


class ActionModule(task.RedfishAction):
    """See the documentation of fleetops.instinct.redfish_firmware."""

    SPEC = {
        **task.SPEC,
        "components": {"type": "list", "elements": "dict", "required": True},
        "patterns": {"type": "list", "elements": "dict", "default": []},
        "activated": {"type": "str", "choices": list(wishes.ACTIVATIONS), "default": "none"},
        "activate": {"type": "str", "choices": ["now", "later"], "default": "now"},
        "ac_cycle_command": {"type": "list", "elements": "str", "default": []},
        "update_timeout": {"type": "float", "default": 3600.0},
        "silence": {"type": "float", "default": 900.0},
        "pending": {"type": "float", "default": 120.0},
        "settle": {"type": "float", "default": 120.0},
        "poll": {"type": "float", "default": 5.0},
        "off_seconds": {"type": "float", "default": 30.0},
        "answers": {"type": "int", "default": 3},
        "images": {"type": "path", "default": "."},
        "policy": {"type": "dict"},
        "rollout": {"type": "dict"},
        "catalog": {"type": "path"},
        "fleet_dir": action.FLEET_DIR,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        node, settings = task_vars["inventory_hostname"], self.settings(args, task_vars)
        wanted = wishes.checked(args["components"], ("redfish_firmware", "components"), wishes.WishError)
        rows, sizes = images.proven(wanted, args["images"], node)
        with self.turn(settings, args, node):
            return self._done(args, settings, node, rows, sizes)

    def _done(self, args: dict[str, Any], settings: dict[str, Any], node: str, *of: Any) -> dict[str, Any]:
        journal = Journal(args["fleet_dir"], node, args["rollout"], action.now)
        with self.client(settings, args["silence"] if journal.under_way else 0.0) as client:
            site = self._site(args, settings, node, client, journal)
            run = functools.partial(recovery.run_command, args["ac_cycle_command"], node)
            how = (args["activated"], run, args["activate"] == "later")
            made = rounds.foretell(site, *of) if self.checking else rounds.carry_out(site, *of, *how)
            seen = site.reading()
        return {
            **made.as_dict(),
            "warnings": [*self.warnings_of(client), *dict.fromkeys(site.notes)],
            "maker": seen.board.maker,
            "problems": seen.problems,
        }

    @staticmethod
    def _site(args: dict[str, Any], settings: dict[str, Any], node: str, client: Client, journal: Journal) -> Site:
        catalog, facts = load_catalog(args["catalog"]), StoredFacts(args["fleet_dir"], [node])
        limits = Limits(args["update_timeout"], args["silence"], args["pending"], args["answers"])
        by, clock = reading.patterns(args["patterns"], catalog.redfish), (time.monotonic, time.sleep)
        seconds = (args["poll"], args["settle"], args["off_seconds"])
        site = Site(client, by, settings["system"], journal, {}, *clock, limits, *seconds, args["ac_cycle_command"])
        most = (args["policy"] or {}).get("max_reboots_per_node", reboots.MOST)
        site.may_cycle = reboots.Book(args["rollout"], node, most).reset
        site.machine = machine_of(site.reading().board, facts.get(node), catalog.product_for)
        return site
