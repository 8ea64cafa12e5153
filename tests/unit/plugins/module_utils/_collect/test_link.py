# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The path of a GPU: what is read of each hop, what the configuration space adds, and what is never read."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils import _collect
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import COLLECTORS, gather
from ansible_collections.fleetops.instinct.tests.unit.config_space import GONE, ROOT_PORT, UPSTREAM, config_space
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import MACHINES, RecordedHost

GPU, DOWN, UP, PORT = "0000:03:00.0", "0000:02:00.0", "0000:01:00.0", "0000:00:01.1"
IDS = {GPU: ("1002", "74a1"), DOWN: ("1002", "1501"), UP: ("1002", "1500"), PORT: ("1022", "14ab")}
# A read of the first takes a second, a read of the second clears what it tells.
NEVER = ("pcie_bw", "xgmi_error")


def folder(bdf):
    path = [PORT, UP, DOWN, GPU]
    return "/sys/devices/pci0000:00/" + "/".join(path[: path.index(bdf) + 1])


def raw(space):
    return {"base64": base64.b64encode(space).decode("ascii")}


def machine(ids=(), **changes):
    """One GPU behind a board's switch; ``changes`` are {file: content} for the hops gpu, down, up and port."""
    identities, files, links = {**IDS, **dict(ids)}, {}, {}
    for bdf, (vendor, device) in identities.items():
        links[f"/sys/bus/pci/devices/{bdf}"] = folder(bdf)
        kind = "0x120000" if bdf == GPU else "0x060400"
        shown = {
            "vendor": f"0x{vendor}\n",
            "device": f"0x{device}\n",
            "class": f"{kind}\n",
            **link("32.0 GT/s PCIe", 16),
        }
        files.update({f"{folder(bdf)}/{name}": text for name, text in shown.items()})
        files[f"{folder(bdf)}/config"] = raw(config_space((vendor, device)))
    for name, bdf in {"gpu": GPU, "down": DOWN, "up": UP, "port": PORT}.items():
        for file, content in changes.get(name, {}).items():
            files[f"{folder(bdf)}/{file}"] = content
    return {"files": {path: content for path, content in files.items() if content is not None}, "links": links}


def link(speed, width, max_speed="32.0 GT/s PCIe", max_width=16):
    return {
        "current_link_speed": f"{speed}\n", "current_link_width": f"{width}\n",
        "max_link_speed": f"{max_speed}\n", "max_link_width": f"{max_width}\n",
    }  # fmt: skip


def unlinked(space):
    """No link files at all, only the configuration space."""
    return {**dict.fromkeys(link("", "")), "config": raw(space)}


def gathered(**changes):
    facts = gather(RecordedHost(machine(**changes)), ["link"])
    return facts["gpus"][0], {row["subject"]: row["reason"] for row in facts["problems"]}


def numbers(hop):
    return [hop[key] for key in ("speed_gts", "width", "max_speed_gts", "max_width")]


def test_a_full_link_at_the_gpu_does_not_hide_the_slot_c01():
    slow = {**link("16.0 GT/s PCIe", 8), "config": raw(config_space(IDS[UP], UPSTREAM, 16.0, 8))}
    levels = "0: 2.5GT/s, x8 250Mhz\n1: 16.0GT/s, x8 1143Mhz *\n"
    gpu, _rows = gathered(up=slow, gpu={"pp_dpm_pcie": levels})
    assert [numbers(hop)[:2] for hop in gpu["link"]] == [[32.0, 16], [32.0, 16], [16.0, 8], [32.0, 16]]
    assert gpu["link_levels"][1] == {"speed_gts": 16.0, "width": 8, "active": True}


def test_the_cards_port_tells_the_slot_and_the_root_port_what_it_can_do_c03():
    gpu, _rows = gathered(
        up={**link("16.0 GT/s PCIe", 16), "config": None},
        port={**link("16.0 GT/s PCIe", 16, "16.0 GT/s PCIe"), "config": None},
    )
    assert [hop["speed_gts"] for hop in gpu["link"]] == [32.0, 32.0, 16.0, 16.0]
    assert (gpu["link"][2]["samples_gts"], gpu["link"][3]["max_speed_gts"]) == ([16.0], 16.0)


def test_both_readings_of_a_path_are_kept_c13():
    gpu, _rows = gathered(up={**link("8.0 GT/s PCIe", 16, "16.0 GT/s PCIe"), "config": None})
    assert [hop["speed_gts"] for hop in gpu["link"]] == [32.0, 32.0, 8.0, 32.0]


@pytest.mark.parametrize("vendor", ["1002", "1022"])
@pytest.mark.parametrize("device", ["1500", "1501", "14a0", "14a1", "14c7", "14c8"])
def test_the_boards_own_switch_is_known_whichever_maker_it_names(vendor, device):
    gpu, _rows = gathered(ids={UP: (vendor, device)}.items())
    assert [hop["role"] for hop in gpu["link"]] == ["gpu", "board_switch", "board_switch", "root_port"]


def test_a_switch_of_the_server_is_none_of_the_boards():
    gpu, _rows = gathered(ids={UP: ("15b3", "1979")}.items())
    assert gpu["link"][2]["role"] == "switch"


@pytest.mark.parametrize("text", ["Unknown", "Unknown speed", "0", "255 GT/s"])
def test_unknown_zero_and_255_are_null_and_have_a_row_c09(text):
    gpu, rows = gathered(gpu={**link(text, 0, text, 255), "config": None})
    assert numbers(gpu["link"][0]) == [None] * 4
    assert gpu["link"][0]["samples_gts"] is None
    assert rows[f"{GPU} max_link_width"] == "not understood: '255'"


@pytest.mark.parametrize("text, speed", [("8 GT/s", 8.0), ("2.5 GT/s", 2.5), ("32.0 GT/s PCIe\n\0\0\0", 32.0)])
def test_every_spelling_of_the_kernels_is_read(text, speed):
    gpu, _rows = gathered(gpu={"current_link_speed": text, "config": None})
    assert gpu["link"][0]["speed_gts"] == speed


def test_the_configuration_space_fills_what_sysfs_lacks():
    gpu, rows = gathered(port=unlinked(config_space(IDS[PORT], ROOT_PORT, 16.0, 8, errors=0b0110)))
    port = gpu["link"][3]
    assert numbers(port) == [16.0, 8, 32.0, 16]
    assert (port["samples_gts"][0], port["device_errors"], port["answers"]) == (16.0, ["nonfatal", "fatal"], True)
    assert "current_link_speed" in rows[f"{GPU} hop {PORT}"]


@pytest.mark.parametrize("content", [{"error": "EIO"}, "??\n", "\n"])
@pytest.mark.parametrize("name, key", [("current_link_speed", "speed_gts"), ("max_link_width", "max_width")])
def test_registers_do_not_hide_a_file_that_is_there_and_cannot_be_read(content, name, key):
    gpu, rows = gathered(up={name: content})
    assert gpu["link"][2][key] is None
    assert rows[f"{GPU} hop {UP} {name}"]


def test_a_kernel_that_has_no_name_for_a_speed_is_helped_by_the_register():
    hop = gathered(gpu={"current_link_speed": "Unknown speed\n"})[0]["link"][0]
    assert (hop["speed_gts"], hop["samples_gts"]) == (32.0, [32.0])


def test_two_sources_that_disagree_are_both_told():
    gpu, rows = gathered(up={"config": raw(config_space(IDS[UP], UPSTREAM, 16.0, 8))})
    assert (gpu["link"][2]["speed_gts"], gpu["link"][2]["samples_gts"]) == (32.0, [32.0, 16.0])
    assert rows[f"{GPU} hop {UP} current_link_speed"] == "32.0 here, 16.0 in the configuration space"
    assert rows[f"{GPU} hop {UP} current_link_width"] == "16 here, 8 in the configuration space"


def test_a_device_that_reads_as_all_ones_does_not_answer_c14():
    dead = {**link("Unknown", 63), "config": raw(GONE)}
    gpu, rows = gathered(gpu=dead)
    assert (gpu["link"][0]["answers"], numbers(gpu["link"][0])[:2]) == (False, [None, None])
    assert (gpu["link"][0]["device_errors"], gpu["link"][1]["answers"]) == (None, True)
    assert "all ones" in rows[f"{GPU} config"]


def test_aspm_of_both_ends_of_every_link_is_read_c12():
    root = config_space(IDS[PORT], ROOT_PORT, aspm="l1")
    gpu, rows = gathered(port={"config": raw(root)}, up={"link/l0s_aspm": "0\n", "link/l1_aspm": "0\n"})
    assert [hop["aspm"]["l1"] for hop in gpu["link"]] == [False, False, False, True]
    assert [hop["aspm"]["source"] for hop in gpu["link"]] == ["config", "config", "sysfs", "config"]
    assert not any("ASPM" in subject for subject in rows)


def test_aspm_that_only_one_source_calls_on_is_on():
    on = {"config": raw(config_space(IDS[UP], UPSTREAM, aspm="l1")), "link/l0s_aspm": "0\n", "link/l1_aspm": "0\n"}
    gpu, rows = gathered(up=on)
    assert gpu["link"][2]["aspm"] == {"l0s": False, "l1": True, "supported": ["l0s", "l1"], "source": "config"}
    assert rows[f"{GPU} hop {UP} L1 of ASPM"] == "False in sysfs, True in the configuration space"


def test_aspm_that_nothing_tells_is_null_with_a_row():
    gpu, rows = gathered(gpu={"config": None})
    assert gpu["link"][0]["aspm"] == {"l0s": None, "l1": None, "supported": None, "source": None}
    assert (rows[f"{GPU} ASPM"][:12], rows[f"{GPU} config"]) == ("told neither", "not there")


def test_a_reader_without_rights_learns_that_and_no_more():
    gpu, rows = gathered(gpu={"config": raw(config_space()[:64])})
    hop = gpu["link"][0]
    assert (hop["answers"], hop["autonomous_speed"], hop["speed_gts"]) == (True, None, 32.0)
    assert "by root only" in rows[f"{GPU} config"]


def test_a_link_that_flaps_at_idle_proves_what_it_can_do_c06():
    series = [f"{speed} GT/s PCIe\n" for speed in ("5.0", "2.5", "32.0", "32.0", "5.0")]
    host = RecordedHost(machine(gpu={"current_link_speed": {"series": series}, "config": None}))
    hop = gather(host, ["link"])["gpus"][0]["link"][0]
    assert (hop["speed_gts"], hop["samples_gts"]) == (5.0, [5.0, 2.5, 32.0, 32.0, 5.0])
    assert host.slept == pytest.approx(0.2)


def test_a_link_that_is_pinned_is_told_from_one_that_idles_c06():
    pinned = {**link("5.0 GT/s PCIe", 16), "config": raw(config_space(gts=5.0, pinned=True))}
    hop = gathered(gpu=pinned)[0]["link"][0]
    assert (hop["samples_gts"], hop["autonomous_speed"], hop["target_speed_gts"]) == ([5.0] * 5, False, 32.0)


def test_a_reading_that_fails_later_is_null_among_the_others():
    flaky = {"current_link_speed": {"series": ["5.0 GT/s PCIe\n", {"error": "EIO"}, "Unknown\n"]}, "config": None}
    gpu, rows = gathered(gpu=flaky)
    assert gpu["link"][0]["samples_gts"] == [5.0, None, None, None, None]
    assert rows[f"{GPU} current_link_speed, again"]


@pytest.mark.parametrize("port", [link("16.0 GT/s PCIe", 16, "16.0 GT/s PCIe"), link("16.0 GT/s PCIe", 16)])
def test_nobody_waits_for_a_link_that_can_do_no_more(port):
    slot = {**link("16.0 GT/s PCIe", 16, "16.0 GT/s PCIe"), "config": None}
    host = RecordedHost(machine(up=slot, port={**port, "config": None}))
    assert gather(host, ["link"])["gpus"][0]["link"][3]["samples_gts"] == [16.0]
    assert host.slept == 0


def test_errors_are_counted_at_every_hop_and_received_ones_at_the_root():
    counts = {f"aer_dev_{kind.lower()}": f"RxErr 3\nTOTAL_ERR_{kind[:3] if kind == 'CORRECTABLE' else kind} 3\n"
              for kind in ("CORRECTABLE", "NONFATAL", "FATAL")}  # fmt: skip
    gpu, _rows = gathered(port={**counts, "aer_rootport_total_err_cor": "359\n"})
    assert gpu["aer"] == gpu["link"][0]["aer"] == {"correctable": None, "nonfatal": None, "fatal": None}
    assert gpu["link"][3]["aer"] == {
        "correctable": 3, "nonfatal": 3, "fatal": 3,
        "received_correctable": 359, "received_nonfatal": None, "received_fatal": None,
    }  # fmt: skip


@pytest.mark.parametrize("total", ["4294967295", "18446744073709551615", "-1", "", "many"])
def test_a_counter_that_cannot_be_is_null_d06(total):
    gpu, rows = gathered(gpu={"aer_dev_fatal": f"DLP 0\nTOTAL_ERR_FATAL {total}\n"})
    assert gpu["aer"]["fatal"] is None
    assert rows[f"{GPU} aer_dev_fatal"].startswith("not understood")


@pytest.mark.parametrize(
    "text, percent", [("0\n", 0), ("100\n", 100), ("101\n", None), ("65535\n", None), ("N/A", None)]
)
def test_load_is_percent_c04(text, percent):
    assert gathered(gpu={"gpu_busy_percent": text})[0]["busy_percent"] == percent


def test_what_a_machine_without_a_driver_does_not_show_is_one_row():
    gpu, rows = gathered()
    assert (gpu["busy_percent"], gpu["link_levels"]) == (None, None)
    assert "gpu_busy_percent, pp_dpm_pcie" in rows[GPU]


class Watched(RecordedHost):
    """Remembers every path that anything is done with."""

    def __init__(self, recorded):
        super().__init__(recorded)
        self.paths = []

    def realpath(self, path):
        self.paths.append(path)
        return super().realpath(path)


def test_no_collector_reads_what_costs_a_second_or_clears_itself():
    recorded = json.loads((MACHINES / "mi300x-8gpu-healthy.json").read_text(encoding="utf-8"))
    gpus = {path.rsplit("/", 1)[0] for path in recorded["files"] if path.endswith("/vbios_version")}
    recorded["files"].update({f"{gpu}/{name}": "1\n" for gpu in gpus for name in NEVER})
    host = Watched(recorded)
    gather(host, list(COLLECTORS))
    assert len(gpus) == 8
    assert len(host.paths) > 500
    assert [path for path in host.paths if path.endswith(NEVER)] == []


def test_no_collector_even_names_them():
    sources = Path(_collect.__file__).parent.parent.rglob("*.py")
    assert [path.name for path in sources for name in NEVER if name in path.read_text(encoding="utf-8")] == []


JUNK = st.one_of(st.text(max_size=40), st.sampled_from(["255", "63", "15", "-1", "65535", "0 GT/s", "32.0 GT/s PCIe"]))


@given(JUNK, JUNK, JUNK, st.binary(max_size=256))
def test_no_content_of_any_file_raises_or_gives_what_no_link_can_be(speed, width, aspm, space):
    files = {**link(speed, width, speed, width), "link/l1_aspm": aspm, "config": raw(space), "pp_dpm_pcie": speed}
    hop = gathered(gpu=files)[0]["link"][0]
    speeds = {hop[key] for key in ("speed_gts", "max_speed_gts", "target_speed_gts")} | set(hop["samples_gts"] or [])
    assert speeds <= {None, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0}
    assert {hop["width"], hop["max_width"]} <= {None, 1, 2, 4, 8, 12, 16, 32}
