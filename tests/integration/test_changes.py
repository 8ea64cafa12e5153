# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that change a node, over ssh on a simulated one with real apt and real dkms.

Needs root, ansible-core, and a few seconds per test: a node of its own is started for each.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FLEET = """\
base: {base}
defaults: {{product: MI300X, gpus: 8, rocm: "6.4.4", driver: "6.4.4"}}
racks: {{r1: [g01]}}
"""
# Everything that a change could touch, without what a look at the node touches: the log, the session, compiled Python.
TREE = (
    "cd / && find etc boot opt usr lib/modules var/lib/apt var/lib/dpkg var/lib/dkms var/cache/apt -xdev "
    "-not -name '*.pyc' -not -name __pycache__ -printf '%p %y %m %s %T@ %l\\n' | sort; "
    "sha256sum var/lib/dpkg/status; ls /tmp"
)
OLD_STATE = (
    "dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n' | grep -E 'rocm|amdgpu|hip|hsa|comgr|amd-smi'"
)
APT_FILES = "cd /etc/apt && find . -type f | sort | xargs sha256sum"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the simulated fleet needs root"),
    pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="the simulated fleet needs mmdebstrap"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="the nodes are reached by ssh"),
]


def free_base() -> int:
    """A network 127.0.N.0 whose mirror address nobody listens on."""
    for base in range(140, 250):
        with socket.socket() as probe:
            if probe.connect_ex((f"127.0.{base}.254", 80)) != 0:
                return base
    pytest.skip("no free address for a fleet")


class Node:
    """One simulated node: shell commands, faults, and modules run by Ansible."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def simfleet(self, *words: str) -> str:
        command = [sys.executable, "-m", "simfleet", "--state", str(self.state), *words]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shell(self, line: str) -> str:
        return self.simfleet("ssh", "g01", "--", line)

    def module(self, name: str, check: bool = False, **options) -> dict:
        command = [str(Path(sys.executable).with_name("ansible")), "-i", str(self.state / "inventory.yml"), "g01"]
        command += ["-m", f"fleetops.instinct.{name}", "-a", json.dumps(options), *(["--check"] if check else [])]
        collections = str(REPOSITORY.parents[2]) if REPOSITORY.parent.name == "fleetops" else self._linked()
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": collections, "ANSIBLE_STDOUT_CALLBACK": "minimal"}
        environment["ANSIBLE_NOCOLOR"] = "1"
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, check=False)
        assert " => " in done.stdout, done.stdout + done.stderr
        return json.loads(done.stdout.split(" => ", 1)[1])

    def release(self, rocm: str, driver: str, check: bool = False, **more) -> dict:
        mirror = {"rocm": f"rocm/apt/{rocm}", "driver": f"amdgpu/{driver}/ubuntu"}
        where = {name: f"http://mirror.example/{path}" for name, path in mirror.items()}
        key = (self.state / "rocm.gpg.asc").read_text(encoding="utf-8")
        options = {"release": rocm, "driver": driver, "repository": {**where, "suite": "jammy"}, "key": key, **more}
        return self.module("rocm_release", check, **options)

    def _linked(self) -> str:
        place = self.state / "collections" / "ansible_collections" / "fleetops"
        if not place.exists():
            place.mkdir(parents=True)
            (place / "instinct").symlink_to(REPOSITORY)
        return str(self.state / "collections")


@pytest.fixture
def node(tmp_path):
    if not Path(sys.executable).with_name("ansible").exists():
        pytest.skip("ansible-core is not installed here")
    one = Node(tmp_path / "fleet")
    fleet = tmp_path / "one.yml"
    fleet.write_text(FLEET.format(base=free_base()), encoding="utf-8")
    one.simfleet("up", str(fleet))
    yield one
    one.simfleet("down")


def snapshot_of(node: Node) -> dict:
    return node.module("node_snapshot", rollout="r1")["snapshot"]


def test_an_upgrade_reaches_the_release_and_a_second_run_changes_nothing(node):
    told = node.release("7.0.2", "30.10.2")
    assert (told["changed"], told["reboot_required"]) == (True, True)
    packages = node.shell(OLD_STATE).splitlines()
    assert {line[:2] for line in packages} == {"hi"}
    assert [line for line in packages if "70002" not in line and "30100200" not in line] == []
    assert "amdgpu/6.14.14-2226257.22.04" in node.shell("dkms status")
    before = node.shell(TREE)
    assert node.release("7.0.2", "30.10.2")["changed"] is False
    assert node.shell(TREE) == before


def test_check_mode_foresees_the_change_and_touches_nothing(node):
    before = node.shell(TREE)
    foreseen = node.release("7.0.2", "30.10.2", check=True)
    assert node.shell(TREE) == before
    done = node.release("7.0.2", "30.10.2")
    assert {key: foreseen[key] for key in ("changed", "release", "reboot_required")} == {
        key: done[key] for key in ("changed", "release", "reboot_required")
    }


def test_the_way_back_restores_versions_pins_holds_and_files(node):
    node.shell("apt-mark hold rocm")
    before = (node.shell(OLD_STATE), node.shell(APT_FILES))
    snapshot = snapshot_of(node)
    assert snapshot["rollback"] == {"ready": True, "why": []}
    node.release("7.0.2", "30.10.2")
    told = [node.module("rocm_release", check, snapshot=snapshot)["changed"] for check in (True, False, True, False)]
    assert told == [True, True, False, False]
    assert (node.shell(OLD_STATE), node.shell(APT_FILES)) == before
    assert "amdgpu/6.12.12-2202139.22.04" in node.shell("dkms status")


def test_a01_a_driver_that_does_not_build_is_classified_and_rolled_back(node):
    before = (node.shell(OLD_STATE), node.shell(APT_FILES))
    snapshot = snapshot_of(node)
    node.simfleet("fault", "g01", "dkms_build_fails", "driver=6.14.14")
    told = node.release("7.0.2", "30.10.2")
    assert told["kind"] == "dkms_build_failed"
    assert "6.14.14-2226257.22.04: does not build for kernel" in told["msg"]
    assert "hF" in node.shell(OLD_STATE)
    assert node.module("rocm_release", snapshot=snapshot)["changed"] is True
    assert (node.shell(OLD_STATE), node.shell(APT_FILES)) == before


def test_f16_a_busy_lock_is_named_then_waited_for(node):
    before = (node.shell(OLD_STATE), node.shell(APT_FILES))
    node.simfleet("fault", "g01", "package_manager_locked", "seconds=25")
    told = node.release("7.0.2", "30.10.2", lock_timeout=1)
    assert (told["kind"], "held by process" in told["msg"]) == ("package_manager_locked", True)
    assert (node.shell(OLD_STATE), node.shell(APT_FILES)) == before
    assert node.release("7.0.2", "30.10.2", lock_timeout=120)["changed"] is True


def test_a_full_disk_is_seen_before_anything_is_changed(node):
    before = (node.shell(OLD_STATE), node.shell(APT_FILES))
    node.simfleet("fault", "g01", "disk_full", "leave_kb=20000")
    told = node.release("7.0.2", "30.10.2")
    assert told["kind"] == "disk_full"
    assert (node.shell(OLD_STATE), node.shell(APT_FILES)) == before


def test_a_repository_that_is_not_there_changes_nothing(node):
    before = node.shell(TREE)
    told = node.release("7.0.9", "30.10.2")
    assert (told["kind"], told["msg"].split(":")[1]) == ("repository_unreachable", "//mirror.example/rocm/apt/7.0.9")
    assert node.shell(TREE) == before


def test_kernel_settings_reach_the_next_boot_and_go_again(node):
    wanted = {"cmdline": ["pci=realloc=off", "iommu=pt", "pcie_aspm=off"], "sysctl": {"kernel.numa_balancing": 0}}
    before = node.shell("cat /boot/grub/grub.cfg")
    told = [node.module("kernel_settings", check, **wanted) for check in (True, False, True, False)]
    assert [one["changed"] for one in told] == [True, True, False, False]
    assert told[1]["reboot_required"] is True
    assert "pcie_aspm=off" in node.shell("cat /boot/grub/grub.cfg")
    assert node.module("kernel_settings", cmdline=[])["changed"] is True
    assert node.shell("cat /boot/grub/grub.cfg") == before


def test_the_first_snapshot_of_a_rollout_stays(node):
    first = snapshot_of(node)
    node.release("7.0.2", "30.10.2")
    assert snapshot_of(node) == first
    assert node.shell("stat -c '%a' /var/lib/fleetops/snapshots/r1.json /var/lib/fleetops/snapshots").split() == [
        "600",
        "700",
    ]
