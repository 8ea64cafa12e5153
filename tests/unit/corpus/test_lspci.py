# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every recorded output of lspci: the numbers it prints, and the registers behind them where they were dumped too."""

from __future__ import annotations

import re

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._lspci import parse_device, parse_lspci
from ansible_collections.fleetops.instinct.plugins.module_utils._pci_config import parse_config
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import names, text

KIND = "lspci"
NUMBERS = ("speed_gts", "width", "max_speed_gts", "max_width")
_TREE = "a picture of paths or of the tree, without the state of a link; paths are read from sysfs"
_OTHER = "written by another program than lspci; paths and drivers are read from sysfs"
NOT_READ = {
    "lspci/lstopo-mi50-behind-plx.txt": _OTHER,
    "lspci/mi210-lshw-unclaimed.txt": _OTHER,
    "lspci/mi100-am4-tv-excerpt.txt": _TREE,
    "lspci/mi300x-cx7-lspci-PP-paths.txt": _TREE,
    "lspci/mi300x-lspci-PP-paths.txt": _TREE,
}
# Excerpts without the line that names the device.
EXCERPTS = {
    "lspci/link-speed-unknown-rpi.txt": {"speed_gts": None, "width": 16, "max_speed_gts": None},
    "lspci/lnksta-both-downgraded.txt": {"speed_gts": 5.0, "width": 1, "max_width": None},
    "lspci/lnksta-width-downgraded-only.txt": {
        "speed_gts": 5.0, "width": 4, "max_speed_gts": 5.0, "max_width": 16, "target_speed_gts": 5.0,
        "autonomous_speed": True,
    },
}  # fmt: skip
_MI50 = {
    "speed_gts": 16.0, "width": 16, "max_speed_gts": 16.0, "max_width": 16, "vendor_id": "1002", "device_id": "66a1",
    "aspm": {"l0s": False, "l1": True, "supported": ["l0s", "l1"]}, "device_errors": ["correctable", "unsupported"],
}  # fmt: skip
_RENDERED = "lspci/rendered-by-lspci-3.9.0/"
_GONE, _HIDDEN, _BRIEF = {"answers": False, "speed_gts": None}, "shown to root only", "no state of a link in it"
# What INDEX.md says is right, by file and address.
DEVICES = {
    "lspci/access-denied-hidden-caps.txt": {
        "0000:0a:01.2": {"speed_gts": None, "reason": f"capabilities are {_HIDDEN}"},
        "0000:0a:01.3": {"width": None, "answers": True},
        "0000:0a:01.4": _GONE,
    },
    "lspci/mi210-x4-dell-internal-switch.txt": {
        f"0000:{bus}:00.0": {"speed_gts": None, "reason": _BRIEF} for bus in ("4c", "63", "cc", "e3", "4a", "61")
    },
    "lspci/mi300a-domains-usb-clash.txt": {f"{domain:04x}:01:00.0": {"reason": _BRIEF} for domain in range(4)},
    "lspci/mi300x-lspci-brief-8gpu-doc.txt": {
        f"0000:{bus}:00.0": {"reason": _BRIEF} for bus in ("05", "26", "46", "65", "85", "a6", "c6", "e5")
    },
    "lspci/mi300x-vf-guest-virtio-switch.txt": {
        "0000:83:00.0": {"vendor_id": "1002", "device_id": "74b5", "class": "1200", "speed_gts": None}
    },
    "lspci/mi325x-guest-pf-passthrough-nnkk.txt": {"0000:09:00.0": {"device_id": "74a5", "class": "1200"}},
    "lspci/mi50-x2-vvvnn.txt": {"0000:19:00.0": _MI50, "0000:67:00.0": _MI50},
    "lspci/rtx-gen4-idle-downgraded-pair.txt": {
        bdf: {"speed_gts": 2.5, "max_speed_gts": 16.0, "width": 16} for bdf in ("0000:01:00.0", "0000:00:01.1")
    },
    "lspci/unknown-header-7f-variants.txt": {f"0000:0{bus}:00.0": _GONE for bus in (2, 3, 4, 5)},
    "lspci/vega-downstream-switch-aspm-enabled.txt": {
        "0000:42:00.0": {
            "speed_gts": 8.0, "width": 16, "aspm": {"l0s": True, "l1": True, "supported": ["l0s", "l1"]},
            "device_errors": ["correctable", "unsupported"],
        }
    },
    f"{_RENDERED}cap-phy32.txt": {"0000:2e:00.0": dict(zip(NUMBERS, (16.0, 2, 32.0, 2), strict=True))},
    f"{_RENDERED}cap-exp-dev2.txt": {"0000:00:1c.0": dict(zip(NUMBERS, (5.0, 1, 8.0, 1), strict=True))},
    f"{_RENDERED}tree-fsl-p2020.txt": {"0002:01:00.0": {"speed_gts": 2.5, "max_speed_gts": 5.0}},
    "lspci/pciutils-tests/cap-phy32.lspci": {"0000:2e:00.0": dict(zip(NUMBERS, (16.0, 2, 32.0, 2), strict=True))},
    "lspci/pciutils-tests/cap-exp-dev2.lspci": {"0000:00:1c.0": dict(zip(NUMBERS, (5.0, 1, 8.0, 1), strict=True))},
}  # fmt: skip
DUMPS = [name for name in names(KIND) if "/pciutils-tests/" in name or name.startswith(_RENDERED)]
_HEADER = re.compile(r"((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ")
_HEX = re.compile(r"\s*[0-9a-f]{2,3}: ((?:[0-9a-f]{2} ?)+)$")


def spaces(dump):
    """The configuration space of each device of a dump."""
    found, bdf = {}, None
    for line in dump.splitlines():
        if match := _HEADER.match(line):
            bdf = match[1] if match[1].count(":") == 2 else f"0000:{match[1]}"
        elif (match := _HEX.match(line)) and bdf:
            found[bdf] = found.get(bdf, b"") + bytes.fromhex(match[1])
    return found


def of_registers(data):
    """What the registers say, in the form of the text."""
    express = parse_config(data[:256]).express
    states = {"l0s", "l1"} & set(express.aspm or ())
    return {
        **{key: getattr(express, key) for key in (*NUMBERS, "target_speed_gts")},
        "autonomous_speed": express.autonomous,
        "device_errors": None if express.errors is None else list(express.errors),
        "l0s": None if express.aspm is None else "l0s" in states,
        "l1": None if express.aspm is None else "l1" in states,
        "supported": None if express.aspm_supported is None else list(express.aspm_supported),
    }


def test_every_recording_is_read_or_told_why_not():
    known = {*NOT_READ, *EXCERPTS, *DEVICES, *DUMPS}
    assert [name for name in names(KIND) if name not in known] == []


@pytest.mark.parametrize("name", EXCERPTS)
def test_an_excerpt_tells_what_its_lines_say(name):
    seen = parse_device(text(name))
    assert {key: seen[key] for key in EXCERPTS[name]} == EXCERPTS[name]


@pytest.mark.parametrize("name", DEVICES)
def test_a_recording_is_read_as_it_is_right(name):
    seen = parse_lspci(text(name))
    for bdf, right in DEVICES[name].items():
        assert {key: seen[bdf][key] for key in right} == right


def test_three_ports_of_four_lanes_have_one_each_without_a_mark():
    ports = parse_lspci(text(f"{_RENDERED}tree-fsl-p2020.txt")).values()
    assert [port["width"] for port in ports if port["max_width"] == 4] == [1, 1, 1]


@pytest.mark.parametrize("name", DUMPS)
def test_registers_and_text_of_one_dump_agree(name):
    texts = parse_lspci(text(name))
    for bdf, data in spaces(text(name)).items():
        told = {**texts[bdf], **texts[bdf]["aspm"]}
        registers = of_registers(data)
        # An old lspci prints "unknown" for what it cannot name yet.
        assert {key: registers[key] for key in registers if told[key] is not None} == {
            key: told[key] for key in registers if told[key] is not None
        }


def test_the_dumps_hold_enough_links_to_prove_something():
    links = [bdf for name in DUMPS for bdf, data in spaces(text(name)).items() if of_registers(data)["width"]]
    assert len(links) > 50 or not DUMPS
