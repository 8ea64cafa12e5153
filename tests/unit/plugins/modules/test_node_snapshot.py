# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_snapshot: the first one of a rollout stays."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("ansible", reason="ansible-core is not installed here")
import yaml

from ansible_collections.fleetops.instinct.plugins.module_utils import _sources
from ansible_collections.fleetops.instinct.plugins.module_utils._release import snapshot_goal
from ansible_collections.fleetops.instinct.plugins.modules import node_snapshot
from ansible_collections.fleetops.instinct.tests.unit.fake_apt import MIRROR, NEW, OLD, settled_node
from ansible_collections.fleetops.instinct.tests.unit.run_module import Runner

FILE = "/var/lib/fleetops/snapshots/r1.json"


@pytest.fixture
def run(monkeypatch, capsys):
    runner = Runner(monkeypatch, capsys)
    return lambda host, check=False, **options: runner(node_snapshot, host, check, **{"rollout": "r1", **options})


def test_check_run_check_run(run):
    host = settled_node()
    told = [run(host, check) for check in (True, False, True, False)]
    assert [one["changed"] for one in told] == [True, True, False, False]
    assert told[0]["snapshot"] == told[1]["snapshot"] == told[3]["snapshot"] == json.loads(host.files[FILE])
    assert host.ran == []


def test_check_mode_writes_nothing(run):
    host = settled_node()
    before = dict(host.files)
    run(host, check=True)
    assert host.files == before


def test_a_resumed_rollout_does_not_record_a_half_upgraded_node(run):
    host = settled_node()
    run(host)
    host.set_package("rocm", NEW["rocm"], "half-configured")
    told = run(host)
    assert (told["changed"], told["snapshot"]["packages"]["rocm"]["version"]) == (False, OLD["rocm"])


def test_another_rollout_has_its_own(run):
    host = settled_node()
    run(host)
    assert run(host, rollout="r2")["file"] == "/var/lib/fleetops/snapshots/r2.json"


def test_it_holds_what_a_way_back_needs(run):
    snapshot = run(settled_node())["snapshot"]
    assert snapshot["packages"]["rocm"] == {"version": OLD["rocm"], "state": "installed", "hold": True}
    assert sorted(snapshot["apt_files"]) == sorted([_sources.KEY, _sources.SOURCES, _sources.PIN])
    assert set(snapshot["kernel_settings"]["files"].values()) == {None}
    assert (snapshot["driver"], snapshot["kernel"]["cmdline"]) == ({"loaded": "6.12.12"}, ["ro", "quiet"])
    assert snapshot["rollback"] == {"ready": True, "why": []}


def test_a_keyring_that_is_no_text_comes_back_byte_by_byte(run):
    host = settled_node()
    host.files["/etc/apt/keyrings/amd.gpg"] = b"\x99\x01\x0d\xff\x00"
    host.files["/etc/apt/sources.list.d/amd.sources"] = (
        f"Types: deb\nURIs: {MIRROR}/rocm/apt/6.4.4\nSuites: jammy\nSigned-By: /etc/apt/keyrings/amd.gpg\n"
    )
    files = snapshot_goal(run(host)["snapshot"]).files()
    assert files["/etc/apt/keyrings/amd.gpg"] == b"\x99\x01\x0d\xff\x00"


def test_a_version_that_is_no_longer_offered_is_no_way_back(run):
    host = settled_node()
    host.set_package("rocm", "6.3.3.60303-74~22.04")
    told = run(host)["snapshot"]
    assert told["obtainable"]["rocm"] is False
    assert told["rollback"]["why"] == ["rocm 6.3.3.60303-74~22.04 is no longer offered by the repositories"]


@pytest.mark.parametrize("left", [{}, {"/var/lib/apt/lists/archive.ubuntu.com_ubuntu_Packages": "Package: x\n"}])
def test_no_lists_of_amd_is_not_known_rather_than_gone(run, left):
    host = settled_node()
    host.files = {path: text for path, text in host.files.items() if not path.startswith("/var/lib/apt")}
    host.files.update(left)
    told = run(host)["snapshot"]
    assert set(told["obtainable"].values()) == {None}
    assert told["rollback"]["ready"] is False


def test_a18_a_broken_package_is_no_state_to_go_back_to(run):
    host = settled_node()
    host.set_package("amdgpu-dkms", OLD["amdgpu-dkms"], "half-configured")
    told = run(host)["snapshot"]["rollback"]
    assert told == {"ready": False, "why": [f"amdgpu-dkms {OLD['amdgpu-dkms']} is half-configured"]}


@pytest.mark.parametrize(
    "text, seen",
    [("{", "is no JSON"), ("[]", "lacks schema"), ('{"schema": 1}', "lacks rollout"), ("", "is no JSON")],
)
def test_a_corrupt_file_is_named_and_left_alone(run, text, seen):
    host = settled_node()
    host.files[FILE] = text
    told = run(host)
    assert told["msg"].startswith(f"{FILE}: {seen}")
    assert host.files[FILE] == text


def test_the_snapshot_of_another_rollout_under_this_name_is_refused(run):
    host = settled_node()
    run(host, rollout="r2")
    host.files[FILE] = host.files["/var/lib/fleetops/snapshots/r2.json"]
    assert "is of schema 1 and rollout 'r2'" in run(host)["msg"]


@pytest.mark.parametrize("rollout", ["../../etc/passwd", "a/b", "", ".hidden", "a\nb"])
def test_a_name_that_leads_out_of_the_folder_is_refused(run, rollout):
    host = settled_node()
    assert run(host, rollout=rollout)["msg"].startswith("rollout: ")
    assert FILE not in host.files


def test_a_status_that_cannot_be_read_is_no_snapshot(run):
    host = settled_node()
    host.files["/var/lib/dpkg/status"] = {"error": "EIO"}
    assert run(host)["msg"] == "/var/lib/dpkg/status: OSError: EIO"


def test_the_documentation_names_every_option():
    assert sorted(yaml.safe_load(node_snapshot.DOCUMENTATION)["options"]) == sorted(node_snapshot.SPEC)
