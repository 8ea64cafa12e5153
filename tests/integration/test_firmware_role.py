# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role and its actions over a simulated node and its BMC: what a playbook shows, keeps, and does not tell."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_collections.fleetops.instinct.tests.integration import bmc_bench
from simfleet.bmc.image import make_image

pytest.importorskip("sushy", reason="sushy is in requirements-dev/tests.txt and is not installed here")

SMALL = {"poll": 0.1, "pending": 1, "settle": 3, "silence": 30, "update_timeout": 60, "off_seconds": 0.2, "pause": 0.2}
PLAY = {
    "hosts": "g01",
    "gather_facts": False,
    "module_defaults": {"fleetops.instinct.redfish_firmware": SMALL},
    "roles": [{"role": "fleetops.instinct.firmware"}],
}
INFO = [
    {"fleetops.instinct.redfish_firmware_info": {"fleet_dir": "{{ fleet_dir }}"}, "register": "told"},
    {"ansible.builtin.debug": {"msg": "{{ told.components | map(attribute='version') | join(' ') }}"}},
]


class Bench(bmc_bench.Bench):
    """The same with the role under test."""

    def wish(self, component, version, **more):
        """A row with its image."""
        image = self.operator.folder / f"{component}-{version}.bin"
        image.write_bytes(make_image({"gpu_bundle": "gpu"}.get(component, component), version))
        digest = hashlib.sha256(image.read_bytes()).hexdigest()
        return {"component": component, "version": version, "image": image.name, "sha256": digest, **more}

    def prepared(self, play, words, variables):
        """How a play is run."""
        # What the role has a variable for, it gives to its module, whatever the defaults of a play say.
        times = {f"firmware_{key}": value for key, value in SMALL.items() if key != "pause"}
        own = {"firmware_images": self.operator.folder, "firmware_fleet_dir": self.operator.records, **times}
        return self.command(play, words, {**own, **variables})

    def play(self, *words, play=PLAY, rows=(), **variables):
        """Run a play to its end: status and text."""
        made = self.prepared(play, ("-e", json.dumps({"firmware_components": list(rows)}), *words), variables)
        done = subprocess.run(**made, timeout=300, check=False)
        return done.returncode, done.stdout

    def bmc(self, node="g01"):
        """What the simulator knows of the BMC."""
        return super().bmc(node)


@pytest.fixture(name="bench", scope="module")
def _bench(operator):
    return Bench(operator)


def test_a_bios_is_flashed_rebooted_into_and_seen_by_the_node_itself(bench):
    row = bench.wish("bios", "3.4", activation="reboot")
    boots = bench.operator.boots()["g01"]
    foretold, (status, text) = bench.play("--check", "--diff", rows=[row]), bench.play("--diff", rows=[row])
    assert (foretold[0], status) == (0, 0), text[-3000:]
    assert ["-bios: 3.2" in out and "+bios: 3.4" in out for out in (foretold[1], text)] == [True, True]
    assert bench.operator.shell("g01", "cat /sys/class/dmi/id/bios_version") == "3.4"
    assert (bench.operator.boots()["g01"], bench.bmc()["components"]["bios"]["flashes"]) == (boots + 1, 1)


def test_a_second_run_changes_nothing(bench):
    status, text = bench.play(rows=[bench.wish("bios", "3.4", activation="reboot")])
    assert (status, "changed=0" in text, bench.bmc()["components"]["bios"]["flashes"]) == (0, True, 1), text[-3000:]


def test_a_bundle_runs_after_a_power_cycle_and_the_node_is_back(bench):
    status, text = bench.play(rows=[bench.wish("gpu_bundle", "01.26.00.04", activation="power_cycle")])
    assert status == 0, text[-3000:]
    assert bench.bmc()["components"]["gpu"]["version"] == "01.26.00.04"
    assert bench.operator.shell("g01", "true") == ""


HOLD = "nohup sh -c 'exec 3</dev/kfd; exec sleep 600' >/dev/null 2>&1 & echo $!"


def test_the_driver_is_unloaded_for_the_flash_and_only_where_nobody_needs_it(bench):
    row = bench.wish("gpu_bundle", "01.26.00.05", activation="power_cycle", driver_away=True)
    holder = bench.operator.shell("g01", HOLD).split()[-1]
    status, text = bench.play(rows=[row], firmware_idle_timeout=1)
    flashes = bench.bmc()["components"]["gpu"]["flashes"]
    assert (status != 0, "its GPUs are held by" in text) == (True, True), text[-2000:]
    bench.operator.shell("g01", f"kill {holder}")
    status, text = bench.play(rows=[row])
    assert (status, "Unload the driver of the GPUs" in text) == (0, True), text[-3000:]
    assert bench.bmc()["components"]["gpu"]["flashes"] == flashes + 1
    assert bench.operator.shell("g01", "test -e /sys/module/amdgpu && echo loaded") == "loaded"


def documented(text):
    """The play of docs/firmware.md that has a text."""
    page = (bmc_bench.TESTS.parent / "docs" / "firmware.md").read_text(encoding="utf-8")
    (block,) = [one.partition("```")[0] for one in page.split("```yaml\n")[1:] if text in one.partition("```")[0]]
    return {**yaml.safe_load(block)[0], "module_defaults": PLAY["module_defaults"]}


def test_the_driver_is_kept_out_for_one_boot_where_it_cannot_be_unloaded(bench):
    row, play = (
        bench.wish("gpu_bundle", "01.26.00.06", activation="power_cycle", driver_away=True),
        documented("blackl"),
    )
    boots = bench.operator.boots()["g01"]
    status, text = bench.play(play=play, rows=[row])
    assert (status, "modprobe.blacklist" in bench.operator.shell("g01", "cat /proc/cmdline")) == (0, False), text[
        -3000:
    ]
    assert bench.operator.boots()["g01"] == boots + 3
    assert bench.operator.shell("g01", "test -e /sys/module/amdgpu && echo loaded") == "loaded"
    status, text = bench.play(play=play, rows=[row])
    assert (status, "changed=0" in text, bench.operator.boots()["g01"]) == (0, True, boots + 3), text[-3000:]


def test_after_a_flash_that_failed_in_that_boot_the_argument_is_out_and_the_node_is_left_as_it_is(bench):
    row = bench.wish("gpu_bundle", "01.26.00.07", activation="power_cycle", driver_away=True)
    boots = bench.operator.boots()["g01"]
    bench.operator.simfleet("bmc", "g01", "on", "hundred_percent_critical")
    status, text = bench.play(play=documented("blackl"), rows=[row])
    bench.operator.simfleet("bmc", "g01", "off", "hundred_percent_critical")
    assert (status != 0, "[stalled_job]" in text, bench.operator.boots()["g01"]) == (True, True, boots + 1), text[
        -3000:
    ]
    assert "modprobe.blacklist" in bench.operator.shell("g01", "cat /proc/cmdline")
    assert bench.operator.shell("g01", "grep -c modprobe.blacklist /boot/grub/grub.cfg || true") == "0"


def end(process):
    """Kill a playbook with its workers, which are groups of their own: one that lives on would go on with the flash."""
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    os.killpg(process.pid, signal.SIGKILL)
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(worker), signal.SIGKILL)
    process.wait()


def test_a_killed_playbook_is_taken_up_and_flashes_once(bench, until):
    bench.operator.simfleet("bmc", "g01", "on", "slow_task", "factor=8")
    row = bench.wish("cpld", "F2.00.08", activation="power_cycle")
    made = bench.prepared(PLAY, ("-e", json.dumps({"firmware_components": [row]})), {})
    process = subprocess.Popen(**made)
    until(lambda: bench.bmc()["updating"], 60)
    end(process)
    row["activation"] = "ac_cycle"
    status, text = bench.play(rows=[row])
    bench.operator.simfleet("bmc", "g01", "off", "slow_task")
    cpld = bench.bmc()["components"]["cpld"]
    assert (status, cpld["version"], cpld["flashes"]) == (0, "F2.00.08", 1), text[-3000:]


def test_the_inventory_is_read_and_the_password_is_nowhere(bench):
    play = {**PLAY, "roles": [], "tasks": INFO}
    runs = [bench.play("-vvv", "--diff", play=play), bench.play("-vvv", "--diff", rows=[bench.wish("bmc", "2.15.0")])]
    assert [status for status, _text in runs] == [0, 0], runs[1][1][-3000:]
    assert "3.4" in runs[0][1]
    secret = bench.credentials["password"]
    assert [text for _status, text in runs if secret in text] == []
    kept = [path for path in bench.operator.records.rglob("*") if path.is_file()]
    assert [str(path) for path in kept if secret.encode() in path.read_bytes()] == []
    assert kept


def test_a_certificate_of_another_ca_is_refused_and_trusted_only_where_that_is_said(bench):
    play = {**PLAY, "roles": [], "tasks": INFO}
    status, text = bench.play(play=play, fleet_bmc_ca="/etc/ssl/certs")
    assert status, text
    assert "[untrusted_certificate]" in text
    status, text = bench.play(play=play, fleet_bmc_ca="/etc/ssl/certs", fleet_bmc_validate_certs="false")
    assert (status, "is not checked (fleet_bmc_validate_certs: false)" in text) == (0, True), text[-2000:]


def test_no_session_is_left_behind(bench):
    assert bench.bmc()["sessions"]["open"] <= 1  # that of the killed one
