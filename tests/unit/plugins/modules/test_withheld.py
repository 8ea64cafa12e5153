# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A canary in the sources of a node: no module ever returns it, and the way back restores it all the same."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("ansible", reason="ansible-core is not installed here")

from ansible_collections.fleetops.instinct.plugins.module_utils import _converge, _kernel
from ansible_collections.fleetops.instinct.plugins.modules import (
    kernel_settings,
    node_facts,
    node_snapshot,
    rocm_release,
)
from ansible_collections.fleetops.instinct.tests.unit import fake_apt
from ansible_collections.fleetops.instinct.tests.unit.fake_apt import MIRROR, OLD, parameters, settled_node, versions
from ansible_collections.fleetops.instinct.tests.unit.run_module import Runner

CANARY = "tweety"
SOURCES = "/etc/apt/sources.list.d/rocm.list"
OTHER = "/etc/apt/sources.list.d/amd.sources"
KEPT = "/var/lib/fleetops/snapshots/r1.json"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a module and hold that nothing it says has the canary in it."""
    runner = Runner(monkeypatch, capsys)

    def one(module, host, check=False, diff=True, **options):
        monkeypatch.setattr(_converge, "Room", lambda: fake_apt.Room(host))
        told = runner(module, host, check, diff, **options)
        assert CANARY not in json.dumps(told)
        return told

    return one


@pytest.fixture
def host():
    """A node on the old release, whose sources carry credentials and may be read by root alone."""
    node = settled_node()
    node.files[SOURCES] = node.files[SOURCES].replace(b"http://", f"http://me:{CANARY}@".encode())
    node.modes[SOURCES] = 0o600
    for address in list(node.repositories):
        node.repositories[address.replace("http://", f"http://me:{CANARY}@")] = node.repositories[address]
    return node


def snapshot_of(run, host):
    return run(node_snapshot, host, rollout="r1")["snapshot"]


def test_the_text_stays_on_the_node_and_a_digest_goes(run, host):
    returned, kept = snapshot_of(run, host), json.loads(host.files[KEPT])
    record = returned["apt_files"][SOURCES]
    assert (record["kept_in"], record["mode"], sorted(record)) == (KEPT, "0600", ["kept_in", "mode", "withheld"])
    assert kept["apt_files"][SOURCES]["text"].count(CANARY) == 2
    assert host.modes[KEPT] == 0o600
    assert snapshot_of(run, host) == returned


def test_the_digest_does_not_let_a_password_be_tried(run, host):
    first = snapshot_of(run, host)["apt_files"][SOURCES]["withheld"]
    second = run(node_snapshot, host, rollout="r2")["snapshot"]["apt_files"][SOURCES]["withheld"]
    assert first != second


def test_the_way_back_restores_the_very_file_and_its_mode(run, host):
    before, snapshot = host.files[SOURCES], snapshot_of(run, host)
    run(rocm_release, host, **parameters())
    assert host.files[SOURCES] != before
    host.modes[SOURCES] = 0o644
    told = [run(rocm_release, host, check, snapshot=snapshot) for check in (True, False, True, False)]
    assert [one["changed"] for one in told] == [True, True, False, False]
    assert (host.files[SOURCES], host.modes[SOURCES], versions(host)) == (before, 0o600, OLD)
    assert "http://***@mirror.example/rocm" in told[0]["diff"]["after"]


def test_a_kernel_setting_with_credentials_is_withheld_too(run, host):
    text = f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT nfs=http://me:{CANARY}@m/x"\n'
    host.files[_kernel.DROP_IN] = text
    snapshot = snapshot_of(run, host)
    assert sorted(snapshot["kernel_settings"]["files"][_kernel.DROP_IN]) == ["kept_in", "mode", "withheld"]
    assert run(kernel_settings, host, check=True, snapshot=snapshot)["settings"]["files"] == []


def lost(host):
    del host.files[KEPT]


def other(host):
    host.files[KEPT] = host.files[KEPT].replace(CANARY, "sylvester")


def emptied(host):
    kept = json.loads(host.files[KEPT])
    del kept["apt_files"][SOURCES]
    host.files[KEPT] = json.dumps(kept)


@pytest.mark.parametrize("harm, seen", [(lost, "is not there"), (other, "does not hold"), (emptied, "does not hold")])
@pytest.mark.parametrize("module", [rocm_release, kernel_settings])
def test_without_the_nodes_own_file_nothing_is_changed(run, host, module, harm, seen):
    snapshot = snapshot_of(run, host)
    run(rocm_release, host, **parameters())
    harm(host)
    before, host.ran = dict(host.files), []
    told = run(module, host, snapshot=snapshot)
    assert told["msg"].startswith(f"{KEPT}: {seen}")
    assert f"{SOURCES} has credentials in it" in told["msg"]
    assert (host.files, host.ran) == (before, [])


@pytest.mark.parametrize("as_text", [False, True])
def test_the_facts_tell_the_address_without_them(run, host, as_text):
    host.files[OTHER] = f"Types: deb\nURIs: https://me:{CANARY}@mirror.example/rocm/apt/6.4.4\nSuites: jammy\n"
    told = run(node_facts, host, gather_subset=["rocm"], as_text=as_text)
    told = json.loads(told["facts"])["rocm"] if as_text else told["ansible_facts"]["instinct"]["rocm"]
    assert {row["line"].split("//")[1].split("/")[0] for row in told["repositories"]} == {"***@mirror.example"}


@pytest.mark.parametrize("word", ["update", "install"])
def test_an_error_of_apt_with_the_address_in_it(run, host, word):
    said = f"Err:1 http://me:{CANARY}@mirror.example/rocm/apt/6.4.4 jammy Release\n  401  Unauthorized\n"
    host.answers[word] = (100, said)
    told = run(rocm_release, host, **parameters())
    assert told["msg"].startswith("http://***@mirror.example/rocm/apt/6.4.4: 401 Unauthorized")
    assert "http://***@mirror.example" in told["output"]


def test_a_failed_change_leaves_the_sources_as_they_were_with_their_mode(run, host):
    before = host.files[SOURCES]
    host.answers["install"] = (100, "E: no\n")
    assert run(rocm_release, host, **parameters())["failed"] is True
    assert (host.files[SOURCES], host.modes[SOURCES]) == (before, 0o600)


def test_the_rehearsal_keeps_its_copy_of_the_sources_to_itself(run, host, monkeypatch):
    seen = {}
    monkeypatch.setattr(fake_apt.Room, "__exit__", lambda room, *_ignored: seen.update(room.host.modes))
    host.files[OTHER] = f"Types: deb\nURIs: https://me:{CANARY}@mirror.example/other\nSuites: jammy\n"
    assert run(rocm_release, host, check=True, **parameters())["changed"] is True
    assert {seen[f"/room{path}"] for path in (SOURCES, OTHER)} == {0o600}
    assert seen["/room/etc/apt/keyrings/rocm.asc"] == 0o644


def test_credentials_in_the_wanted_address_are_refused_and_not_repeated(run, host):
    options = parameters()
    options["repository"] = {**options["repository"], "rocm": f"https://me:{CANARY}@mirror.example/rocm/apt/7.0.2"}
    told = run(rocm_release, host, **options)
    assert told["msg"].startswith("repository, rocm: https://***@mirror.example/rocm/apt/7.0.2 holds credentials")
    assert "/etc/apt/auth.conf.d" in told["msg"]
    assert host.ran == []


def test_the_lists_of_an_address_with_credentials_are_known_and_forgotten(run, host):
    snapshot_of(run, host)
    run(rocm_release, host, **parameters())
    assert MIRROR.encode() in host.files[SOURCES]
    assert [path for path in host.files if path.startswith("/var/lib/apt/lists/") and "6.4.4" in path] == []
