# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The slow subset lspci: it fills what is null, keeps what was read, and says where the two disagree."""

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import (
    COLLECTORS,
    SLOW,
    gather,
    select,
)
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES, RecordedHost

COMMAND = "lspci -D -nn -vvv"
GPU, UP = "0000:13:00.0", "0000:11:00.0"


def device(bdf, state="Speed 32GT/s, Width x16", header="[1002:74a1]"):
    return f"""{bdf} Processing accelerators [1200]: AMD {header}
\t\tDevSta:\tCorrErr- NonFatalErr- FatalErr+ UnsupReq-
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L0s L1
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes
\t\tLnkSta:\t{state}
\t\tLnkCtl2: Target Link Speed: 32GT/s, EnterCompliance- SpeedDis-

"""


def machine(text, without=("config", "current_link_speed", "current_link_width"), answer=None):
    """A healthy machine, one port of which does not show some files."""
    recorded = json.loads((MACHINES / "mi300x-8gpu-healthy.json").read_text(encoding="utf-8"))
    folder = f"/sys/devices/pci0000:10/0000:10:01.1/{UP}"
    recorded["files"] = {
        path: x for path, x in recorded["files"].items() if path not in [f"{folder}/{n}" for n in without]
    }
    recorded["commands"] = {COMMAND: answer or [0, text, ""]}
    return RecordedHost(recorded)


def gathered(host, subsets=("link", "lspci")):
    facts = gather(host, list(subsets))
    return facts["gpus"][0]["link"], {
        row["subject"]: row["reason"] for row in facts["problems"] if row["subset"] == "lspci"
    }


def test_it_is_asked_only_by_name():
    assert "lspci" in SLOW
    assert "lspci" not in select(["all"])
    assert select(["lspci", "link"]) == ["link", "lspci"]
    assert list(COLLECTORS).index("link") < list(COLLECTORS).index("lspci")


def test_what_is_null_is_filled_and_the_rest_is_kept():
    path, _rows = gathered(machine(device(UP, "Speed 16GT/s, Width x8")))
    hop = path[2]
    assert (hop["speed_gts"], hop["width"], hop["samples_gts"], hop["max_speed_gts"]) == (16.0, 8, [16.0], 32.0)
    assert (hop["device_errors"], hop["answers"], hop["role"]) == (["fatal"], True, "board_switch")
    assert hop["aspm"] == {"l0s": False, "l1": True, "supported": ["l0s", "l1"], "source": "lspci"}
    assert path[0]["aspm"]["source"] == "config"


def test_a_number_that_sysfs_tells_otherwise_is_kept_and_told():
    path, rows = gathered(machine(device(GPU, "Speed 16GT/s, Width x16"), without=()))
    assert path[0]["speed_gts"] == 32.0
    assert rows[f"{GPU} current_link_speed"] == "32.0 in sysfs, 16.0 by lspci"
    assert rows[f"{GPU} hop {UP}"] == "lspci does not list it"


def test_a_device_that_does_not_answer_is_told_c14():
    path, rows = gathered(machine(f"{UP} Bridge (rev ff)\n\t!!! Unknown header type 7f\n"))
    assert path[2]["answers"] is False
    assert "does not answer" in rows[f"{GPU} hop {UP}"]


@pytest.mark.parametrize(
    "answer, row",
    [
        ({"error": "no end after 30 s"}, "no end after 30 s"),
        ([1, "", "pcilib: no access"], "exit status 1: pcilib: no access"),
    ],
)
def test_a_command_that_fails_leaves_the_facts_as_they_were(answer, row):
    path, rows = gathered(machine("", answer=answer))
    assert (path[2]["speed_gts"], path[0]["speed_gts"]) == (None, 32.0)
    assert rows == {"lspci": row}


def test_a_node_without_lspci_is_no_node_without_gpus():
    host = machine("")
    host.commands = {}
    path, rows = gathered(host, ["lspci", "link"])
    assert len(path) == 4
    assert rows["lspci"].startswith("cannot be started")


def test_nothing_is_started_where_there_is_no_gpu():
    host = RecordedHost.load("no-gpu")
    gather(host, ["lspci"])
    assert host.ran == []


def test_alone_it_tells_what_lspci_tells():
    path, _rows = gathered(machine(device(GPU)), ["lspci"])
    assert (path[0]["speed_gts"], path[1]) == (32.0, {"bdf": "0000:12:00.0"})
