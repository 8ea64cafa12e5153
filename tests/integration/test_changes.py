# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that change a node, over ssh on simulated ones with real apt and real dkms: a node for each story.

The long stories run beside each other and beside the short tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Everything that a change could touch, without what a look at the node touches: the log, the session, compiled Python.
TREE = (
    "cd / && find etc boot opt usr lib/modules var/lib/apt var/lib/dpkg var/lib/dkms var/cache/apt -xdev "
    "-not -name '*.pyc' -not -name __pycache__ -printf '%p %y %m %s %T@ %l\\n' | sort; "
    "sha256sum var/lib/dpkg/status; ls /tmp"
)
PACKAGES = (
    "dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n' | grep -E 'rocm|amdgpu|hip|hsa|comgr|amd-smi'"
)
STATE = f"{PACKAGES}; cd /etc/apt && find . -type f -printf '%m %p\\n' | sort; find . -type f | sort | xargs sha256sum"
CANARY = "tweety"
WITH_CREDENTIALS = f"""
sed -i s,//mirror,//me:{CANARY}@mirror, /etc/apt/sources.list.d/rocm.list
chmod 600 /etc/apt/sources.list.d/rocm.list; apt-get -q update; apt-mark hold rocm
"""
SETTINGS = {"cmdline": ["pci=realloc=off", "iommu=pt", "pcie_aspm=off"], "sysctl": {"kernel.numa_balancing": 0}}
MODULE = "/lib/modules/$(uname -r)/updates/dkms/amdgpu.ko"
GRUB = "cat /boot/grub/grub.cfg"


class Node(NamedTuple):
    """One node of the fleet: a shell on it, and modules run on it by Ansible."""

    operator: Any
    name: str

    def shell(self, line: str) -> str:
        return self.operator.shell(self.name, line)

    def fault(self, *words: str) -> None:
        self.operator.simfleet("fault", self.name, *words)

    def said(self, name: str, check: bool = False, **options: Any) -> str:
        """All that Ansible prints at its most talkative."""
        state = self.operator.state
        command = [str(Path(sys.executable).with_name("ansible")), "-i", str(state / "inventory.yml"), self.name]
        command += ["-m", f"fleetops.instinct.{name}", *(["-a", json.dumps(options)] if options else [])]
        command += ["-vvv", "--diff", *(["--check"] if check else [])]
        ours = {**os.environ, "ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PIPELINING": "1"}
        done = subprocess.run(
            command, env=ours, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False
        )
        return done.stdout + done.stderr

    def module(self, name: str, check: bool = False, **options: Any) -> dict[str, Any]:
        """A module's result."""
        text = self.said(name, check, **options)
        assert " => {" in text, text
        return json.JSONDecoder().raw_decode(text, text.index(" => {") + 4)[0]

    def release(self, rocm: str = "7.0.2", driver: str = "30.10.2", check: bool = False, **more: Any) -> dict[str, Any]:
        mirror = {"rocm": f"rocm/apt/{rocm}", "driver": f"amdgpu/{driver}/ubuntu"}
        where = {name: f"http://mirror.example/{path}" for name, path in mirror.items()}
        key = (self.operator.state / "rocm.gpg.asc").read_text(encoding="utf-8")
        options = {"release": rocm, "driver": driver, "repository": {**where, "suite": "jammy"}, "key": key, **more}
        return self.module("rocm_release", check, **options)

    def snapshot(self) -> dict[str, Any]:
        return self.module("node_snapshot", rollout="r1")["snapshot"]


@pytest.fixture
def node(operator, request):
    """The node that a test names."""
    return Node(operator, request.param)


def on(name: str) -> pytest.MarkDecorator:
    """The test's own node."""
    return pytest.mark.parametrize("node", [name], indirect=True, ids=[name])


def upgrade(one: Node) -> dict[str, Any]:
    """A node rehearsed, upgraded and upgraded again: what was told, and its files in between."""
    before, foreseen = one.shell(TREE), one.release(check=True)
    rehearsed, done = one.shell(TREE), one.release()
    settled, again = one.shell(TREE), one.release()
    trees, dkms = [before, rehearsed, settled, one.shell(TREE)], one.shell("dkms status")
    one.shell(f"rm {MODULE}")
    mended = one.release()
    return {
        "mended": mended, "module": one.shell(f"ls {MODULE}"),
        "foreseen": foreseen, "done": done, "again": again, "packages": one.shell(PACKAGES).splitlines(),
        "dkms": dkms, "trees": trees,
    }  # fmt: skip


def go_back(one: Node) -> dict[str, Any]:
    """A node whose sources have credentials and whose packages are held one by one, upgraded and taken back."""
    one.shell(WITH_CREDENTIALS)
    before, texts = one.shell(STATE), [one.said("node_snapshot", rollout="r1"), one.said("node_facts")]
    first = one.snapshot()
    one.release()
    second, upgraded = one.snapshot(), one.shell(STATE)
    texts += [one.said("rocm_release", check, snapshot=first) for check in (True, False, True)]
    return {
        "first": first, "second": second, "texts": texts, "states": [before, upgraded, one.shell(STATE)],
        "again": one.module("rocm_release", snapshot=first), "dkms": one.shell("dkms status"), "node": one,
    }  # fmt: skip


def fail_to_build(one: Node) -> dict[str, Any]:
    """A node whose new driver does not compile, and its way back."""
    before, snapshot = one.shell(STATE), one.snapshot()
    told, broken = one.release(), one.shell(PACKAGES)
    back = one.module("rocm_release", snapshot=snapshot)
    return {"told": told, "broken": broken, "back": back, "states": [before, one.shell(STATE)]}


@pytest.fixture(scope="module", autouse=True)
def stories(operator):
    """The long stories, begun."""
    with ThreadPoolExecutor(2) as pool:
        told = {"back": go_back, "fresh": upgrade, "nobuild": fail_to_build}
        yield {name: pool.submit(story, Node(operator, name)) for name, story in told.items()}


@pytest.fixture
def upgraded(stories):
    return stories["fresh"].result()


@pytest.fixture
def returned(stories):
    return stories["back"].result()


@on("locked")
def test_f16_a_busy_lock_is_named_then_waited_for(node, until):
    before = node.shell(STATE)
    node.fault("package_manager_locked", "seconds=600")
    told = node.release(lock_timeout=1)
    assert (told["kind"], "held by process" in told["msg"]) == ("package_manager_locked", True)
    assert node.shell(STATE) == before
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(node.release, lock_timeout=120)
        until(lambda: node.shell("pgrep -fc [L]ock::Timeout=120 || true") != "0")
        node.operator.simfleet("clear", node.name)
        assert waiting.result()["changed"] is True


@on("full")
def test_a_full_disk_is_seen_before_anything_is_changed(node):
    before = node.shell(STATE)
    node.fault("disk_full", "leave_kb=20000")
    assert node.release()["kind"] == "disk_full"
    assert node.shell(STATE) == before


@on("boot")
def test_a09_a_small_boot_partition_is_seen_before_anything_is_changed(node):
    node.shell("cp -a /boot /tmp/boot && mount -t tmpfs -o size=2m tmpfs /boot && cp -a /tmp/boot/. /boot/")
    node.shell("cp $(ls /boot/initrd.img-* | head -1) /boot/filler; dd if=/dev/zero of=/boot/filler bs=64k || true")
    before = node.shell(STATE)
    told = node.release()
    assert (told["kind"], told["msg"].split(":")[0]) == ("disk_full", "/boot")
    assert node.shell(STATE) == before


@on("kernel")
def test_a_repository_that_is_not_there_changes_nothing(node):
    before = node.shell(TREE)
    told = node.release("7.0.9")
    assert (told["kind"], told["msg"].split(":")[1]) == ("repository_unreachable", "//mirror.example/rocm/apt/7.0.9")
    assert node.shell(TREE) == before


@on("kernel")
def test_kernel_settings_reach_the_next_boot_and_go_again(node):
    before = node.shell(GRUB)
    told = [node.module("kernel_settings", check, **SETTINGS) for check in (True, False, True, False)]
    assert [one["changed"] for one in told] == [True, True, False, False]
    assert told[1]["reboot_required"] is True
    assert "pcie_aspm=off" in node.shell(GRUB)
    assert node.module("kernel_settings", cmdline=[])["changed"] is True
    assert node.shell(GRUB) == before


def test_check_mode_foresees_the_change_and_touches_nothing(upgraded):
    assert upgraded["trees"][0] == upgraded["trees"][1]
    told = ("changed", "release", "reboot_required", "diff")
    assert {key: upgraded["foreseen"][key] for key in told} == {key: upgraded["done"][key] for key in told}


def test_an_upgrade_reaches_the_release(upgraded):
    assert (upgraded["done"]["changed"], upgraded["done"]["reboot_required"]) == (True, True)
    assert {line[:2] for line in upgraded["packages"]} == {"hi"}
    assert [line for line in upgraded["packages"] if "70002" not in line and "30100200" not in line] == []
    assert "amdgpu/6.14.14-2226257.22.04" in upgraded["dkms"]


def test_a_second_upgrade_changes_nothing(upgraded):
    assert upgraded["again"]["changed"] is False
    assert upgraded["trees"][2] == upgraded["trees"][3]


def test_a_module_that_is_gone_from_the_kernels_tree_is_installed_again(upgraded):
    assert upgraded["mended"]["changed"] is True
    assert "amdgpu.ko" in upgraded["module"]


def test_the_way_back_restores_versions_pins_holds_files_and_modes(returned):
    before, upgraded, after = returned["states"]
    assert returned["first"]["rollback"] == {"ready": True, "why": []}
    assert before != upgraded
    assert after == before
    assert "600 ./sources.list.d/rocm.list" in after
    assert "amdgpu/6.12.12-2202139.22.04" in returned["dkms"]


def test_the_way_back_is_foreseen_and_made_once(returned):
    changed = ['"changed": true' in text for text in returned["texts"][2:]]
    assert [*changed, returned["again"]["changed"]] == [True, True, False, False]


def test_the_first_snapshot_of_a_rollout_stays_for_root_alone(returned):
    assert returned["first"] == returned["second"]
    modes = returned["node"].shell("stat -c %a /var/lib/fleetops/snapshots/r1.json /var/lib/fleetops/snapshots")
    assert modes.split() == ["600", "700"]


def test_no_credentials_of_a_source_leave_the_node(returned):
    assert [text for text in returned["texts"] if CANARY in text] == []
    assert "http://***@mirror.example/rocm/apt/6.4.4" in returned["texts"][1]
    assert "http://***@mirror.example/rocm/apt/6.4.4" in returned["texts"][3]
    assert CANARY in returned["node"].shell("cat /var/lib/fleetops/snapshots/r1.json")
    assert returned["node"].shell(f"grep -rl {CANARY} /tmp /var/log /root || true") == ""


def test_a01_a_driver_that_does_not_build_is_classified_and_rolled_back(stories):
    seen = stories["nobuild"].result()
    assert seen["told"]["kind"] == "dkms_build_failed"
    assert "6.14.14-2226257.22.04: does not build for kernel" in seen["told"]["msg"]
    assert "hF" in seen["broken"]
    assert seen["back"]["changed"] is True
    assert seen["states"][0] == seen["states"][1]
