# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role bios over simulated nodes and their BMCs: what is staged, refused, applied and shown, and what never is."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.fleetops.instinct.tests.integration import bmc_bench

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

SMALL = {"poll": 0.2, "wait": 20, "pause": 0.2}
WISH = {"smt": "Enabled", "aspm": "Disabled"}
SMT = "/sys/devices/system/cpu/smt/active"
MODULE = "fleetops.instinct.redfish_bios"


class Bench(bmc_bench.Bench):
    """The same with the role under test."""

    def play(self, hosts, *words, tasks=(), wishes=None, **variables):
        """Run the role, or tasks, over hosts to the end: status and text."""
        play = {"hosts": hosts, "gather_facts": False, "module_defaults": {MODULE: SMALL}, "tasks": list(tasks)}
        play["roles"] = [] if tasks else [{"role": "fleetops.instinct.bios"}]
        given = {"bios_poll": 0.2, "bios_wait": 20, **variables}
        more = ("-e", json.dumps({"bios_attributes": WISH if wishes is None else wishes}), *words)
        done = subprocess.run(**self.command(play, more, given), timeout=300, check=False)
        return done.returncode, done.stdout

    def smt(self, *nodes):
        """Whether the nodes' kernels have SMT, by their own word."""
        return [self.operator.shell(node, f"cat {SMT}") for node in nodes]


@pytest.fixture(name="bench", scope="module")
def _bench(operator):
    return Bench(operator)


def test_a_prediction_shows_the_difference_and_leaves_everything_alone(bench):
    boots = bench.operator.boots()
    status, text = bench.play("open:dell", "--check", "--diff")
    assert status == 0, text[-3000:]
    assert [line in text for line in ("-SMTControl: Disabled", "+SMTControl: Enabled", "+LogicalProc: Enabled")] == [
        True
    ] * 3
    assert [bench.bmc(node)["bios"]["stagings"] for node in ("open", "dell")] == [0, 0]
    assert (bench.operator.boots(), bench.smt("open", "dell")) == (boots, ["0", "0"])


def test_settings_are_staged_applied_by_a_reboot_and_seen_by_the_nodes_themselves(bench):
    boots = bench.operator.boots()
    status, text = bench.play("open:dell", "--diff")
    assert status == 0, text[-3000:]
    assert bench.smt("open", "dell") == ["1", "1"]
    assert [bench.operator.boots()[node] - boots[node] for node in ("open", "dell")] == [1, 1]
    assert "-SMTControl: Disabled" in text


def test_a_second_run_changes_nothing_and_does_not_reboot(bench):
    boots = bench.operator.boots()
    status, text = bench.play("open:dell")
    assert (status, text.count("changed=0")) == (0, 2), text[-3000:]
    assert bench.operator.boots() == boots


def test_what_somebody_else_staged_is_refused_by_name_before_any_reboot(bench):
    bench.operator.simfleet("bmc", "taken", "on", "pending_settings_of_somebody_else", "setting=iommu")
    boots = bench.operator.boots()
    status, text = bench.play("taken")
    assert status != 0
    assert "ProcAmdIoVt Disabled (now Enabled) [foreign_pending]" in " ".join(text.split())
    assert (bench.operator.boots(), bench.bmc("taken")["bios"]["stagings"]) == (boots, 0)


def test_what_somebody_else_staged_is_taken_back_where_the_operator_says_so(bench):
    status, text = bench.play("taken", bios_foreign="discard")
    assert status == 0, text[-3000:]
    assert "is taken back" in text
    applied = bench.bmc("taken")["bios"]["applied"]
    assert (applied["ProcAmdIoVt"], applied["ProcSMT"], bench.smt("taken")) == ("Enabled", "Enabled", ["1"])


def test_a_wish_that_would_switch_the_global_c_states_off_is_refused(bench):
    status, text = bench.play("open", wishes={"GlobalC_stateControl": "Disabled"})
    assert (status != 0, "[global_cstate]" in text, bench.bmc("open")["bios"]["pending"]) == (True, True, {})


def test_settings_are_read_and_the_password_is_nowhere(bench):
    tasks = [{MODULE: {}, "register": "told"}, {"ansible.builtin.debug": {"msg": "smt {{ told.settings.smt.value }}"}}]
    runs = [bench.play("open:dell", "-vvv", "--diff", tasks=tasks), bench.play("open", "-vvv", "--diff")]
    assert [status for status, _text in runs] == [0, 0], runs[0][1][-3000:]
    assert runs[0][1].count("smt Enabled") == 2
    assert [text for _status, text in runs if bench.credentials["password"] in text] == []


def test_no_session_is_left_behind(bench):
    assert [bench.bmc(node)["sessions"]["open"] for node in ("open", "dell", "taken")] == [0, 0, 0]
