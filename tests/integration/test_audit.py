# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an audit ends over a fleet with one node of each kind, and over facts that were saved; and that it only looks."""

from __future__ import annotations

import json
import os
import shutil
import stat
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

TESTS = Path(__file__).resolve().parents[1]
NODES = ("well", "there", "mi210", "slow", "unread", "away", "mi250", "nogpu")
LINE = (
    "unreachable: 1 of 8 nodes (away); unknown: 2 of 8 nodes (nogpu, unread); "
    "unhealthy: 1 of 8 nodes (slow); blocked: 1 of 8 nodes (mi250)"
)
# Every file of a node by name, owner, mode, size, both times and target; other file systems are made by its kernel.
# Of folders the times are left out: /tmp gets new ones from Ansible's look whether it may write there.
EVERYTHING = r"find / -xdev -type d -printf '%p %m %u %g\n' -o -printf '%p %y %m %u %g %s %T@ %C@ %l\n' | sort"
WAIVER = {"nodes": ["*"], "owner": "ops", "reason": "spare part on order"}


def of_the_login(line: str) -> bool:
    """Without pipelining Ansible makes a folder for temporary files, and asks for a terminal: sshd writes that down."""
    return line.startswith(("/root/.ansible ", "/root/.ansible/tmp ", "/var/log/lastlog ", "/var/log/wtmp "))


def changed(before: str, after: str) -> list[str]:
    return [line for line in sorted({*before.splitlines()} ^ {*after.splitlines()}) if not of_the_login(line)]


def result(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "audit.json").read_text(encoding="utf-8"))


def classes(folder: Path) -> dict[str, str]:
    return {node: record["class"] for node, record in result(folder)["records"].items()}


@pytest.fixture(scope="module")
def target(operator: Any) -> Path:
    """The fleet's own target without MI250."""
    content = yaml.safe_load(operator.target.read_text(encoding="utf-8"))
    del content["products"]["MI250"]
    path = operator.state / "without-mi250.yml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def seen(operator: Any, target: Path) -> SimpleNamespace:
    """The audit of the whole fleet, with every form of its report."""
    folder, before = operator.folder, {name: operator.shell(name, EVERYTHING) for name in ("well", "slow")}
    forms = {"audit_junit": folder / "out" / "audit.xml", "audit_markdown": folder / "out" / "audit.md"}
    done = operator.play("audit", target=target, **forms)
    after = {name: operator.shell(name, EVERYTHING) for name in before}
    return SimpleNamespace(done=done, before=before, after=after, result=result(operator.records), **forms)


# -- ends ----------------------------------------------------------------------------------------------------------


def test_the_worst_code_comes_first_in_the_last_line_in_the_message_and_in_the_result(seen: Any) -> None:
    assert seen.done.status == 2
    assert seen.done.text.splitlines()[-1] == LINE
    assert LINE in seen.done.errors()[-1]
    assert seen.result["summary"]["code"] == "unreachable"
    codes = {"unreachable": 1, "unknown": 2, "unhealthy": 1, "blocked": 1}
    assert list(seen.result["summary"]["codes"].items()) == list(codes.items())


def test_each_node_is_told_with_its_own_reason(seen: Any) -> None:
    reasons = {
        "nogpu": "no GPU on the PCI bus",
        "mi250": "MI250, wanted a product of the target",
        "slow": "16.0 GT/s (Gen4), wanted 32.0 GT/s (Gen5)",
    }
    text = " ".join(seen.done.text.split())
    assert [reason for reason in reasons.values() if reason not in text] == []
    # ssh tells why, or is gone already by the time that Ansible writes to it
    assert "Connection refused" in text or "could not be sent to remote host" in text
    assert "Traceback" not in seen.done.text


@pytest.mark.parametrize(
    "limit, line",
    [
        ("well,there,mi210", "clean: 3 nodes"),
        ("well,nogpu", "unknown: 1 of 2 nodes (nogpu)"),
        ("away", "unreachable: 1 of 1 node (away)"),
        ("slow", "unhealthy: 1 of 1 node (slow)"),
        ("mi250,well", "blocked: 1 of 2 nodes (mi250)"),
    ],
)
def test_a_limit_is_audited_alone_and_check_mode_says_and_writes_the_same(
    operator: Any, target: Path, limit: str, line: str
) -> None:
    mine = operator.elsewhere(limit)
    for words in ([], ["--check"]):
        done = mine.play("audit", "--limit", limit, *words, target=target)
        assert (done.status, done.text.splitlines()[-1]) == (0 if line.startswith("clean") else 2, line)
        told = result(mine.records)
        assert (told["summary"]["code"], sorted(told["records"])) == (line.split(":")[0], sorted(limit.split(",")))
        shutil.rmtree(mine.records)


@pytest.mark.parametrize("playbook", ["audit", "plan", "upgrade"])
def test_a_limit_outside_of_the_fleet_does_not_end_well(operator: Any, target: Path, playbook: str) -> None:
    path = operator.folder / "more.yml"
    groups = yaml.safe_load((operator.state / "inventory.yml").read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**groups, "other": {"hosts": {"login1": {}}}}), encoding="utf-8")
    done = operator.play(playbook, "--limit", "login1", target=target, inventory=path)
    assert done.status != 0
    assert "bad_input: inventory: the group 'fleet' has no host that --limit leaves" in done.text


def test_bad_input_is_the_last_line_and_takes_the_place_of_an_earlier_result(operator: Any, target: Path) -> None:
    mine = operator.elsewhere("twice")
    assert mine.play("audit", "--limit", "well", target=target).status == 0
    done = mine.play("audit", "--limit", "well", target=operator.folder / "gone.yml")
    assert done.status == 2
    assert done.text.splitlines()[-1].startswith(f"bad_input: {operator.folder / 'gone.yml'}: cannot be read")
    told = result(mine.records)
    assert (told["summary"]["code"], told["records"]) == ("bad_input", {})


@pytest.mark.parametrize(
    "rule, expires, limit, line",
    [
        ("link.speed", "2099-01-01", "slow", "clean: 1 node"),
        ("gpu.count", "2026-01-01", "well", "waiver_expired: 1 of 1 node (well)"),
        ("link.speed", "2026-01-01", "slow", "unhealthy: 1 of 1 node (slow); waiver_expired: 1 of 1 node (slow)"),
    ],
)
def test_a_waiver_counts_to_its_last_day(
    operator: Any, target: Path, rule: str, expires: str, limit: str, line: str
) -> None:
    mine = operator.elsewhere(f"waiver-{rule}-{expires}")
    policy = {"waivers": [{**WAIVER, "rule": rule, "expires": expires}]}
    assert mine.play("audit", "--limit", limit, target=target, policy=policy).text.splitlines()[-1] == line


# -- files ---------------------------------------------------------------------------------------------------------


def test_every_form_is_there_for_anybody_to_read(operator: Any, seen: Any) -> None:
    page, mode = operator.records / "audit.html", stat.S_IMODE
    paths = [operator.records / "audit.json", page, seen.audit_junit, seen.audit_markdown]
    assert {mode(os.stat(path).st_mode) for path in paths} == {0o644}
    assert "<html" in page.read_text(encoding="utf-8")
    assert sum(1 for _ in ET.parse(seen.audit_junit).iter("testcase")) > len(NODES)
    assert all(name in seen.audit_markdown.read_text(encoding="utf-8") for name in ("away", "slow", "mi250"))


def test_a_place_where_nothing_can_be_written_is_told_before_a_node_is_asked(operator: Any, target: Path) -> None:
    mine = operator.elsewhere("nowhere")
    done = mine.play("audit", target=target, audit_junit=target / "audit.xml")
    assert done.text.splitlines()[-1].startswith(f"bad_input: {target}")
    assert not (mine.records / "records").exists()


# -- it only looks -------------------------------------------------------------------------------------------------


def test_nothing_is_written_on_a_node(seen: Any) -> None:
    assert min(text.count("\n") for text in seen.before.values()) > 10_000
    assert [changed(seen.before[name], seen.after[name]) for name in seen.before] == [[], []]


def test_nothing_stays_on_a_node_where_ansible_copies_its_modules(
    operator: Any, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_PIPELINING", "false")
    before = operator.shell("well", EVERYTHING)
    assert operator.elsewhere("copied").play("audit", "--limit", "well", target=target).status == 0
    assert changed(before, operator.shell("well", EVERYTHING)) == []
    assert operator.shell("well", "find /root/.ansible -type f") == ""


# -- somebody who is not root --------------------------------------------------------------------------------------


@pytest.fixture
def ops(operator: Any) -> Any:
    """An account without rights on a node, for as long as the test takes."""
    home = "install -D -o ops -m 600 /root/.ssh/authorized_keys /home/ops/.ssh/authorized_keys; chown -R ops /home/ops"
    operator.shell("well", f"useradd -m -p '*' ops; {home}")
    yield {"ansible_user": "ops"}
    operator.shell("well", "userdel -f -r ops")


def test_somebody_who_is_not_root_is_told_what_could_not_be_seen_and_gets_no_pass(
    operator: Any, target: Path, ops: dict[str, str]
) -> None:
    mine = operator.elsewhere("ops")
    done = mine.play("audit", "--limit", "well", target=target, ansible_become="false", **ops)
    assert done.text.splitlines()[-1] == "unknown: 1 of 1 node (well)"
    found = {row["rule"]: row["observed"] for row in result(mine.records)["records"]["well"]["findings"]}
    assert all(place in found["facts.privilege"] for place in ("/proc (activity)", "/dev/kmsg (log)"))


def test_an_account_that_may_not_become_root_makes_an_unknown_node_that_says_so(
    operator: Any, target: Path, ops: dict[str, str]
) -> None:
    mine = operator.elsewhere("no-sudo")
    done = mine.play("audit", "--limit", "well", target=target, **ops)
    assert done.text.splitlines()[-1] == "unknown: 1 of 1 node (well)"
    (finding,) = result(mine.records)["records"]["well"]["findings"]
    assert finding["rule"] == "node.facts"
    assert "sudo: not found" in finding["observed"]


# -- saved facts ---------------------------------------------------------------------------------------------------


@pytest.fixture
def no_ssh(operator: Any, target: Path, tmp_path: Path) -> Callable[..., Any]:
    """A function that audits saved facts where every start of ssh leaves a mark, and insists that there was none."""
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'}\nexit 255\n", encoding="ascii")
    program.chmod(0o755)

    def run(mine: Any, folder: Path, *words: str, **variables: Any) -> Any:
        given = {"target": target, "fleet_facts_from": folder, "ansible_ssh_executable": program, **variables}
        done = mine.play("audit", *words, **given)
        assert not (tmp_path / "started").exists()
        assert "Traceback" not in done.text
        return done

    return run


@pytest.fixture(scope="module")
def unroutable(operator: Any) -> Path:
    """The fleet's inventory, with addresses that nothing answers at."""
    hosts = {node: {"ansible_host": f"192.0.2.{number}", "fleet_rack": "r9"} for number, node in enumerate(NODES)}
    path = operator.folder / "unroutable.yml"
    path.write_text(yaml.safe_dump({"fleet": {"hosts": hosts}}), encoding="utf-8")
    return path


def test_facts_of_an_earlier_audit_are_judged_again_without_a_connection(
    operator: Any, seen: Any, unroutable: Path, no_ssh: Any
) -> None:
    mine = operator.elsewhere("again")
    done = no_ssh(mine, operator.records / "facts", inventory=unroutable)
    assert done.text.splitlines()[-1] == LINE
    assert classes(mine.records) == {node: row["class"] for node, row in seen.result["records"].items()}
    told = result(mine.records)["records"]
    assert {row["rack"] for row in told.values()} == {"r9"}
    assert "no file of that name in" in told["away"]["findings"][0]["observed"]


def test_a_limit_holds_for_saved_facts_too_and_a_file_without_a_host_is_told(
    operator: Any, seen: Any, unroutable: Path, no_ssh: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "facts"
    shutil.copytree(operator.records / "facts", folder)
    shutil.copy(folder / "well.json", folder / "stranger.json")
    done = no_ssh(operator.elsewhere("some"), folder, "--limit", "well,there", inventory=unroutable)
    assert done.text.splitlines()[-1] == "clean: 2 nodes"
    assert "files that no host of the inventory is named like: stranger" in " ".join(done.text.split())


@pytest.mark.parametrize("inventory", ["localhost,", "/dev/null"])
def test_without_an_inventory_each_file_is_a_node(operator: Any, seen: Any, no_ssh: Any, inventory: str) -> None:
    mine = operator.elsewhere(f"no-inventory-{len(inventory)}")
    done = no_ssh(mine, operator.records / "facts", inventory=inventory)
    assert done.text.splitlines()[-1].startswith("unknown: 2 of 7 nodes (nogpu, unread); unhealthy: 1 of 7 nodes")
    assert sorted(classes(mine.records)) == sorted(set(NODES) - {"away"})


def test_recorded_machines_are_judged_by_the_facts_that_are_in_them(operator: Any, no_ssh: Any) -> None:
    mine = operator.elsewhere("machines")
    no_ssh(mine, TESTS / "fixtures" / "machines", inventory="localhost,")
    told = classes(mine.records)
    assert len(told) > 20
    assert told["no-gpu"] == "unknown"
    assert told["mi300x-slot-at-gen4"] == "unhealthy"


ODD: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda text: "", "is empty"),
    "list": (lambda text: "[]", "is a JSON list"),
    "half": (lambda text: text[:9999], "is not JSON"),
    "old": (lambda text: text.replace('"schema":1', '"schema":0'), "has schema 0"),
    "new": (lambda text: text.replace('"74a1"', '"7fff"'), "7fff"),
    "odd": (lambda text: text.replace('"link":[', '"link":7,"x":['), "facts that cannot be judged"),
}


def test_what_is_no_facts_or_no_known_product_is_an_unknown_node_with_the_reason(
    operator: Any, seen: Any, no_ssh: Any, tmp_path: Path
) -> None:
    facts = (operator.records / "facts" / "well.json").read_text(encoding="utf-8")
    (tmp_path / "facts").mkdir()
    for name, (change, _reason) in ODD.items():
        (tmp_path / "facts" / f"{name}.json").write_text(change(facts), encoding="utf-8")
    mine = operator.elsewhere("odd")
    no_ssh(mine, tmp_path / "facts", inventory="localhost,")
    assert classes(mine.records) == dict.fromkeys(sorted(ODD), "unknown")
    found = {node: str(row["findings"]) for node, row in result(mine.records)["records"].items()}
    assert [node for node, (_change, reason) in ODD.items() if reason not in found[node]] == []


# -- more reading --------------------------------------------------------------------------------------------------


def test_more_is_read_on_request(operator: Any, target: Path) -> None:
    mine = operator.elsewhere("more")
    words = ["-e", json.dumps({"fleet_gather_subset": ["all", "smi"]})]
    mine.play("audit", "--limit", "well", *words, target=target)
    facts = json.loads((mine.records / "facts" / "well.json").read_text(encoding="utf-8"))
    assert "smi" in facts["gpus"][0] or any(row["subset"] == "smi" for row in facts["problems"])


def test_a_part_that_there_is_not_is_told_once(operator: Any, target: Path) -> None:
    done = operator.elsewhere("parts").play("audit", target=target, fleet_gather_subset="gpus")
    assert done.text.splitlines()[-1].startswith("bad_input: gather_subset: gpus; wanted: all, or any of node, ")
