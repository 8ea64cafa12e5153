# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look at a node adds to its facts where the target wants firmware or BIOS settings: what the BMC says of them.

The facts of a node do not show what its BMC, CPLD or most settings of its BIOS are, and no data is never a pass. So the
look itself asks the BMC, in a session or two, and only for a target that wants any of it. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils.look import Basis
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.hardware import identify

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import board
else:
    board = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board")

ADDRESS = "fleet_bmc_address"
# Host variables that the steps of a rollout take as well, and the options they are.
_FIRMWARE = {"fleet_firmware_patterns": "patterns"}
_BIOS = {"fleet_bios_patterns": "patterns", "fleet_bios_foreign": "foreign"}
# A way back is held against what was there before, and must not need a BMC.
PHASES = ("audit", "precheck", "verify", "soak")

Ask = Callable[[str, dict[str, Any], dict[str, Any]], Mapping[str, Any]]
Template = Callable[[Any], Any]


def wanted(facts: Mapping[str, Any], by: Basis, node: str) -> Mapping[str, Any]:
    """What the target wants of the node: ``firmware`` and ``bios``, with its ``product``; empty where neither."""
    products = by.target["products"]
    if not any(row.get("firmware") or row.get("bios") for row in products.values()):
        return {}
    product = identify(facts, products, by.catalog, node).product
    row = products.get(product["name"], {}) if product else {}
    found = {key: row[key] for key in ("firmware", "bios") if row.get(key)}
    return {"product": product["name"], **found} if product and found else {}


class Bmc:
    """The BMC of one node, asked at most once in a task.

    :param args: of the task: ``phase``, ``catalog`` and ``fleet_dir``.
    :param variables: those of the host, as they are. :param template: gives what one stands for.
    :param ask: asks by another action of the collection, in check mode: its name, options and the variables.
    """

    def __init__(self, args: Mapping[str, Any], variables: dict[str, Any], template: Template, ask: Ask) -> None:
        self._args, self._variables, self._template, self._ask = args, variables, template, ask
        self._said: dict[str, Any] | None = None

    def joined(self, facts: Mapping[str, Any], by: Basis) -> Mapping[str, Any]:
        """The facts, with what the BMC says as ``bmc`` (rules/bmc.py has its form) where the target wants that."""
        node = str(self._variables["inventory_hostname"])
        wishes = wanted(facts, by, node) if self._args["phase"] in PHASES else {}
        if not wishes:
            return facts
        if self._said is None:
            self._said = self._told(wishes)
        said = dict(self._said)
        if "machine" in said.get("firmware", {}):
            said["firmware"] = {**said["firmware"], "machine": _machine(said["firmware"]["machine"], wishes, facts)}
        return {**facts, "bmc": said}

    def _told(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"address": bool(self._variables.get(ADDRESS))}
        catalog = {"catalog": self._args["catalog"]}
        if found["address"] and wishes.get("firmware"):
            options = {**catalog, "fleet_dir": self._args["fleet_dir"], **self._given(_FIRMWARE)}
            found["firmware"] = _firmware(self._ask("redfish_firmware_info", options, self._variables))
        if found["address"] and wishes.get("bios"):
            options = {**catalog, "state": "staged", "attributes": wishes["bios"], **self._given(_BIOS)}
            found["bios"] = _said(self._ask("redfish_bios", options, self._variables), "rows")
        return found

    def _given(self, names: Mapping[str, str]) -> dict[str, Any]:
        there = {name: option for name, option in names.items() if name in self._variables}
        return {option: self._template(self._variables[name]) for name, option in there.items()}


def _machine(told: Mapping[str, Any], wishes: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """What an image may be meant for: these facts are newer than those that were kept, if any were."""
    products = dict.fromkeys([*told["products"], wishes["product"]])
    return {"products": list(products), "part_numbers": board.seen_by_node(facts)["gpu_vbios"]}


def _firmware(answer: Mapping[str, Any]) -> dict[str, Any]:
    if answer.get("available") is False:
        return {"code": answer["code"], "why": "; ".join(answer["problems"])}
    return _said({**answer, "entries": answer.get("components")}, "entries", "machine", "problems")


def _said(answer: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    if answer.get("failed"):
        return {"code": str(answer.get("code") or ""), "why": str(answer.get("msg") or "no reason was given")}
    return {key: answer[key] for key in keys}
