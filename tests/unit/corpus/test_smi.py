# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every recorded output of amd-smi and rocm-smi, read right or with the reason why it is not read."""

from __future__ import annotations

import csv
import json
from fnmatch import fnmatch

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils import _smi, _smi_tools
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.smi import _owners
from ansible_collections.fleetops.instinct.plugins.module_utils._firmware import (
    block_of,
    compare,
    is_absent,
    scheme_of,
    value_of,
)
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import members, names, text

GENERATED, OLD, NEW = "amd-smi-generated", "amdsmi-changelog", "amdsmi-changelog-7.1"
_MI308X = {"product_name": "MI308X", "device_id": "74a2", "serial": None, "vbios": None}
_GEN5 = {"max_speed_gts": 32.0, "max_width": 16}
STATIC = {
    "amd-smi-static-host-gim-mi300x.txt": {
        "product_name": "MI300X", "device_id": "74a1", "vbios": "113-MI3PRD-001", "ifwi": "022.040.003.036.000001",
        "serial": "PCB000000-0000", "unique_id": "0x0000000000000002", **_GEN5,
    },
    "amd-smi-static-mi325x-vf.txt": {"product_name": "AMD Instinct Mi325X VF", "device_id": "74b9", **_GEN5},
    f"{OLD}/08-6.3.0-amd-smi-static-asic.txt": _MI308X,
    f"{OLD}/10-6.3.0-amd-smi-static-asic.txt": _MI308X,
    f"{NEW}/50-6.3.0-amd-smi-static-asic.txt": _MI308X,
    f"{NEW}/51-6.3.0-amd-smi-static-asic.txt": _MI308X,
    f"{NEW}/02-7.1.0-amd-smi-static-ifwi.txt": {"vbios": "113-XXXXXXXX-111", "ifwi": "000.000.000.000.000000"},
    f"{NEW}/03-7.1.0-amd-smi-static-ifwi.txt": {"vbios": "113-XXXXXXXX-111", "ifwi": "00111111"},
    f"{NEW}/04-7.0.2-amd-smi-static-ras-g-0.txt": {"bad_page_threshold_exceeded": False, "device_id": None},
    "amdsmi-doc-6.3/15-amd-smi-static.txt": {"device_id": "74a0", "vbios": None, "serial": None, **_GEN5},
    "amdsmi-doc-7.1/17-amd-smi-static.txt": {
        "product_name": "AMD Instinct MI300A", "vbios": None, "ifwi": None, "bad_page_threshold_exceeded": None,
    },
}  # fmt: skip
_X16_32 = {"speed_gts": 32.0, "width": 16, "ecc": {"ue": None, "ce": None, "de": None}}
METRIC = {
    f"{OLD}/04-6.3.0-amd-smi-metric-pcie.txt": _X16_32,
    f"{NEW}/46-6.3.0-amd-smi-metric-pcie.txt": _X16_32,
    f"{OLD}/33-6.1.0-amd-smi-metric-p.txt": {**_X16_32, "speed_gts": 16.0},
    f"{OLD}/24-6.1.1-amd-smi-metric-ecc-ecc-blocks.txt": {"speed_gts": None, "ecc": {"ue": 0, "ce": 0, "de": 0}},
}
_MI325X_VF = {"0": "0000:83:00.0", "1": "0000:8b:00.0"}
_DPX = {"0": "0000:0c:00.0", "1": "0000:0c:00.1"}
LISTS = {
    "amd-smi-list-e-mi325x-vf.txt": _MI325X_VF,
    "amd-smi-list-mi325x-vf.txt": _MI325X_VF,
    f"{OLD}/07-6.3.0-amd-smi-list.txt": {"0": "0000:23:00.0", "1": "0000:26:00.0"},
    f"{NEW}/49-6.3.0-amd-smi-list.txt": {"0": "0000:23:00.0", "1": "0000:26:00.0"},
    f"{NEW}/19-6.4.1-amd-smi-list-e.txt": _DPX,
    f"{NEW}/21-6.4.1-amd-smi-list-e.txt": _DPX,
    f"{NEW}/23-6.4.0-amd-smi-list-e.txt": {"0": "0000:23:00.0"},
}
BAD_PAGES = {
    f"{GENERATED}/bad-pages-{case}-{release}.{form}": pages
    for release in ("63", "71")
    for form in ("json", "txt")
    for case, pages in {
        "mixed": [0, 1, 3, 1], "none": [0] * 4, "noperm": [None] * 4, "single-gpu-onepage": [1],
    }.items()
}  # fmt: skip
_MI300X = {
    "mec": "32945", "mec2": "32945", "rlc": "65", "sdma": "24", "sdma2": "24", "vcn": "09.11.70.09", "rlc_srlg": "4",
    "rlc_srls": "4", "rlc_srlc": "4", "sos": "00.36.02.56", "ta_ras": "1B.36.02.14", "ta_xgmi": "20.00.00.14",
    "smc": "07.85.11.01", "pldm_bundle": "01.25.03.12",
}  # fmt: skip
FIRMWARE = {
    # The bundle is a plain number in 6.3.
    **{f"{GENERATED}/firmware-mi300x-{end}": _MI300X for end in ("63.json", "63.txt", "71.json", "71.txt")},
    "amd-smi-firmware-mi300x-vf.txt": {
        "mec": "32959", "mec2": "32959", "rlc": "69", "sdma": "25", "sdma2": "25", "vcn": "09.11.80.15",
        "rlc_srlg": "4", "rlc_srls": "4", "rlc_srlc": "4", "ta_ras": "1B.36.02.1A", "ta_xgmi": "20.00.00.14",
        "smc": "00.85.129.03", "pldm_bundle": "01.25.03.12",
    },
    "amd-smi-firmware-mi355x.txt": {
        "sos": "00.45.00.29", "ta_ras": "1B.45.00.0A", "vcn": "09.10.90.31", "smc": "04.86.15.106",
        "pldm_bundle": "01.25.17.07",
    },
}  # fmt: skip
_MI250X = {
    "mec2": "63", "rlc": "17", "sdma2": "8", "smc": "00.68.54.00", "sos": "00.27.00.80", "vcn": "01.10.10.1B",
    "ta_ras": "1B.00.01.3C", "ta_xgmi": "20.00.00.0D", "mc": None, "uvd": None,
}  # fmt: skip
_OAM = "AMD INSTINCT MI200 (MCM) OAM LC MBA HPE C2"
_MI300A = "Aqua Vanjaram [Instinct MI300A]"
# Number of cards, what the first says, and the versions of its firmware.
CARDS = {
    "rocm-smi-780m-all.json": (1, {"device_id": "1900", "serial": None, "unique_id": None}, {"asd": "21.00.00.E7"}),
    "rocm-smi-mi250x-all-fragment.json": (1, {"product_name": _OAM, "vbios": "113-D65201-046"}, _MI250X),
    "rocm-smi-mi250x-productname.json": (1, {"product_name": _OAM, "device_id": None}, {}),
    "rocm-smi-showfwinfo-mi250-gpu4.txt": (
        1,
        {},
        {**_MI250X, "mec2": "69", "smc": "00.68.56.00", "sos": "00.27.00.7F"},
    ),
    "rocm-smi-i-6.4.0-mi300a.txt": (3, {"product_name": "AMD Instinct MI300A", "device_id": "74a0"}, {}),
    "rocm-smi-i-na-6.4.1-mi300x.txt": (6, {"product_name": "AMD Instinct MI300X", "device_id": "74a1"}, {}),
    "rocmsmi-changelog/09-6.1.1-rocm-smi-i.txt": (4, {"product_name": _MI300A, "device_id": "74a0"}, {}),
    "rocmsmi-changelog/10-6.1.1-rocm-smi-showproduct.txt": (4, {"product_name": _MI300A}, {}),
    "rocmsmi-changelog/11-6.1.1-rocm-smi-showvbios.txt": (4, {"vbios": None}, {}),
    "rocmsmi-changelog/16-6.1.0-rocm-smi-showbus.txt": (4, {}, {}),
    "rocmsmi-changelog/17-6.1.0-rocm-smi-showbus.txt": (24, {}, {}),
}
VERSIONS = {f"{NEW}/29-6.4.0-amd-smi-version.txt": "24.7.1"}
# Read by a test of their own below.
OWN = (
    "amd-smi-26.2-schema-dummies-mi350x.json",
    "amd-smi-expected-firmware-arg.json",
    "amd-smi-partition-multi-json.txt",
    "amd-smi-set-noperm.txt",
    "rocm-smi-showvoltage-not-supported-mi300x.txt",
    "rocm-smi-stderr-noise.txt",
)
_LOAD = "load, clocks, power and heat are read from sysfs, or move too fast to be facts"
_LINKS = "links between GPUs are no facts"
_TABLE = "a table for people; the same is asked for as JSON"
_HELP = "a help text"
_CHANGE = "the answer to a change; the facts change nothing"
# First match counts.
NOT_READ = {
    "*.csv": "CSV is never asked for; its columns have no fixed order",
    "*-csv-*": "CSV is never asked for; the driver is read from sysfs",
    "nicctl-*": "network cards are no GPUs",
    "*help.txt": _HELP, "amdsmi-doc-*/01-amd-smi.txt": _HELP, "rocmsmi-doc/*": _HELP,
    "amdsmi-doc-*/02-*": "command lines without their output",
    "*noname.txt": "source text, or the processes, which are read from /proc",
    "*process*": "processes are read from /proc",
    "amd-smi-default-*": _TABLE, f"{NEW}/05-7.0.0-amd-smi.txt": _TABLE, "rocm-smi-concise-*": _TABLE,
    "rocm-smi-8x-mi300x-powercap.txt": _TABLE, "rocmsmi-changelog/*-rocm-smi.txt": _TABLE, "*showhw.txt": _TABLE,
    "rocm-smi-showrasinfo-mi50.txt": "rocm-smi has no JSON of it; counters are read from sysfs",
    "*topo*": _LINKS, "*xgmi*": _LINKS,
    "*-set-*": _CHANGE, "*setextremum*": _CHANGE,
    "*-ecc-block.txt": "errors by block are read from sysfs",
    "*-ras-cper*": "records of past errors; the kernel log and the counters tell of them",
    "*partition*": "partitions are read from sysfs",
    **dict.fromkeys((f"*-{what}*" for what in ("monitor", "metric", "showmetrics")), _LOAD),
    "*-static-*": "memory, clocks and limits of the board are no facts",
}  # fmt: skip
READ = [*STATIC, *METRIC, *LISTS, *BAD_PAGES, *FIRMWARE, *CARDS, *VERSIONS, *OWN]
ALL = [name.partition("/")[2] for name in names("smi")]


def said(name):
    return text(f"smi/{name}")


def rows(name):
    decoded = _smi.decode(said(name))
    return _smi.gpu_rows(decoded.documents) or _smi.text_rows(said(name))


def cards(name):
    return _smi.card_rows(_smi.decode(said(name)), said(name))


def part(known, keys):
    return {key: known.get(key) for key in keys}


@pytest.mark.parametrize("name", ALL)
def test_every_recording_is_read_or_has_the_reason_why_not(name):
    reasons = [reason for pattern, reason in NOT_READ.items() if fnmatch(name, pattern)]
    assert (name in READ) or reasons


def test_no_reason_and_no_expectation_is_left_over():
    if not ALL:
        pytest.skip("no recordings beside the checkout")
    assert [name for name in READ if name not in ALL] == []
    assert [pattern for pattern in NOT_READ if not any(fnmatch(name, pattern) for name in ALL)] == []


@pytest.mark.parametrize("name", STATIC)
def test_identity_vbios_and_possible_link(name):
    assert part(_smi_tools.static(rows(name)[0]), STATIC[name]) == STATIC[name]


@pytest.mark.parametrize("name", METRIC)
def test_link_and_errors_of_every_gpu(name):
    assert [part(_smi_tools.metric(row), METRIC[name]) for row in rows(name)] == [METRIC[name]] * len(rows(name))


@pytest.mark.parametrize("name", LISTS)
def test_addresses_by_the_tools_number(name):
    assert {str(row["gpu"]): _smi.bdf_of(row["bdf"]) for row in rows(name)} == LISTS[name]


@pytest.mark.parametrize("name", BAD_PAGES)
def test_bad_pages_of_every_gpu(name):
    assert [_smi_tools.bad_pages(row) for row in rows(name)] == BAD_PAGES[name]


@pytest.mark.parametrize("name", FIRMWARE)
def test_firmware_in_its_one_form(name):
    for row in rows(name):
        told = {block_of(key): version for key, version in _smi_tools.firmware(row).items()}
        values = {block: value_of(block, version) for block, version in told.items()}
        assert part(values, FIRMWARE[name]) == FIRMWARE[name]
        assert None not in values.values()


@pytest.mark.parametrize("name", CARDS)
def test_cards_of_rocm_smi(name):
    count, first, versions = CARDS[name]
    card = _smi_tools.card(cards(name)[0])
    told = {block: version for block, version in card["firmware"].items() if not is_absent(version)}
    values = {block: value_of(block, version, decimal_bytes=True) for block, version in told.items()}
    assert (len(cards(name)), part(card, first), part(values, versions)) == (count, first, versions)


@pytest.mark.parametrize("name", VERSIONS)
def test_the_version_of_the_tool(name):
    assert _smi_tools.version(_smi.decode(said(name)).documents, said(name)) == VERSIONS[name]


def test_every_second_gpu_without_ids_is_a_fault_of_the_tool_e04():
    ids = [_smi_tools.card(card)["device_id"] for card in cards("rocm-smi-i-na-6.4.1-mi300x.txt")]
    assert ids == ["74a1", None] * 3


def test_partitions_in_the_place_of_functions_are_four_gpus():
    listed = {card["gpu"]: card["pci_bus"] for card in cards("rocmsmi-changelog/17-6.1.0-rocm-smi-showbus.txt")}
    addresses = [f"{domain:04x}:01:00.0" for domain in range(4)]
    assert _owners(listed, addresses) == dict(zip(addresses, ("0", "21", "22", "23"), strict=True))


def test_the_layout_of_26_2():
    sections = json.loads(said("amd-smi-26.2-schema-dummies-mi350x.json"))
    row = {name.rpartition("_")[2].lower(): section for name, section in sections.items()}
    static, metric = _smi_tools.static(row), _smi_tools.metric({"pcie": sections["DUMMY_METRIC_PCIE"]})
    assert (static["product_name"], static["device_id"]) == ("AMD Instinct MI350X", "75a0")
    assert (static["max_speed_gts"], static["max_width"]) == (32.0, 16)
    assert (metric["speed_gts"], metric["width"]) == (32.0, 16)


def test_versions_that_somebody_expects_are_of_our_schemes():
    arguments = json.loads(said("amd-smi-expected-firmware-arg.json"))["plugins"]["AmdSmiPlugin"]["analysis_args"]
    expected = arguments["expected_firmware_versions"]
    assert {name: value_of(block_of(name), version) for name, version in expected.items()} == expected
    assert compare("dotted", expected["PM"], "04.86.15.106") == 1


def test_several_documents_and_a_legend():
    decoded = _smi.decode(said("amd-smi-partition-multi-json.txt"))
    assert (len(decoded.documents), decoded.notes) == (3, ["Legend:", "* = Current mode"])
    assert [row["gpu"] for row in _smi.gpu_rows(decoded.documents)] == [0, 1]


@pytest.mark.parametrize(
    "name, reason",
    [
        ("amd-smi-set-noperm.txt", "PermissionError: Command requires elevation"),
        (
            "rocm-smi-showvoltage-not-supported-mi300x.txt",
            "GPU[7]          : get_volt_metric, Not supported on the given system",
        ),
        ("rocm-smi-stderr-noise.txt", "WARNING: No AMD GPUs specified"),
    ],
)
def test_what_is_no_data_tells_why(name, reason):
    assert (rows(name), cards(name), _smi_tools.failure(said(name), "")) == ([], [], reason)


def test_a_bundle_of_the_bmc_has_a_fifth_group():
    # As the owner of the machine of amd-smi-firmware-mi300x-vf.txt told it.
    assert compare("dotted", FIRMWARE["amd-smi-firmware-mi300x-vf.txt"]["pldm_bundle"], "01.25.03.12.76") == 0


def test_the_table_of_number_formats():
    for row in csv.DictReader(text("reference/firmware-number-formats.csv").splitlines()):
        name = row["component"].split(" ")[0]
        block = block_of(name)
        assert value_of(block, row["raw (sysfs/debugfs)"]) == value_of(block, row["amd-smi text"]), row
        wanted = "integer" if name == "CP_MEC1" else "dotted" if name in ("PM", "PLDM_BUNDLE") else "hex_bytes"
        assert scheme_of(block) == wanted


@pytest.mark.parametrize("name", ALL)
def test_nothing_that_is_recorded_makes_an_error(name):
    texts = [said(name)]
    if name.endswith(".tar.gz"):
        texts = [content.decode("utf-8", "replace") for content in members(f"smi/{name}").values()]
    for content in texts:
        decoded = _smi.decode(content)
        for row in [*_smi.gpu_rows(decoded.documents), *_smi.text_rows(content), *_smi.card_rows(decoded, content)]:
            _smi_tools.static(row), _smi_tools.metric(row), _smi_tools.firmware(row), _smi_tools.bad_pages(row)
            _smi_tools.card(row)
