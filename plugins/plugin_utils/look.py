# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at a node: what it is held against, and the record that comes of it whatever the node or its facts are like.

Reads the operator's files (target, policy, plan, catalog), and the last record of a node that does not answer.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import SLOW
from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog, load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge, unreachable_record
from ansible_collections.fleetops.instinct.plugins.plugin_utils.policy import load_policy
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import read_records
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import Target, load_target

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils import plan as plans
else:
    plans = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.plan")  # no audit needs it

FACTS = "node.facts"
_LONGEST = 400  # characters of what a node said


class Basis(NamedTuple):
    """What nodes are judged by."""

    target: Mapping[str, Any]
    policy: Mapping[str, Any]
    catalog: Catalog


def prepare() -> None:
    """Read what every node is judged by, in the process that Ansible starts its workers from; an error is for them."""
    try:
        load_catalog().read_ahead()
    except FleetError:
        return
    # What is there now stays until the end: no worker's collector need look through it, and so no page of it is copied.
    gc.freeze()


def basis(args: Mapping[str, Any], overlay: bool = True) -> Basis:
    """What the arguments of a task name: ``target`` and ``policy``, or ``plan``; and ``catalog``.

    :param overlay: false where the site's overlay must not be needed: a way back does not rest on it.
    :raises FleetError: for what is missing or wrong in any of them.
    """
    if args.get("plan"):
        return _of_plan(args["plan"], args.get("catalog"), overlay)
    if args.get("target"):
        catalog = load_catalog(args.get("catalog"))
        return Basis(load_target(args["target"], catalog), load_policy(args.get("policy")), catalog)
    raise FleetError("target", "not given", "a target file or a plan", "add -e target=FILE, or -e plan=FILE")


def _of_plan(path: str, laid_over: str | None, overlay: bool) -> Basis:
    """What a plan judges by.

    That it is whole is proven where a rollout is opened and where a wave is admitted: to prove it for every look would
    cost a fleet of a thousand nodes as much as the looks themselves.
    """
    try:
        with open(path, "rb") as stream:
            target, policy, made_with = _parts(json.loads(stream.read()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        target, policy, made_with = _parts(plans.load_plan(path))  # which says what is wrong with it
    catalog = load_catalog(laid_over or made_with or None) if overlay else load_catalog()
    return Basis(Target(target, path), policy, catalog)


def _parts(plan: Mapping[str, Any]) -> tuple[Any, Any, str | None]:
    return plan["target"], plan["policy"], plan["inputs"]["catalog"].get("path")


def judged(node: str, facts: Mapping[str, Any], by: Basis, **about: Any) -> dict:
    """The record of a node; facts that the rules stumble over make it unknown instead of ending the audit.

    :param about: rack, run_id and gathered_at.
    """
    try:
        return judge(facts, by.target, by.catalog, node, policy=by.policy, **about)
    except FleetError:
        raise
    except Exception as problem:  # facts may come from anywhere: an unknown node, never a traceback
        return unread_record(node, f"facts that cannot be judged: {type(problem).__name__}: {problem}", **about)


def of_controller(facts: Mapping[str, Any], own_boot_id: str | None) -> dict[str, bool]:
    """What a record tells besides where the node is the machine that this runs on; empty for every other node."""
    told = facts.get("node")
    boot_id = told.get("boot_id") if isinstance(told, Mapping) else None
    return {"is_controller": True} if own_boot_id and boot_id == own_boot_id else {}


def module_for(subsets: Iterable[str]) -> str:
    """The module that gathers these: with less in it, where no slow subset is asked for."""
    return f"fleetops.instinct.{'node_facts' if SLOW.intersection(subsets) else 'node_glance'}"


def facts_in(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """The facts in what the module returned, as text or as they are; None where there are none."""
    try:
        # Written and read again, they are plain dicts, lists and texts, without core's tagged subclasses.
        facts = json.loads(str(answer.get("facts") or json.dumps(answer["ansible_facts"]["instinct"])))
    except (KeyError, TypeError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


def why_no_facts(answer: Mapping[str, Any]) -> str:
    """Why a module gave no facts: its message, and what the node said where Ansible could not make sense of it."""
    parts = [answer.get(key) for key in ("msg", "module_stderr", "module_stdout")]
    said = [" ".join(masked(str(part)).split())[:_LONGEST] for part in parts if part]
    return "; ".join(said) or "the facts module gave no answer"


def silent_record(fleet_dir: str, node: str, why: str, **about: Any) -> dict:
    """The record of a node that does not answer; what product it was is taken from the one before it.

    :param about: rack (the earlier one where it is not given), run_id and gathered_at.
    """
    last = read_records(fleet_dir, [node]).get(node, {})
    about["rack"] = about.get("rack") or last.get("rack")
    return unreachable_record(node, " ".join(masked(why).split()), **about, product=last.get("product"))


def unread_record(node: str, why: str, **about: Any) -> dict:
    """The record of a node that is there and of which there are no usable facts; its class is unknown."""
    record = unreachable_record(node, why, **about)
    told = {
        "rule": FACTS,
        "expected": "facts that can be judged",
        "why": "nothing is known about a node without facts",
        "fix": "mend what the reason names and audit again; where it names nothing of yours, report it with the facts",
    }
    return {**record, "findings": [{**finding, **told} for finding in record["findings"]]}
