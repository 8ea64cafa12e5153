# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Activation through the BMC: the orders, the wait until BMC and host are back, and the proof by the version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import activate
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError, refused
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.board import ROOT
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Outcome, Site, Unproven
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.update import finish, read_back


def wake(site: Site, kind: str, rows: Sequence[Mapping[str, Any]], run: Callable[[], str]) -> None:
    """Carry out an activation that the BMC, or the operator's hook, can do; BMC and host are back when this returns.

    What a run before this one has ordered, and was killed at, is looked for first and is not ordered again.

    :param run: runs the hook; an empty text, or what went wrong.
    :raises BmcError: it is not offered, or was refused. Unproven: BMC or host did not come back. NotRebooted: the host
        was rebooted as often as it may be.
    """
    order = next((one for one in (_begun(site, row) for row in rows) if one.get("kind") == kind), None)
    done = _carried_out(site, order) if order else "nothing"
    if done != "all":
        power = "Off" if done == "off" else _power(site)
        orders = activate.orders(kind, site.reading().board, power, site.hook, site.subject)
        if kind in activate.POWER and order is None:
            site.may_cycle(kind, str(power))
        for one in orders:
            _give(site, kind, one, rows)
        if site.hook and kind == "ac_cycle":
            _run(site, kind, rows, run)
    see_through(site, kind)


def begun(site: Site, wish: Mapping[str, Any]) -> str:
    """The activation of a row that a run before this one was killed at; ``none`` for none."""
    return str(_begun(site, wish).get("kind", "none"))


def see_through(site: Site, kind: str) -> None:
    """Wait for BMC and host after an activation.

    :raises Unproven: they do not come back.
    """
    come_back(site)
    if kind in activate.POWER:
        _switch_on(site)


def _give(site: Site, kind: str, order: activate.Order, rows: Sequence[Mapping[str, Any]]) -> None:
    if order.then == "On":
        site.sleep(site.off)
    _note(site, kind, order.reset, order.then, rows)
    answer = site.client.post(order.uri, {"ResetType": order.reset})
    # An answer that is lost with a reset is the reset's own doing; the version will tell.
    if not answer.good and not answer.passing:
        _take_back(site, answer.said, rows)
        names = ", ".join(row["component"] for row in rows)
        raise refused(answer, site.subject, f"{order.reset} for {names}")
    if order.then and not _reaches(site, order.then, order.reset == "GracefulShutdown"):
        _force(site, order)


def _run(site: Site, kind: str, rows: Sequence[Mapping[str, Any]], run: Callable[[], str]) -> None:
    _note(site, kind, "ac_cycle_command", None, rows)
    failed = run()
    if failed:
        _take_back(site, failed, rows)
        raise BmcError(
            "hook_failed",
            site.subject,
            f"the AC cycle by ac_cycle_command: {failed}",
            "power that was cut",
            "mend it; the image is staged and is not flashed again",
        )


def _note(site: Site, kind: str, reset: str, then: str | None, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write down what is ordered now, with what will tell a later run whether it was carried out."""
    order = {"kind": kind, "reset": reset, "then": then, "last_reset": site.last_reset()}
    for row in rows:
        site.journal.write(row["component"], "activating", f"{reset} for {kind}", kept={"order": order})
    site.journal.still_ours()


def _take_back(site: Site, why: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        site.journal.write(row["component"], "staged", f"its activation was refused: {why}", kept={"order": {}})


def _begun(site: Site, wish: Mapping[str, Any]) -> Mapping[str, Any]:
    """The order that a run before this one has given, or was about to give, for this very version; {} for none."""
    told = site.journal.last(wish["component"])
    ours = told.get("event") == "activating" and told.get("version") == wish["version"]
    return told.get("order") or {} if ours else {}


def _carried_out(site: Site, order: Mapping[str, Any]) -> str:
    """``all`` of an activation was done by a run before this one, the host was switched ``off`` for it, or ``nothing``.

    An order that has arrived shows after a while: by the power, or by when the BMC was last reset.
    """
    end = site.clock() + site.settle
    while not _shows(site, order):
        if site.clock() > end:
            return "nothing"
        site.sleep(site.poll)
    return "off" if order["then"] == "Off" else "all"


def _shows(site: Site, order: Mapping[str, Any]) -> bool:
    if order["then"]:
        return _power(site) == order["then"]
    now = site.last_reset()
    return now is not None and now != order["last_reset"]


def prove(site: Site, rows: Sequence[tuple[Mapping[str, Any], Outcome]]) -> list[Outcome]:
    """What became of staged rows now that their activation is done.

    :raises BmcError: version_unchanged: a component still runs another version.
    """
    proven = []
    for wish, outcome in rows:
        name, after = wish["component"], read_back(site, wish, site.settle)
        if after != wish["version"]:
            site.journal.write(name, "failed", f"after its activation {after or 'no version'} runs")
            raise BmcError(
                "version_unchanged",
                f"{site.subject} {name}",
                f"after its activation {after or 'no version'} runs",
                f"{wish['version']}, read back",
                "look at the BMC's log before you run this again, which flashes it again",
            )
        finish(site, name, str(after))
        proven.append(outcome._replace(outcome="updated", after=after, why="it runs since its activation"))
    return proven


def come_back(site: Site) -> None:
    """Wait until the BMC has answered well so many times in a row.

    :raises Unproven: it does not.
    """
    end, good = site.clock() + site.limits.silence, 0
    while good < site.limits.answers:
        site.sleep(site.poll)
        uri = str(site.reading().board.service.get("@odata.id") or ROOT)
        good = good + 1 if site.client.look(uri).good else 0
        if good < site.limits.answers and site.clock() > end:
            raise Unproven(
                "bmc_never_back", site.subject, f"has not held for {site.limits.silence:.0f} s after its reset"
            )


def _power(site: Site) -> str | None:
    uri = site.reading().board.system.get("@odata.id")
    answer = site.client.look(str(uri)) if uri else None
    return (answer.body or {}).get("PowerState") if answer and answer.good else None


def _reaches(site: Site, state: str, may_fail: bool) -> bool:
    end = site.clock() + (min(site.limits.silence, 300.0) if may_fail else site.limits.silence)
    while _power(site) != state:
        if site.clock() > end:
            return False
        site.sleep(site.poll)
    return True


def _force(site: Site, order: activate.Order) -> None:
    """A host that does not shut down in time loses its power all the same: it is drained, and was asked."""
    forced = activate.force_off(site.reading().board, site.subject)
    if order.reset == "GracefulShutdown":
        answer = site.client.post(forced.uri, {"ResetType": forced.reset})
        if (answer.good or answer.passing) and _reaches(site, "Off", False):
            return
    raise Unproven("host_power", site.subject, f"the host is not {order.then} after {order.reset}")


def _switch_on(site: Site) -> None:
    """A host that stays off after its power was cut is switched on; its BIOS may be set to stay off."""
    if _reaches(site, "On", True):
        return
    board = site.reading().board
    for order in activate.orders("power_cycle", board, "Off", (), site.subject):
        site.client.post(order.uri, {"ResetType": order.reset})
    if not _reaches(site, "On", False):
        raise Unproven("host_power", site.subject, "the host is not On after its power was cut")
