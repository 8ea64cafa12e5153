# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rehearsal of failure: what each step of a node would do, what could stop it, and how the node comes back then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils import recovery, windows
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.table import paint, table
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import (
    WIDTH,
    clean,
    duration,
    flash,
    flashed_back,
    releases,
)

Plan = Mapping[str, Any]
UNTOUCHED = "nothing to bring back: the node was not touched, and stays in service"


class Step(NamedTuple):
    """One step of a node, in words."""

    name: str
    does: str
    stops: str
    back: str


def rehearsal(plan: Plan, node: str, colour: bool = False, width: int = WIDTH) -> str:
    """The steps of a node of a plan as text; of the node itself nothing is asked."""
    row = plan["nodes"][node]
    wave = plan["waves"][row["wave"] - 1]
    title = (
        f"{clean(node)} ({clean(row['product'])}, wave {row['wave']} of {len(plan['waves'])}, {wave.get('kind', '')}): "
        f"{releases(row['from'])} -> {releases(row['to'])}"
    )
    lines = [
        cells
        for step in steps(plan, node)
        for cells in ((step.name, "does", step.does), ("", "stops", step.stops), ("", "back", step.back))
    ]
    return f"\n{paint(title, 'head', colour)}\n{table(('step', '', 'what'), lines, width, colour)}"


def steps(plan: Plan, node: str) -> list[Step]:
    """The steps of a node in their order; a step that its plan does not have is left out."""
    row, policy = plan["nodes"][node], plan["policy"]
    back = _way_back(row, policy)
    return [
        *_before_the_change(policy),
        *_the_change(plan, row, back),
        *_the_proof(row, policy, back),
    ]


def _before_the_change(policy: Mapping[str, Any]) -> Iterator[Step]:
    budget = policy["failure_budget"]
    lost = f"more than {budget} lost node{'' if budget == 1 else 's'}, a lost canary" if budget else "a lost node"
    asked = f"{lost}, a floor about to break{_outside(policy)}, an order to pause or abort"
    yield Step("admit", "asks the gate", asked, UNTOUCHED)
    yield Step(
        "precheck",
        "looks at the node once more, and rehearses the packages against the repositories",
        "anything unknown, blocked or unhealthy; a repository that does not answer or lacks a package",
        UNTOUCHED,
    )
    waits = duration(policy["drain_timeout_seconds"])
    yield Step("drain", f"waits up to {waits} until no process holds a GPU", "a process that stays: nothing is killed",
               UNTOUCHED)  # fmt: skip
    yield Step("snapshot", "keeps packages, holds, repositories, keys and settings, on the node and in the ledger",
               "no room on its disk", "nothing to bring back: the node was not changed")  # fmt: skip


def _outside(policy: Mapping[str, Any]) -> str:
    """What may refuse a wave though nothing is wrong with the rollout."""
    shut = f", no window open ({windows.named(policy['windows'])})" if policy.get("windows") else ""
    return shut + (", an alert that fires or cannot be asked for" if policy.get("alert_gates") else "")


def _the_change(plan: Plan, row: Mapping[str, Any], back: str) -> Iterator[Step]:
    wanted = plan["target"]["products"][row["product"]]
    if "firmware" in row["steps"]:
        yield Step(
            "firmware",
            f"flashes {', '.join(flash(one) for one in row['firmware'])} through the BMC, and reads each back",
            "a BMC that does not answer, refuses, or shows another version; another image than the target names",
            f"firmware stays ({'; '.join(dict.fromkeys(map(flashed_back, row['firmware'])))}); packages and settings: "
            f"{back}; one whose flash failed half-way is kept out of service, one of which nobody can say waits for a "
            "person",
        )
    if "kernel" in row["steps"]:
        yield Step("kernel", f"declares {_settings(wanted.get('kernel') or {})}",
                   "a boot loader whose files cannot be read or written", back)  # fmt: skip
    if "rocm" in row["steps"]:
        yield Step(
            "rocm",
            f"moves ROCm and the driver from {releases(row['from'])} to {releases(row['to'])}",
            "a package manager that stays locked, a package that cannot be had, no room, a driver that does not build",
            back,
        )
    if "bios" in row["steps"]:
        yield Step(
            "bios",
            f"stages {', '.join(' '.join((clean(one['attribute']), clean(one['to']))) for one in row['bios'])}",
            "a value that the BIOS does not take, a setting that somebody else has staged",
            f"{back}; the values from before are staged again and applied by its reboot",
        )


def _the_proof(row: Mapping[str, Any], policy: Mapping[str, Any], back: str) -> Iterator[Step]:
    if row["reboot"]:
        waits = duration(policy["reboot_timeout_seconds"])
        yield Step(
            "reboot",
            f"orders one reboot and waits up to {waits} for a new boot that stays",
            "a reboot that is ignored, ends in another kernel, or does not end",
            f"a node that answers: {back}; {_silent(policy)}",
        )
    yield Step("verify", "wants the target, health, and nothing else changed",
               "a GPU that is gone, a link that is slower, a counter that rose, a version that is another",
               back)  # fmt: skip
    yield Step("soak", f"looks again and again for {duration(policy['soak_seconds'])}",
               "the same as verify", back)  # fmt: skip
    later = "the rollback playbook brings it back at any later time" if row["rollback"]["ready"] else back
    yield Step("return", "gives the node back", "nothing: what was proven before is written down", later)


def _silent(policy: Mapping[str, Any]) -> str:
    """What becomes of a node that stays away."""
    lost = "waits for a person and uses up the budget"
    resets = [f"{reset} and On" if reset == "ForceOff" else reset for reset in recovery.resets(policy)]
    how = {
        "command": f"its recovery command ({clean(' '.join(policy.get('reboot_recovery_command') or ()))})",
        "bmc": f"one reset through its BMC (On where it is off, else the first that it offers of {', '.join(resets)})",
    }.get(policy.get("reboot_recovery", "none"))
    if how is None:
        return f"one that does not {lost}"
    waits = duration(policy["reboot_timeout_seconds"])
    return f"one that is silent, its SSH port too, gets {how} and {waits} more; if it stays away it {lost}"


def _way_back(row: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    if not row["rollback"]["ready"]:
        why = "; ".join(row["rollback"].get("why") or ()) or "it is not known whether there is one"
        return f"no way back: {why}"
    reach = {
        "none": "it stays as it is, for a person; the rollback playbook brings it back",
        "node": "it goes back to its snapshot by itself, is rebooted and compared with what it was",
        "wave": "it goes back to its snapshot by itself, and with it its wave once the budget is spent",
        "rollout": "it goes back to its snapshot by itself, and with it the whole rollout once the budget is spent",
    }
    return reach[policy.get("automatic_rollback", "node")]


def _settings(kernel: Mapping[str, Any]) -> str:
    line = " ".join(str(word) for word in kernel.get("cmdline") or ())
    parts = [f"the command line {line}"] if line else []
    parts += [f"options of {name}" for name in kernel.get("module_options") or ()]
    parts += [str(key) for key in kernel.get("sysctl") or ()]
    return ", ".join(clean(part) for part in parts) or "the kernel settings of the target"
