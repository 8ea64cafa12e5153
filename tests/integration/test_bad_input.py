# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad files, inventories, plans and ledgers: one error that names the subject and the fix, and nothing is touched."""

from __future__ import annotations

import getpass
import json
import re
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

FLOOR = {"capacity_floor_percent": 25}
NOBODY = {"who": getpass.getuser(), "host": socket.gethostname(), "pid": 2**22 + 1}


@pytest.fixture(scope="module")
def untouched(operator: Any) -> str:
    """What a node is before anything is refused, and must still be after each refusal."""
    return operator.fingerprint("g01")


@pytest.fixture
def refused(operator: Any, untouched: str) -> Callable[..., str]:
    """A function that runs a playbook, insists that it is refused with one error and touches nothing; the error."""

    def run(name: str, *words: str, also: int = 0, **variables: Any) -> str:
        done = operator.play(name, *words, **variables)
        assert operator.fingerprint("g01") == untouched
        assert done.status != 0, done.text
        assert "Traceback" not in done.text
        errors = done.errors()
        assert len(errors) == 1 + also, done.text
        assert re.search(r"; fix: \S", errors[-1]), errors[-1]
        return errors[-1]

    return run


@pytest.fixture(scope="module")
def plan(operator: Any) -> Path:
    return operator.plan()


# -- targets and policies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "old, new, names",
    [
        pytest.param("products:", "produkts:", "'products' (nearest)", id="unknown key"),
        pytest.param("rocm: 7.0.2", "rocm: 7.0.99", "products.MI300X.rocm: '7.0.99'", id="unknown release"),
        pytest.param("MI300X:", "MI300Y:", "products.MI300Y", id="unknown product"),
        pytest.param("driver: 30.10.2", "driver: 6.0.0", "driver", id="pair outside the window"),
        pytest.param("rocm: 7.0.2", "rocm: 7.14.0", "that came with 7.14", id="release of another stream"),
        pytest.param("MI300X:", "MI300X: {rocm: 7.2.4, rocm: 7.0.2}\n  MI325X:", "is there twice", id="key twice"),
        pytest.param("name: rocm-7.0.2", "name: [rocm", "is not YAML", id="not YAML"),
        pytest.param("rocm.gpg.asc", "lost.asc", "lost.asc cannot be read", id="key is missing"),
    ],
)
def test_a_bad_target_is_told_once(edited: Any, refused: Any, old: str, new: str, names: str) -> None:
    path = edited(old, new)
    error = refused("audit", target=path)
    assert str(path) in error
    assert names in error


@pytest.mark.parametrize("playbook", ["audit", "plan", "upgrade"])
def test_a_target_that_is_not_there_is_told_once_by_every_playbook(operator: Any, refused: Any, playbook: str) -> None:
    path = operator.folder / "nowhere.yml"
    assert f"{path}: cannot be read: No such file" in refused(playbook, target=path)


def test_a_policy_with_an_unknown_key_is_told_once(operator: Any, refused: Any) -> None:
    path = operator.folder / "policy.yml"
    path.write_text("failure_budgett: 3\n", encoding="utf-8")
    error = refused("plan", target=operator.target, policy=path)
    assert f"{path}, line 1: failure_budgett" in error
    assert "'failure_budget' (nearest)" in error


@pytest.mark.parametrize(
    "text, names",
    [
        pytest.param("max_wave: 0", "line 1: max_wave: is 0", id="zero slots"),
        pytest.param("failure_budget: yes", "line 1: failure_budget: is true", id="truth for a number"),
        pytest.param("growth: ~", "line 1: growth: is null", id="no growth"),
        pytest.param("capacity_floor_percent: 101", "capacity_floor_percent: is 101", id="floor above the fleet"),
        pytest.param("capacity_floor_percent: 100", "in service at all times", id="floor without room"),
        pytest.param("failure_domains: [{variable: fleet_rak}]", "'fleet_rack' (nearest)", id="unknown domain"),
        pytest.param("windows: [{from: '02:00', to: '02:00'}]", "line 1: windows[0]: never opens", id="shut window"),
        pytest.param("alert_gates: [{name: a, comand: [x]}]", "'command' (nearest)", id="unknown key of a gate"),
    ],
)
def test_a_policy_that_cannot_be_kept_is_told_once_and_begins_nothing(
    operator: Any, refused: Any, text: str, names: str
) -> None:
    path, begun = operator.folder / "policy.yml", operator.folder / "begun"
    path.write_text(f"{text}\n", encoding="utf-8")
    assert names in refused("upgrade", target=operator.target, policy=path, fleet_dir=begun)
    assert not (begun / "plans").exists()
    assert not (begun / "rollouts").exists()


@pytest.mark.parametrize("status, code", [(1, "alert_firing"), (3, "alert_unknown")])
def test_an_alert_gate_that_does_not_pass_refuses_the_first_wave_untouched(
    operator: Any, refused: Any, status: int, code: str
) -> None:
    gate = {"name": "cooling", "command": ["/bin/sh", "-c", f"exit {status}"]}
    path, records = operator.folder / "policy.yml", operator.folder / f"gated-{status}"
    path.write_text(json.dumps({**FLOOR, "alert_gates": [gate]}), encoding="utf-8")
    error = refused("upgrade", target=operator.target, policy=path, fleet_dir=records)
    assert re.search(rf"alert gate cooling .*\[{code}\]", error)
    (ledger,) = records.glob("rollouts/*/ledger.sqlite")
    with closing(sqlite3.connect(ledger)) as db:
        assert {row[0] for row in db.execute("SELECT state FROM nodes")} == {"planned"}
        assert [row[0] for row in db.execute("SELECT json_extract(data, '$.code') FROM events")][-1] == code


def test_a_waiver_for_a_rule_that_does_not_exist_is_told_with_its_line(operator: Any, refused: Any) -> None:
    path = operator.folder / "waiver.yml"
    waiver = {"nodes": ["*"], "rule": "gpu.cuont", "owner": "ops", "expires": "2099-01-01", "reason": "none"}
    path.write_text(f"failure_budget: 1\nwaivers:\n  - {json.dumps(waiver)}\n", encoding="utf-8")
    for playbook in ("audit", "plan"):
        error = refused(playbook, target=operator.target, policy=path)
        assert f"{path}, line 3: waivers[0].rule: is 'gpu.cuont'" in error
        assert "'gpu.count' (nearest)" in error


def test_a_target_beside_a_plan_is_refused_instead_of_ignored(operator: Any, refused: Any, plan: Path) -> None:
    error = refused("upgrade", plan=plan, target=operator.target)
    assert str(plan) in error
    assert "carries its own" in error


def test_a_fleet_dir_that_cannot_be_written_is_told_once(operator: Any, refused: Any) -> None:
    error = refused("audit", target=operator.target, fleet_dir=operator.target / "records")
    assert str(operator.target) in error


# -- overlays of the catalog ---------------------------------------------------------------------------------------

OVERLAY = """\
schema: 1
sources:
  ours: {words: "our own tests", as_of: "2026-11-01"}
known_bad:
  known_bad:
    - {id: site_kernel, when: {kernel: ["9.9"]}, severity: warn, why: "hangs", fix: "-", status: verified, source: ours}
"""


@pytest.fixture
def overlay(operator: Any) -> Iterator[Path]:
    """A good overlay, for a test to spoil."""
    path = operator.folder / "site.yml"
    path.write_text(OVERLAY, encoding="utf-8")
    yield path
    path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "old, new, names",
    [
        pytest.param("known_bad:\n  k", "known_bat:\n  k", "line 4: known_bat: is not a file", id="unknown file"),
        pytest.param("schema: 1", "schema: 1\nschema: 1", "the key 'schema' is there twice at line 2", id="key twice"),
        pytest.param(
            "severity: warn", "severity: loud", "line 6: known_bad.known_bad[0].severity", id="impossible value"
        ),
        pytest.param(
            'kernel: ["9.9"]', "kernel: [9.9]", "line 6: known_bad.known_bad[0].when", id="number for a version"
        ),
        pytest.param("source: ours", "source: our", "'ours' (nearest)", id="unknown source"),
        pytest.param("    - {id", "  - {{id", "is not YAML", id="not YAML"),
    ],
)
@pytest.mark.parametrize("playbook", ["audit", "plan"])
def test_a_bad_overlay_is_told_once(
    operator: Any, refused: Any, overlay: Path, old: str, new: str, names: str, playbook: str
) -> None:
    overlay.write_text(OVERLAY.replace(old, new), encoding="utf-8")
    error = refused(playbook, target=operator.target, fleet_catalog=overlay)
    assert str(overlay) in error
    assert names in error


def test_a_plan_follows_the_overlay_it_was_made_with_and_is_refused_where_that_changed_or_is_gone(
    operator: Any, refused: Any, overlay: Path
) -> None:
    mine = operator.elsewhere("overlay")
    assert mine.play("plan", target=operator.target, fleet_catalog=overlay, policy=FLOOR).status == 0
    (path,) = (mine.records / "plans").glob("*.json")
    assert json.loads(path.read_text(encoding="utf-8"))["inputs"]["catalog"]["path"] == str(overlay)
    assert mine.play("upgrade", "--check", plan=path).status == 0
    overlay.write_text(OVERLAY.replace("hangs", "halts"), encoding="utf-8")
    assert f"changed since it was made: the catalog {overlay};" in refused("upgrade", plan=path)
    overlay.unlink()
    assert f"{overlay}: cannot be read" in refused("upgrade", plan=path)


# -- inventories ---------------------------------------------------------------------------------------------------


@pytest.fixture
def inventory(operator: Any) -> Callable[[dict], Path]:
    """A function that writes an inventory of these groups, with the variables of the fleet's own."""

    def write(groups: dict[str, list[str]]) -> Path:
        own = yaml.safe_load((operator.state / "inventory.yml").read_text(encoding="utf-8"))["fleet"]
        path = operator.folder / "hosts.yml"
        rows = {name: {"hosts": {node: own["hosts"][node] for node in nodes}} for name, nodes in groups.items()}
        path.write_text(yaml.safe_dump({**rows, "all": {"vars": own["vars"]}}), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("playbook", ["audit", "rollback", "status"])
def test_an_inventory_without_a_fleet_is_told_once(operator: Any, refused: Any, inventory: Any, playbook: str) -> None:
    error = refused(playbook, inventory=inventory({"gpus": ["g01"]}), target=operator.target)
    assert "the group 'fleet' does not exist; groups seen: gpus" in error
    assert "-e fleet_group=NAME" in error


def test_an_empty_fleet_is_told_once(operator: Any, refused: Any, inventory: Any) -> None:
    error = refused("audit", inventory=inventory({"fleet": [], "gpus": ["g01"]}), target=operator.target)
    assert "the group 'fleet' is empty" in error


def test_a_group_of_another_name_will_do(operator: Any, inventory: Any) -> None:
    mine = operator.elsewhere("other-group")
    done = mine.play("audit", inventory=inventory({"gpus": ["g02"]}), target=operator.target, fleet_group="gpus")
    assert done.status == 0, done.text
    assert list(json.loads((mine.records / "audit.json").read_text(encoding="utf-8"))["records"]) == ["g02"]


# -- nodes that do not answer --------------------------------------------------------------------------------------


@pytest.fixture
def away(operator: Any) -> Iterator[Callable[[str], None]]:
    """A function that makes a node unreachable until the test is over."""
    gone: list[str] = []

    def take(node: str) -> None:
        gone.append(node)
        operator.simfleet("fault", node, "unreachable")

    yield take
    for node in gone:
        operator.simfleet("clear", node)
        operator.until_answers(node)


def test_the_audit_calls_a_node_that_does_not_answer_unknown_and_judges_the_others(operator: Any, away: Any) -> None:
    mine = operator.elsewhere("away")
    away("g01")
    done = mine.play("audit", target=operator.target)
    assert done.status == 2
    assert "Traceback" not in done.text
    assert re.search(r"^g01 .* unknown +node.reachable", done.text, re.MULTILINE)
    assert re.search(r"^g02 .* may move ", done.text, re.MULTILINE)
    assert "unreachable: 1 of 2 nodes (g01)" in done.errors()[-1]
    assert done.text.splitlines()[-1] == "unreachable: 1 of 2 nodes (g01)"


def test_an_upgrade_does_not_begin_while_a_node_of_its_plan_does_not_answer(
    plan: Path, refused: Any, away: Any, operator: Any
) -> None:
    away("g02")
    error = refused("upgrade", plan=plan, also=1)  # core tells the lost connection in a line of its own
    assert "these nodes do not answer: g02" in error
    assert "--limit 'all:!g02'" in error
    assert not (operator.records / "rollouts").exists()


# -- plans ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def copied(operator: Any, plan: Path) -> Callable[[Callable[[str], str]], Path]:
    """A function that gives a copy of the plan with its text changed."""

    def copy(change: Callable[[str], str]) -> Path:
        path = operator.folder / "copy.json"
        path.write_text(change(plan.read_text(encoding="utf-8")), encoding="utf-8")
        return path

    return copy


def test_a_plan_edited_by_hand_is_refused(refused: Any, copied: Any) -> None:
    path = copied(lambda text: text.replace('"failure_budget":0', '"failure_budget":9'))
    assert f"{path}: was edited by hand" in refused("upgrade", plan=path)


def test_half_a_plan_is_refused(refused: Any, copied: Any) -> None:
    path = copied(lambda text: text[: len(text) // 2])
    assert f"{path}: cannot be read" in refused("upgrade", plan=path)


def test_a_target_that_changed_after_planning_is_named(operator: Any, refused: Any, plan: Path) -> None:
    text = operator.target.read_text(encoding="utf-8")
    operator.target.write_text(text.replace("driver: 30.10.2", "driver: 30.10.1"), encoding="utf-8")
    try:
        error = refused("upgrade", plan=plan)
    finally:
        operator.target.write_text(text, encoding="utf-8")
    assert f"changed since it was made: the target {operator.target};" in error


def test_a_node_that_changed_after_planning_is_named(operator: Any, refused: Any, plan: Path) -> None:
    grub = "/etc/default/grub.d/mine.cfg"
    operator.shell("g02", f"echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX mce=off\"' > {grub}; update-grub")
    try:
        error = refused("upgrade", plan=plan)
    finally:
        operator.shell("g02", f"rm {grub}; update-grub")
    assert "changed since it was made: the facts of g02;" in error


# -- ledgers -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(operator: Any, plan: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Records of their own with a rollout that has begun, as its ledger's own code writes it: the folder, the file."""
    module = pytest.importorskip("ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger")
    content = json.loads(plan.read_text(encoding="utf-8"))
    path = tmp_path / "rollouts" / content["plan_id"] / "ledger.sqlite"
    one = module.Ledger.create(path, content)
    epoch = one.take_lease(NOBODY, ttl=60)
    for number in range(30):
        one.note(epoch, "g01", f"a look, number {number}")
    one.record(epoch, "g01", "admitted", reason="wave 1")
    one.release_lease(epoch)
    return tmp_path, path


@pytest.mark.parametrize("playbook", ["upgrade", "plan", "rollback", "status"])
def test_half_a_ledger_is_refused_and_named(
    operator: Any, refused: Any, plan: Path, ledger: tuple[Path, Path], playbook: str
) -> None:
    folder, path = ledger
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 100])
    wanted = {"plan": plan} if playbook == "upgrade" else {"target": operator.target}
    assert str(path) in refused(playbook, fleet_dir=folder, **wanted)
