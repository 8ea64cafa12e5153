# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated fleet as somebody sees it who logs in: upgrades, reboots, faults, and what is left when it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parents[1]
NEEDS = ("mmdebstrap", "unshare", "apt-ftparchive", "dpkg-deb", "gpg", "openssl", "ssh")
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root"),
    pytest.mark.skipif(any(shutil.which(name) is None for name in NEEDS), reason=f"needs {', '.join(NEEDS)}"),
]
NEW = "rocm=7.0.2.70002-56~22.04 amdgpu-dkms=1:6.14.14.30100200-2226257.22.04 amdgpu-dkms-firmware"
TO_NEW = f"""
sed -i 's,6.4.4,7.0.2,' /etc/apt/sources.list.d/rocm.list
sed -i 's,6.4.4,30.10.2,' /etc/apt/sources.list.d/amdgpu.list
apt-get -q update && apt-get -q -y --allow-downgrades install {NEW}=30.10.2.0.30100200-2226257.22.04
"""
LIST = "dpkg-query -W -f '${Package}=${Version}\\n' | grep 60404"
BACK = """
sed -i 's,7.0.2\\|30.10.2,6.4.4,' /etc/apt/sources.list.d/*.list
apt-get -q update && apt-get -q -y --allow-downgrades install """


class Fleet:
    """The command line of one fleet."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.begun: dict[str, subprocess.Popen[str]] = {}
        self.old: list[str] = []

    def _begin(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "simfleet", "--state", str(self.state), *words]
        ours = {**os.environ, "PYTHONPATH": str(TESTS)}
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(command, env=ours, stdin=nothing, stdout=pipe, stderr=pipe, text=True)

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
        out, err = process.communicate(timeout=600)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def cli(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = self._end(self._begin(*words))
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def begin(self, node: str, command: str) -> None:
        """Start what takes long on a node, while other tests look at others."""
        self.begun[node] = self._begin("ssh", node, command)

    def end(self, node: str) -> subprocess.CompletedProcess[str]:
        """What came of it."""
        return self._end(self.begun.pop(node))

    def port(self, node: str) -> Callable[[], bool]:
        """A quick look whether a node's sshd takes connections."""
        hosts = yaml.safe_load((self.state / "inventory.yml").read_text(encoding="utf-8"))["fleet"]["hosts"]
        place = (hosts[node]["ansible_host"], 2222)

        def taken() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(place) == 0

        return taken

    def up(self, name: str, base: int) -> None:
        self.cli("up", str(TESTS / "fleets" / f"{name}.yml"), "--base", str(base))

    def ssh(self, node: str, command: str, check: bool = True) -> str:
        return self.cli("ssh", node, command, check=check).stdout.strip()

    def node(self, name: str) -> dict:
        return json.loads(self.cli("status", "--json").stdout)[name]

    def reboot(self, node: str) -> None:
        boots = self.node(node)["boots"]
        self.ssh(node, "shutdown -r now")
        self.until(lambda: self.node(node)["boots"] > boots and self.node(node)["ssh"])

    @staticmethod
    def until(true: object, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not true():  # type: ignore[operator]
            assert time.monotonic() < end, "it did not come to it in time"
            time.sleep(0.1)


def _fleet(name: str, base: int, state: Path, upgraded: tuple[str, ...]) -> Iterator[Fleet]:
    fleet = Fleet(state)
    fleet.up(name, base)
    fleet.old = fleet.ssh(upgraded[0], LIST).split()
    for node in upgraded:
        fleet.begin(node, TO_NEW)
    yield fleet
    for process in fleet.begun.values():
        process.kill()
        process.communicate()
    fleet.cli("down")
    assert not state.exists()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    yield from _fleet("small", 61, tmp_path_factory.mktemp("small") / "state", ("g03",))


@pytest.fixture(scope="module")
def hurt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    yield from _fleet("faults", 62, tmp_path_factory.mktemp("hurt") / "state", ("nobuild", "stale"))


def _gpu(number: str, name: str) -> str:
    return f"cat /sys/bus/pci/devices/0000:{number}/{name}"


# -- a healthy fleet -----------------------------------------------------------------------------------------------


def test_a_node_says_of_itself_what_a_machine_says(small: Fleet) -> None:
    seen = small.ssh(
        "g01", "hostname; uname -r; cat /sys/module/amdgpu/version /opt/rocm/.info/version; id -un"
    ).split()
    kernel = seen[1]
    assert seen == ["g01", kernel, "6.12.12", "6.4.4-129", "root"]
    assert kernel.endswith("-amd64")
    assert small.ssh("g01", "lspci -n -d 1002:74a1 | wc -l; ls /dev/dri/renderD* | wc -l; test -c /dev/kfd") == "8\n8"


def test_uptime_starts_anew_and_so_does_the_boot_id_but_the_host_key_stays(small: Fleet) -> None:
    read = "cut -d. -f1 /proc/uptime; cat /proc/sys/kernel/random/boot_id /etc/ssh/ssh_host_ed25519_key.pub"
    time.sleep(2)
    before = small.ssh("g02", read).splitlines()
    small.reboot("g02")
    after = small.ssh("g02", read).splitlines()
    assert int(after[0]) < int(before[0]) + 2
    assert before[1] != after[1]
    assert before[2] == after[2]


def test_a_kernel_argument_counts_from_the_next_boot_on(small: Fleet) -> None:
    small.ssh(
        "g02",
        "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX pcie_aspm=off\"' > /etc/default/grub.d/x.cfg; update-grub",
    )
    assert "pcie_aspm" not in small.ssh("g02", "cat /proc/cmdline")
    small.reboot("g02")
    assert "iommu=pt pcie_aspm=off" in small.ssh("g02", "cat /proc/cmdline")
    assert small.ssh("g02", "ls -d /sys/bus/pci/devices/*/link | wc -l", check=False) == "0"


def test_the_driver_is_unloaded_and_loaded_again(small: Fleet) -> None:
    assert small.ssh("g01", "modprobe -r amdgpu; ls /sys/class/drm | wc -l; ls -d /dev/kfd || true") == "0"
    assert small.ssh("g01", "modprobe amdgpu aspm=0; cat /sys/module/amdgpu/parameters/aspm") == "0"


def test_what_a_node_sets_under_proc_sys_stays_with_it(small: Fleet) -> None:
    mine = Path("/proc/sys/vm/swappiness").read_text(encoding="ascii")
    assert small.ssh("g01", "sysctl -q -w vm.swappiness=7; cat /proc/sys/vm/swappiness") == "7"
    assert Path("/proc/sys/vm/swappiness").read_text(encoding="ascii") == mine


def test_up_twice_is_up_once_and_another_fleet_there_is_refused(small: Fleet) -> None:
    assert "already up" in small.cli("up", str(TESTS / "fleets/small.yml"), "--base", "61").stderr
    refused = small.cli("up", str(TESTS / "fleets/demo.yml"), check=False)
    assert refused.returncode == 1
    assert "another fleet is up" in refused.stderr


def test_an_upgrade_is_seen_after_the_reboot_and_can_be_taken_back(small: Fleet) -> None:
    old = small.old
    assert small.end("g03").returncode == 0
    assert small.node("g03")["driver"] == "6.12.12"
    small.reboot("g03")
    assert small.node("g03")["driver"] == "6.14.14"
    small.ssh("g03", BACK + " ".join(old))
    small.reboot("g03")
    assert small.ssh("g03", "cat /sys/module/amdgpu/version /opt/rocm/.info/version").split() == [
        "6.12.12",
        "6.4.4-129",
    ]
    assert small.ssh("g03", LIST).split() == old


# -- faults, as seen from inside -----------------------------------------------------------------------------------


def test_a_missing_gpu_is_on_no_list(hurt: Fleet) -> None:
    assert hurt.ssh("gone", "lspci -n -d 1002:74a1 | wc -l; ls /dev/dri/renderD* | wc -l") == "7\n7"


def test_a_slow_slot_and_a_narrow_root_link_show_in_sysfs_and_lspci(hurt: Fleet) -> None:
    assert hurt.ssh("slow", _gpu("1c:00.0", "current_link_speed")) == "16.0 GT/s PCIe"
    assert hurt.ssh("slow", _gpu("1e:00.0", "current_link_speed")) == "32.0 GT/s PCIe"
    assert "16GT/s (downgraded)" in hurt.ssh("slow", "lspci -vv -s 1c:00.0 | grep LnkSta:")
    assert hurt.ssh("narrow", _gpu("16:01.1", "current_link_width")) == "8"


def test_a_file_that_cannot_be_read_and_one_that_holds_rubbish(hurt: Fleet) -> None:
    done = hurt.cli("ssh", "unread", _gpu("0c:00.0", "current_link_speed"), check=False)
    assert "Input/output error" in done.stderr
    assert hurt.ssh("garbage", _gpu("15:00.0", "current_link_width")) == "??"


def test_a_held_lock_stops_apt_until_it_is_let_go(hurt: Fleet) -> None:
    done = hurt.cli("ssh", "locked", "apt-get -y remove rocm", check=False)
    assert done.returncode == 100
    assert "Could not get lock /var/lib/dpkg/lock-frontend. It is held by process" in done.stderr
    hurt.cli("clear", "locked")
    hurt.ssh("locked", "apt-get -y remove rocm")


def test_a_full_disk_is_full(hurt: Fleet) -> None:
    done = hurt.cli("ssh", "full", "head -c 100000 /dev/zero > /var/x", check=False)
    assert "No space left on device" in done.stderr
    hurt.cli("clear", "full")
    hurt.ssh("full", "head -c 100000 /dev/zero > /var/x")


def test_a_process_that_holds_the_gpu_keeps_the_driver_loaded(hurt: Fleet) -> None:
    assert hurt.ssh("busy", "cat /proc/$(fuser /dev/kfd 2>/dev/null | tr -d ' ')/comm") == "train.py"
    assert hurt.cli("ssh", "busy", "modprobe -r amdgpu", check=False).returncode == 1
    hurt.cli("clear", "busy", "kfd_busy")
    hurt.ssh("busy", "modprobe -r amdgpu")


def test_an_unreachable_node_comes_back_when_the_fault_goes(hurt: Fleet) -> None:
    assert hurt.cli("ssh", "away", "true", check=False).returncode == 255
    assert (hurt.node("away")["state"], hurt.node("away")["ssh"]) == ("up", False)
    hurt.cli("clear", "away")
    hurt.until(lambda: hurt.node("away")["ssh"])


def test_ssh_comes_and_goes_after_the_second_boot(hurt: Fleet) -> None:
    port, seen = hurt.port("flaps"), ""
    hurt.ssh("flaps", "reboot")
    hurt.until(lambda: hurt.node("flaps")["boots"] == 2)
    end = time.monotonic() + 20
    while "+-+" not in seen:
        now = "+" if port() else "-"
        seen += now if not seen.endswith(now) else ""
        assert time.monotonic() < end, seen
        time.sleep(0.02)


def test_a_node_that_never_comes_back_needs_its_power_cycled(hurt: Fleet) -> None:
    hurt.ssh("noboot", "systemctl reboot")
    hurt.until(lambda: hurt.node("noboot")["state"] == "down")
    time.sleep(2)
    assert hurt.node("noboot")["state"] == "down"
    hurt.cli("power", "noboot", "cycle")
    assert hurt.ssh("noboot", "hostname") == "noboot"


def test_a_reboot_that_is_ignored_says_yes_and_does_nothing(hurt: Fleet) -> None:
    before = hurt.node("deaf")["boot_id"]
    hurt.ssh("deaf", "shutdown -r now")
    time.sleep(2)
    assert hurt.node("deaf")["boot_id"] == before


def test_a_fault_given_at_run_time_acts_at_once_and_one_with_a_condition_waits(hurt: Fleet) -> None:
    hurt.cli("fault", "well", "link_speed", "index=0", "hop=gpu", "gts=8.0")
    assert hurt.ssh("well", _gpu("0c:00.0", "current_link_speed")) == "8.0 GT/s PCIe"
    hurt.cli("clear", "well")
    hurt.cli("fault", "well", "gpu_missing", "index=0", "when.boots=2")
    assert hurt.ssh("well", "lspci -n -d 1002:74a1 | wc -l") == "8"
    hurt.reboot("well")
    assert hurt.ssh("well", "lspci -n -d 1002:74a1 | wc -l") == "7"


def test_a_fault_that_cannot_be_is_refused_in_one_sentence(hurt: Fleet) -> None:
    done = hurt.cli("fault", "well", "gpu_missing", "index=99", check=False)
    assert (done.returncode, done.stderr.strip()) == (1, "simfleet: fault.index: saw 99; the node has GPUs 0 to 7")


def test_a_stale_initramfs_boots_the_old_driver_though_dkms_has_the_new_one(hurt: Fleet) -> None:
    assert hurt.end("stale").returncode == 0
    hurt.reboot("stale")
    assert hurt.ssh("stale", "cat /sys/module/amdgpu/version; modinfo -F version amdgpu").split() == [
        "6.12.12",
        "6.14.14",
    ]


def test_a_module_that_does_not_compile_leaves_the_package_half_configured(hurt: Fleet) -> None:
    done = hurt.end("nobuild")
    assert done.returncode == 100
    assert "Error! Bad return status for module build on kernel" in done.stdout + done.stderr
    assert "post-installation script subprocess returned error exit status 10" in done.stdout + done.stderr
    assert hurt.ssh("nobuild", "dpkg-query -W -f '${db:Status-Abbrev}' amdgpu-dkms") == "iF"
    assert "error: too few arguments" in hurt.ssh("nobuild", "cat /var/lib/dkms/amdgpu/*/build/make.log")
    hurt.cli("clear", "nobuild")
    hurt.ssh("nobuild", "dpkg --configure -a")
    assert "6.14.14-2226257.22.04" in hurt.ssh("nobuild", "dkms status")


# -- what is left when it ends -------------------------------------------------------------------------------------


def _left(state: Path) -> list[str]:
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(state) in words and "simfleet" in words and str(os.getpid()) != path.parent.name:
            processes.append(words)
    return processes


@pytest.mark.parametrize("whom", ["the outer process", "the supervisor"])
def test_a_killed_supervisor_takes_everything_along_and_up_works_again(tmp_path: Path, whom: str) -> None:
    fleet = Fleet(tmp_path / "state")
    fleet.up("small", 63)
    pid = json.loads((fleet.state / "simfleet.json").read_text(encoding="ascii"))["pid"]
    if whom == "the supervisor":
        shell = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0]
        pid = int(Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="ascii").split()[0])
    os.kill(pid, signal.SIGKILL)
    fleet.until(lambda: not _left(fleet.state), 5)
    fleet.up("small", 63)
    assert fleet.ssh("g01", "hostname") == "g01"
    fleet.cli("down")
    fleet.cli("down")
    assert not fleet.state.exists()


def test_nothing_of_a_fleet_is_mounted_on_the_host_while_it_runs(small: Fleet) -> None:
    assert str(small.state) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def test_a_directory_that_is_no_fleets_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    done = Fleet(tmp_path).cli("up", str(TESTS / "fleets/small.yml"), "--base", "64", check=False)
    assert done.returncode == 1
    assert "no state directory of a fleet" in done.stderr
    assert (tmp_path / "precious").exists()
