# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording gives the facts of the machine again, and nothing that identifies it."""

from __future__ import annotations

import base64
import json

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._anonymise import anonymised
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._record import record
from ansible_collections.fleetops.instinct.plugins.module_utils._recorder import Recorder
from ansible_collections.fleetops.instinct.plugins.module_utils._recording import Recording
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES, RecordedHost

NAMES = sorted(path.stem for path in MACHINES.glob("*.json"))
SUBSETS = select(["all"])
SECRET = {
    "/proc/sys/kernel/hostname": "falcon-17.corp.internal\n",
    "/etc/machine-id": "3b1c5c1f0a9f4f1bb0f0a1f3f0d3c2aa\n",
    "/etc/apt/sources.list.d/rocm.list": "deb http://bob:hunter2@mirror7.corp.internal/rocm/apt/7.0.2 jammy main\n",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz-6.1 root=UUID=1c8a4b1e-3a1f-4e1c-9a55-0f3f5a5f9c11 ip=10.11.12.13 iommu=pt\n",
    "/dev/kmsg": "6,0,0,-;start\n6,1,9,-;igb 0000:05:00.0: pci, MAC 0c:42:a1:5e:11:22\n6,2,9,-;usb: private\n",
}
WORDS = ("falcon", "corp.internal", "3b1c5c1f0a9f", "hunter2", "1c8a4b1e", "10.11.12.13", "0c:42:a1", "private")


def machine(**changes):
    found = json.loads((MACHINES / "mi300x-8gpu-healthy.json").read_text(encoding="utf-8"))
    return RecordedHost({**found, "files": {**found["files"], **SECRET, **changes}})


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_a_recording_are_the_facts_of_the_machine(name):
    recorder = Recorder(RecordedHost.load(name))
    seen = gather(recorder, SUBSETS)
    assert gather(Recording(json.loads(json.dumps(recorder.machine()))), SUBSETS) == seen


def test_nothing_that_identifies_the_machine_is_left():
    text = json.dumps(record(machine(), SUBSETS, "salt"))
    assert [word for word in WORDS if word in text] == []


def test_serial_numbers_become_others_of_the_same_form():
    told = record(machine(), SUBSETS, "salt")
    serials = {text for path, text in told["files"].items() if path.endswith("/serial_number")}
    assert len(serials) == 8
    assert all(text.startswith("PCB") is False and len(text.strip()) == 9 for text in serials)


def test_a_log_of_which_lines_were_left_out_is_still_whole():
    told = gather(Recording(record(machine(), SUBSETS, "salt")), ["log"])["log"]
    assert (told["complete"], told["lines"]) == (True, 3)


def test_a_process_that_only_the_compute_driver_knows_is_kept():
    node = machine(**{"/sys/class/kfd/kfd/proc/77/pasid": "32769\n", "/proc/77/comm": "vllm\n"})
    node.links["/proc/self/ns/pid"] = "pid:[4026531836]"
    rows = gather(Recording(record(node, SUBSETS, "salt")), ["activity"])["holders"]
    assert [row["command"] for row in rows if row["pid"] == 77] == ["vllm"]


def test_another_salt_gives_other_replacements_and_the_same_one_the_same():
    first, again, other = (record(machine(), SUBSETS, salt)["files"]["/etc/machine-id"] for salt in "aab")
    assert first == again != other


def test_versions_with_four_numbers_are_no_addresses():
    path = "/sys/class/dmi/id/bios_version"
    assert record(machine(**{path: "10.11.12.13\n"}), SUBSETS, "salt")["files"][path] == "10.11.12.13\n"


def test_what_the_machine_is_stands_beside_the_recording():
    expect = record(machine(), SUBSETS, "salt")["expect"]
    assert (expect["gpus"], expect["gpus.3.device_id"], expect["rocm.active"]) == (8, "74a1", "7.0.2")


def test_a_value_that_cannot_be_replaced_is_refused():
    hidden = {"files": {"/a/serial_number": "falcon17"}, "links": {}, "commands": {}, "free_bytes": {"/falcon17": 1}}
    assert "falcon17" not in json.dumps(anonymised(hidden, "salt"))
    hidden["files"]["/b"] = {"base64": "not touched, falcon17"}
    with pytest.raises(FleetError, match="identify the machine"):
        anonymised(hidden, "salt")


def test_a_real_machine_is_recorded_and_read_again(tmp_path):
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    recorder = Recorder(Host())
    seen = [recorder.read(f"{tmp_path}/link"), recorder.list(str(tmp_path)), recorder.stat(f"{tmp_path}/real")[0]]
    again = Recording(recorder.machine())
    assert [again.read(f"{tmp_path}/link"), again.list(str(tmp_path)), again.stat(f"{tmp_path}/real")[0]] == seen


@pytest.mark.parametrize(
    "path", ["/etc/yum.repos.d/a.repo", "/etc/dnf/dnf.conf", "/etc/zypp/repos.d/a.repo", "/etc/distro.repos.d/a.repo"]
)
def test_credentials_in_options_of_a_repository_are_left_out(path):
    text = "[rocm]\nusername = bob\npassword=hunter2\n  more\nproxy_password: hunter3\nenabled=1\n"
    left = anonymised({"files": {path: text}, "links": {}, "commands": {}}, "salt")["files"][path]
    assert left == "[rocm]\nusername =***\npassword=***\nproxy_password:***\nenabled=1\n"


def test_a_key_that_is_enrolled_still_is_and_no_longer_names_the_machine():
    variables = "/sys/firmware/efi/efivars"
    key = b"0\x82\xffgpunode7 Secure Boot Module Signature key"
    files = {
        "/proc/sys/kernel/hostname": "gpunode7\n",
        f"{variables}/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\x06\0\0\0\x01",
        f"{variables}/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23": {
            "base64": base64.b64encode(b"()" + key).decode()
        },
        "/var/lib/shim-signed/mok/MOK.der": {"base64": base64.b64encode(key).decode()},
    }
    sent = Recording(anonymised({"files": files, "links": {}, "commands": {}}, "salt"))
    facts = gather(sent, ["node", "driver"])
    assert (facts["node"]["secure_boot"], facts["driver"]["build"]["key_enrolled"]) == (True, True)
    assert b"gpunode7" not in sent.read_bytes("/var/lib/shim-signed/mok/MOK.der")
