# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judge: facts, target and catalog in, one record out. Pure: it reads no file and no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.fingerprint import facts_digest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules import RULES
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import Context, Finding, Rule, get
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.bmc import foreseen
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.hardware import expected_count, identify
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.rollback import rollback_readiness
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.versions import loaded_release
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.waivers import waived

# Firmware first: what a flash does not survive is not changed before it. BIOS settings last, since whatever reboots the
# node commits them.
STEPS = ("firmware", "kernel", "rocm", "bios", "reboot")
CLASSES = ("unknown", "unhealthy", "blocked", "at_target", "may_move")
_MOVES = ("needs_step", "manual", "blocked")
_DECIDING = {rule.id for rule in RULES if rule.deciding} | {"node.reachable", "node.facts"}

Said = tuple[Rule, Finding]


def judge(
    facts: Mapping[str, Any],
    target: Mapping[str, Any],
    catalog: Catalog,
    node: str,
    rack: str | None = None,
    run_id: str = "",
    gathered_at: str = "",
    policy: Mapping[str, Any] | None = None,
) -> dict:
    """The record of a node (docs/contracts.md section 4) out of what was gathered there.

    :param target: a Target or its ``as_dict()``.
    :param gathered_at: ISO 8601; waivers are held against its date, and none holds without it.
    :param policy: what ``load_policy`` gave: what of it decides, and its waivers. Only what a waiver names is let
        through, and the finding says so.
    """
    ctx = _context(facts, target, catalog, node, policy or {}, gathered_at[:10])
    said = [(rule, waived(rule, finding, ctx)) for rule, finding in _ask(ctx)]
    verdict = {"compliance": _compliance(ctx, said), "transition": _transition(said), "health": _health(said)}
    steps = [
        step for step in STEPS if any(step in finding.steps for _rule, finding in said if finding.verdict == "fail")
    ]
    return {
        **_head(node, rack, run_id, gathered_at, reachable=True),
        "product": ctx.product["name"] if ctx.product else None,
        "gpu_count": len(ctx.gpus) if isinstance(facts.get("gpus"), list) else None,
        "expected_gpu_count": expected_count(ctx),
        "rocm": ctx.get("rocm.active"),
        "driver": loaded_release(ctx),
        "target": {key: (ctx.wanted or {}).get(key) for key in ("rocm", "driver")},
        "verdict": verdict,
        "class": _class(ctx, said, verdict),
        "findings": [_as_dict(rule, finding) for rule, finding in said if finding.verdict != "pass"],
        "passed": sum(finding.verdict == "pass" for _rule, finding in said),
        "passed_rules": _passed_rules(said),
        "steps": steps,
        **foreseen(ctx),
        "before": _before(said),
        "rollback": rollback_readiness(ctx, "rocm" in steps),
        "facts_digest": facts_digest(dict(facts)),
    }


def unreachable_record(
    node: str, why: str, rack: str | None = None, run_id: str = "", gathered_at: str = "", product: str | None = None
) -> dict:
    """The record of a node that could not be asked; its class is unknown.

    :param product: what it was when it last answered, so that it counts against that product's capacity.
    """
    finding = Finding(
        "unknown",
        node,
        "a node that answers",
        why,
        "nothing is known about a node that does not answer",
        "make it reachable, or take it out of the group, and audit again",
    )
    rule = Rule("node.reachable", "health", True, "the audit itself", lambda ctx: ())
    return {
        **_head(node, rack, run_id, gathered_at, reachable=False),
        "product": product,
        "gpu_count": None,
        "expected_gpu_count": None,
        "rocm": None,
        "driver": None,
        "target": {"rocm": None, "driver": None},
        "verdict": {"compliance": "unknown", "transition": "unknown", "health": "unknown"},
        "class": "unknown",
        "findings": [_as_dict(rule, finding)],
        "passed": 0,
        "passed_rules": [],
        "steps": [],
        "before": [],
        "rollback": {"ready": False, "why": ["nothing is known about the node"]},
        "facts_digest": None,
    }


def _head(node: str, rack: str | None, run_id: str, gathered_at: str, reachable: bool) -> dict:
    return {
        "schema": 1,
        "node": node,
        "run_id": run_id,
        "gathered_at": gathered_at,
        "rack": rack,
        "reachable": reachable,
    }


def findings_of(
    facts: Mapping[str, Any],
    target: Mapping[str, Any],
    catalog: Catalog,
    node: str,
    policy: Mapping[str, Any] | None = None,
    today: str = "",
) -> list[Said]:
    """What every rule says of a node, passes as well, in the order in which rules are asked; nothing is waived."""
    return _ask(_context(facts, target, catalog, node, policy or {}, today))


def _context(
    facts: Mapping[str, Any],
    target: Mapping[str, Any],
    catalog: Catalog,
    node: str,
    policy: Mapping[str, Any],
    today: str,
) -> Context:
    identity = identify(facts, target["products"], catalog, node)
    wanted = target["products"].get(identity.product["name"] if identity.product else "")
    return Context(
        facts,
        catalog,
        node,
        identity.gpus,
        identity.product,
        wanted,
        identity.findings,
        policy=policy,
        today=today,
    )


def _ask(ctx: Context) -> list[Said]:
    rules = [rule._replace(deciding=True) if ctx.policy.get(rule.decides_by) else rule for rule in RULES]
    said = [(rule, finding) for rule in rules if rule.area == "compliance" for finding in rule.check(ctx)]
    ctx = ctx._replace(moves=any(finding.verdict in ("fail", "unknown") for rule, finding in said if rule.deciding))
    return said + [(rule, finding) for rule in rules if rule.area != "compliance" for finding in rule.check(ctx)]


def _compliance(ctx: Context, said: Iterable[Said]) -> str:
    verdicts = _verdicts(said, "compliance")
    if "unknown" in verdicts or ctx.wanted is None:
        return "unknown"
    return "differs" if "fail" in verdicts else "at_target"


def _health(said: Iterable[Said]) -> str:
    verdicts = _verdicts(said, "health")
    return "unknown" if "unknown" in verdicts else "unhealthy" if "fail" in verdicts else "healthy"


def _transition(said: list[Said]) -> str:
    if "unknown" in _verdicts(said, "transition"):
        return "unknown"
    moves = {finding.move for rule, finding in said if rule.area == "transition" and finding.verdict == "fail"}
    moves |= {"needs_step" for rule, finding in said if finding.verdict == "warn" and finding.move == "needs_step"}
    return max(moves, key=_MOVES.index, default="safe")


def _before(said: Iterable[Said]) -> list[str]:
    steps = (step for _rule, finding in said if finding.verdict == "fail" for step in finding.before)
    return list(dict.fromkeys(steps))


def _verdicts(said: Iterable[Said], area: str) -> set[str]:
    return {finding.verdict for rule, finding in said if rule.area == area and rule.deciding}


def _class(ctx: Context, said: list[Said], verdict: Mapping[str, str]) -> str:
    if ctx.product is None or any(rule.deciding and finding.verdict == "unknown" for rule, finding in said):
        return "unknown"
    if verdict["health"] == "unhealthy":
        return "unhealthy"
    if verdict["transition"] in ("blocked", "manual") or _before(said):
        return "blocked"
    return {"at_target": "at_target", "differs": "may_move"}.get(verdict["compliance"], "unknown")


def _as_dict(rule: Rule, finding: Finding) -> dict:
    return {
        "rule": rule.id,
        "subject": finding.subject,
        "verdict": finding.verdict,
        "area": rule.area,
        "expected": finding.expected,
        "observed": finding.observed,
        "why": finding.why,
        "fix": finding.fix,
        "source": finding.source or rule.source,
    }


def _passed_rules(said: Iterable[Said]) -> list[str]:
    """The rules that looked at something and found nothing odd; one that said nothing is not among them."""
    verdicts: dict[str, set[str]] = {}
    for rule, finding in said:
        verdicts.setdefault(rule.id, set()).add(finding.verdict)
    return [rule for rule, seen in verdicts.items() if seen == {"pass"}]


def first_reason(record: Mapping[str, Any]) -> str:
    """Why a record is of its class, in one line: the first finding that decided it."""
    order = {"unknown": ("unknown",), "unhealthy": ("fail",), "blocked": ("fail",)}.get(
        str(record.get("class")), ("fail", "unknown")
    )
    area = {"unhealthy": "health", "blocked": "transition"}.get(str(record.get("class")))
    told = [
        finding
        for finding in record.get("findings") or []
        if finding["verdict"] in order and area in (None, finding["area"]) and finding["rule"] != "waiver.expired"
    ]
    # Every fail about the move counts; elsewhere the table tells which rules decide, where the policy does not.
    deciding = told if area == "transition" else [finding for finding in told if finding["rule"] in _DECIDING]
    for finding in deciding or (told if record.get("class") in CLASSES[:3] else []):
        return f"{finding['rule']} {finding['subject']}: {finding['observed']}, {finding['why']}"
    return str(get(record, "class"))
