# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has the GPUs open, and in which container."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.activity import container_of
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

ID = "3f9a0c12d4e5" + "0" * 52
OTHER = "aa" * 32
POD = "0d4a6f5e-1b2c-4d3e-8f90-a1b2c3d4e5f6"
COMPUTING = "/sys/class/kfd/kfd/proc"
FIRST = {"/proc/self/ns/pid": "pid:[4026531836]"}


class Refusing(RecordedHost):
    """Counts what is asked, and keeps the descriptors of some processes to itself, as for a user who is not root."""

    def __init__(self, machine, refused=()):
        super().__init__(machine)
        self.refused, self.asked = [f"/proc/{pid}/fd" for pid in refused], []

    def list(self, path):
        self.asked.append(path)
        if path in self.refused:
            return super()._content(path, {"error": "PermissionError"}, 0)
        return super().list(path)

    def readlink(self, path):
        self.asked.append(path)
        return super().readlink(path)

    def read_bytes(self, path):
        self.asked.append(path)
        return super().read_bytes(path)


def process(pid, *devices, comm="python3", cgroup="0::/user.slice\n"):
    files = {f"/proc/{pid}/comm": f"{comm}\n", f"/proc/{pid}/cgroup": cgroup}
    return files, {f"/proc/{pid}/fd/{number}": target for number, target in enumerate(devices)}


def machine(*processes, computing=(), links=FIRST):
    files = {f"{COMPUTING}/{pid}/pasid": "32769\n" for pid in computing}
    for own, _links in processes:
        files.update(own)
    return {"files": files, "links": {**links, **{k: v for _own, more in processes for k, v in more.items()}}}


def holders(recorded, refused=()):
    facts = gather(Refusing(recorded, refused), ["activity"])
    return facts["holders"], [row["reason"] for row in facts["problems"]]


@pytest.mark.parametrize(
    ("cgroup", "container"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", ID),
        (f"12:pids:/docker/{ID}\n11:memory:/docker/{ID}\n", ID),
        (f"0::/docker/{ID}/kubelet/kubepods/burstable/pod{POD}/{OTHER}\n", ID),
        (f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice/"
         f"cri-containerd-{ID}.scope\n", ID),
        (f"4:devices:/kubepods/besteffort/pod{POD}/{ID}\n", ID),
        (f"0::/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/crio-{ID}.scope/container\n", ID),
        (f"0::/system.slice/containerd.service/kubepods-besteffort:cri-containerd:{ID}\n", ID),
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", ID),
        (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope\n", ID),
        (f"0::/machine.slice/libpod-conmon-{ID}.scope\n", None),
        (f"0::/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/x\n", f"pod:{POD}"),
        ("9:freezer:/slurm/uid_1000/job_4711/step_0/task_3\n", "slurm:4711.0"),
        ("0::/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0\n", "slurm:4711.batch"),
        ("0::/system.slice/slurmstepd.scope/job_4711\n", "slurm:4711"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", None),
        (f"0::/system.slice/git-{ID[:40]}.scope\n", None),
        ("0::/system.slice/slurmd.service\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_control_group_names_the_container(cgroup, container):
    assert container_of(cgroup) == container


def test_a_holder_is_told_with_its_container():
    inside = process(812, "/dev/null", "/dev/kfd", "/dev/dri/renderD128", cgroup=f"0::/system.slice/docker-{ID}.scope")
    rows, reasons = holders(machine(inside, process(813, "/dev/dri/card0", "socket:[1]")))
    assert [(row["device"], row["container"]) for row in rows] == [("/dev/dri/renderD128", ID), ("/dev/kfd", ID)]
    assert {(row["pid"], row["command"]) for row in rows} == {(812, "python3")}
    assert reasons == []


def test_what_the_driver_lists_is_a_holder_though_its_descriptors_are_not_to_be_read():
    rows, reasons = holders(machine(process(812, "/dev/kfd"), computing=["812"]), refused=["812"])
    assert rows == [{"pid": 812, "command": "python3", "device": "/dev/kfd", "container": None}]
    assert reasons == ["1 processes cannot be looked into"]


def test_a_process_of_another_namespace_has_a_number_and_no_name():
    another = {"/proc/self/ns/pid": "pid:[1]"}
    recorded = machine(process(40, comm="x"), computing=["40", "90001"], links=another)
    rows, _reasons = holders(recorded)
    assert [(row["pid"], row["command"], row["container"]) for row in rows] == [(40, None, None), (90001, None, None)]


def test_a_process_that_both_show_is_one_holder():
    rows, _reasons = holders(machine(process(812, "/dev/kfd"), computing=["812"]))
    assert [row["pid"] for row in rows] == [812]


def test_nobody_is_an_empty_list():
    assert holders(machine(process(1, "/dev/null"))) == ([], [])


def test_where_no_process_can_be_looked_into_nobody_knows():
    rows, reasons = holders(machine(process(812, "/dev/kfd")), refused=["812"])
    assert (rows, reasons) == (None, ["1 processes cannot be looked into"])


def test_processes_that_hold_no_gpu_cost_one_look_for_each_descriptor():
    recorded = machine(*(process(pid, "/dev/null", "/dev/null") for pid in range(1, 101)))
    host = Refusing(recorded)
    gather(host, ["activity"])
    others = [path for path in host.asked if "/fd" not in path]
    assert (len(host.asked), others) == (302, ["/proc", COMPUTING])
