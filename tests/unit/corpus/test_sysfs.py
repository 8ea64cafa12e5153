# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded trees of /sys, as far as GPUs, links, sensors and compute nodes are read from them.

None of the recorded GPUs is an Instinct, so their class is changed to that of one; all else is as it was recorded.
"""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections import Counter

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather, select
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import corpus, members, names
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

LACT, PROC, GHW = (
    f"sysfs/{name}.tar.gz" for name in ("lact-amd-sysfs-19-gpus", "procfs-pci-drm", "ghw-linux-amd64-accel")
)
KFD = {
    # How many compute nodes each GPU has.
    "sysfs/kfd-topology-mi210-xgmi-pcie.tar.gz": {
        f"0000:{bus}:00.0": 1 for bus in ("63", "43", "03", "26", "e3", "c3", "83", "a3")
    },
    "sysfs/kfd-topology-mi300x-cpx.tar.gz": None,
    "sysfs/kfd-topology-vega10.tar.gz": {"0000:19:00.0": 2},
}
NOT_READ = {
    "sysfs/debugfs-amdgpu_firmware_info-vega10.txt": "debugfs; versions of firmware are read from fw_version",
    "sysfs/rccl-node-topologies.tar.gz": "made by RCCL: what links could do, not how they trained; no file of a node",
}
PORT, GPU = "0000:00:01.1", "0000:03:00.0"


def test_every_recording_is_read_or_told_why_not():
    assert [name for name in names("sysfs") if name not in {LACT, PROC, GHW, *KFD, *NOT_READ}] == []


def machine(files, links=()):
    return RecordedHost({"files": files, "links": dict(links)})


def tree(name, inside):
    """Files and links of an archive below a folder of it."""
    with tarfile.open(fileobj=io.BytesIO((corpus() / name).read_bytes())) as archive:
        rows = [(entry, f"/{posixpath.relpath(entry.name, inside)}") for entry in archive.getmembers()]
        files = {path: archive.extractfile(entry).read() for entry, path in rows if entry.isfile()}
        return files, {path: entry.linkname for entry, path in rows if entry.issym()}


# Speed and width, now and at most; watts and their cap; labels of the sensors; the active levels of the link.
LACT_GPUS = {
    "hd7870": ((8.0, 1, None, None), None, None, []),
    "phoenix": ((16.0, 16, 16.0, 16), (3.103, None), {"edge"}, []),
    "r7-240": ((5.0, 4, 8.0, 8), (None, None), {"edge"}, []),
    "r9-280": ((5.0, 8, None, None), (None, None), {"edge"}, []),
    "rx5500xt": ((16.0, 16, None, None), (16.0, 130.0), {"edge", "junction", "mem"}, [(8.0, 8)]),
    "rx5700xt": ((16.0, 16, None, None), (29.0, 220.0), {"edge", "junction", "mem"}, [(8.0, 16)]),
    "rx580": ((8.0, 16, 8.0, 16), (41.045, 155.0), {"edge"}, [(8.0, 16)]),
    "rx6600": ((16.0, 16, None, None), (3.0, 120.0), {"edge", "junction", "mem"}, [(8.0, 8)]),
    "rx6600xt": ((16.0, 16, None, None), (3.0, 100.0), {"edge", "junction", "mem"}, [(8.0, 8)]),
    "rx6900xt": ((16.0, 16, 16.0, 16), (36.0, 289.0), {"edge", "junction", "mem"}, [(16.0, 16)]),
    "rx7600s": ((16.0, 8, None, None), (1.0, 95.0), {"edge", "junction", "mem"}, [(16.0, 8)] * 2),
    "rx7700s": ((16.0, 8, None, None), (1.0, 100.0), {"edge", "junction", "mem"}, []),
    "rx7800xt": ((16.0, 16, None, None), (32.0, 236.0), {"edge", "junction", "mem"}, [(16.0, 16)]),
    "rx7900xtx": ((16.0, 16, None, None), (68.0, 290.0), {"edge", "junction", "mem"}, [(16.0, 16)] * 3),
    "rx9070": ((32.0, 16, None, None), (49.0, 200.0), {"edge", "junction", "mem"}, [(16.0, 16)]),
    "rx9070xt": ((32.0, 16, None, None), (55.0, 120.0), {"edge", "junction", "mem"}, [(16.0, 16)]),
    "strixpoint": ((16.0, 16, 16.0, 16), (9.087, None), {"edge"}, []),
    "vangogh": ((8.0, 16, None, None), (3.218, 15.0), {"edge"}, []),
    "vega56": ((8.0, 16, 8.0, 16), (8.0, 260.0), {"edge", "junction", "mem"}, [(8.0, 16)] * 2),
}


def lact_gpu(name):
    """One recorded GPU below a root port that shows nothing, and the subjects of the problems."""
    folder = f"/sys/devices/pci0000:00/{PORT}/{GPU}"
    files = {}
    for path, content in members(LACT).items():
        if path.startswith(f"lact-amd-sysfs/{name}/"):
            inner = path.split("/device/", 1)[-1] if "/device/" in path else path.split("/", 2)[2]
            files[f"{folder}/{inner}"] = content
    files.update({f"{folder}/class": "0x038000\n", f"{folder}/vendor": files.get(f"{folder}/vendor", b"0x1002\n")})
    facts = gather(machine(files, {f"/sys/bus/pci/devices/{GPU}": folder}), ["link", "ras"])
    return facts["gpus"][0], {row["subject"] for row in facts["problems"]}


@pytest.mark.parametrize("name", LACT_GPUS)
def test_a_consumer_card_shows_its_inner_link_its_sensors_and_its_levels(name):
    gpu, _subjects = lact_gpu(name)
    link, power, labels, active = LACT_GPUS[name]
    hop = gpu["link"][0]
    assert (hop["speed_gts"], hop["width"], hop["max_speed_gts"], hop["max_width"]) == link
    assert (gpu["power"] and (gpu["power"]["watts"], gpu["power"]["cap_watts"])) == power
    assert (gpu["temperatures"] and set(gpu["temperatures"])) == labels
    levels = gpu["link_levels"] or []
    assert [(level["speed_gts"], level["width"]) for level in levels if level["active"]] == active


@pytest.mark.parametrize("name", LACT_GPUS)
def test_no_number_of_a_card_is_one_that_cannot_be(name):
    gpu, subjects = lact_gpu(name)
    seen = [sensor["celsius"] for sensor in (gpu["temperatures"] or {}).values()]
    assert all(20 < celsius < 110 for celsius in seen if celsius is not None)
    assert gpu["busy_percent"] is None or 0 <= gpu["busy_percent"] <= 100
    assert GPU in subjects


def test_a_card_below_its_own_speed_and_width_is_read_several_times():
    hop = lact_gpu("r7-240")[0]["link"][0]
    assert (hop["samples_gts"], hop["width"] < hop["max_width"]) == ([5.0] * 5, True)


def test_limits_are_those_of_the_device():
    assert lact_gpu("vega56")[0]["temperatures"]["edge"] == {"celsius": 38.0, "critical": 85.0, "emergency": 90.0}


def recorded_links():
    """GPU, NVMe, SAS and network of the tree, each in the place of a GPU; and the facts."""
    files, links = tree(PROC, "procfs-pci-drm")
    card = "/sys/devices/pci0000:00/0000:00:03.1/0000:09:00.0"
    files.update({name.replace("/sys/class/drm/card0/device", card): text for name, text in files.items()})
    # The registers went through a conversion to text and lost every byte above 127.
    files = {name: text for name, text in files.items() if not name.endswith("/config")}
    links["/sys/bus/pci/devices/0000:09:00.0"] = card
    links["/sys/bus/pci/devices/0000:03:00.0"] = "/sys/devices/pci0000:00/0000:00:03.0/0000:03:00.0"
    links["/sys/bus/pci/devices/0000:00:03.0"] = "/sys/devices/pci0000:00/0000:00:03.0"
    for bdf in ("0000:09:00.0", "0000:01:00.0", "0000:03:00.0", "0000:a2:00.0"):
        folder = machine(files, links).realpath(f"/sys/bus/pci/devices/{bdf}")
        files.update({f"{folder}/class": "0x120000\n", f"{folder}/vendor": "0x1002\n"})
    return {gpu["bdf"]: gpu for gpu in gather(machine(files, links), ["link"])["gpus"]}


def test_real_links_are_read_hop_by_hop_with_their_counters():
    gpus = recorded_links()
    told = {
        bdf: [(hop["speed_gts"], hop["width"], hop["max_width"]) for hop in gpu["link"]] for bdf, gpu in gpus.items()
    }
    assert told["0000:09:00.0"][0] == (8.0, 16, 16)
    assert told["0000:01:00.0"] == [(8.0, 4, 4), (8.0, 4, 8)]
    assert told["0000:03:00.0"] == [(8.0, 8, 8), (8.0, 8, 16)]
    assert told["0000:a2:00.0"] == [(16.0, 8, 8)]


def test_lanes_that_the_device_does_not_have_are_no_reason_to_read_again():
    samples = [hop["samples_gts"] for gpu in recorded_links().values() for hop in gpu["link"] if hop["speed_gts"]]
    assert all(len(readings) == 1 for readings in samples)


def test_real_counters_are_all_zero_and_the_root_tells_what_it_received():
    gpus = recorded_links()
    none = {"correctable": 0, "nonfatal": 0, "fatal": 0}
    assert [gpu["aer"] for gpu in gpus.values()] == [none] * 4
    received = {f"received_{name}": 0 for name in none}
    assert gpus["0000:03:00.0"]["link"][1]["aer"] == {**none, **received}
    assert gpus["0000:01:00.0"]["link"][1]["aer"]["fatal"] is None


def test_the_recorded_gpu_tells_its_load_and_its_levels():
    gpu = recorded_links()["0000:09:00.0"]
    assert (gpu["busy_percent"], [level["active"] for level in gpu["link_levels"]]) == (4, [False, True])


def test_a_machine_with_an_accelerator_of_another_maker_has_no_gpu():
    facts = gather(machine(*tree(GHW, ".")), select(["all"]))
    assert facts["gpus"] == []


def place(properties):
    """Address of the GPU that a compute node belongs to; the bits of the function name a partition."""
    values = dict(line.split(" ", 1) for line in properties.splitlines() if " " in line)
    location, domain = int(values["location_id"]), int(values.get("domain", "0"))
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 31:02x}.0"


def kfd(name):
    """The recorded compute nodes, and a GPU on the bus for each place that they name; nodes by address."""
    inside = {path.split("/nodes/", 1)[1]: content for path, content in members(name).items() if "/nodes/" in path}
    files = {f"/sys/class/kfd/kfd/topology/nodes/{path}": content for path, content in inside.items()}
    places = Counter(
        place(content.decode())
        for path, content in inside.items()
        if path.count("/") == 1 and path.endswith("/properties") and b"simd_count 0\n" not in content
    )
    for bdf in places:
        files.update(
            {f"/sys/bus/pci/devices/{bdf}/class": "0x120000\n", f"/sys/bus/pci/devices/{bdf}/vendor": "0x1002\n"}
        )
    return files, dict(places)


@pytest.mark.parametrize("name", KFD)
def test_partitions_of_one_gpu_are_one_gpu_with_so_many_compute_nodes(name):
    files, places = kfd(name)
    assert places == (KFD[name] or places)
    assert {gpu["bdf"]: gpu["compute_nodes"] for gpu in gather(machine(files), ["gpu"])["gpus"]} == places


def test_eight_gpus_in_cpx_are_eight_of_which_one_lacks_a_partition():
    _files, places = kfd("sysfs/kfd-topology-mi300x-cpx.tar.gz")
    assert sorted(places.values()) == [7, 8, 8, 8, 8, 8, 8, 8]
