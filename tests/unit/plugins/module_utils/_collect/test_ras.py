# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters, retired pages, heat and power: what older and newer kernels print, and what is no value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

GPU = "/sys/bus/pci/devices/0000:03:00.0"
SENSORS = {
    "hwmon/hwmon2/name": "mlx5\n",
    "hwmon/hwmon7/name": "amdgpu\n",
    "hwmon/hwmon7/temp2_label": "junction\n",
    "hwmon/hwmon7/temp2_input": "41000\n",
    "hwmon/hwmon7/temp2_crit": "100000\n",
    "hwmon/hwmon7/temp2_emergency": "105000\n",
    "hwmon/hwmon7/power1_average": "132500000\n",
    "hwmon/hwmon7/power1_cap": "750000000\n",
}


def gathered(files):
    identity = {"class": "0x120000\n", "vendor": "0x1002\n"}
    recorded = {f"{GPU}/{name}": text for name, text in {**identity, **files}.items()}
    facts = gather(RecordedHost({"files": recorded}), ["ras"])
    return facts["gpus"][0], {row["subject"]: row["reason"] for row in facts["problems"]}


def sensors(**changes):
    return {**SENSORS, **{f"hwmon/hwmon7/{name}": text for name, text in changes.items()}}


@pytest.mark.parametrize(
    "text, counts",
    [
        ("ue: 0\nce: 0\n", {"ue": 0, "ce": 0}),
        ("ue: 1\nce: 20\nde: 3\n", {"ue": 1, "ce": 20, "de": 3}),
        ("ue: 0\nce: 0\n" + "\0" * 4000, {"ue": 0, "ce": 0}),
        ("Query currently inaccessible\n", None),
        ("ue: 0\nce: N/A\n", None),
        ("ue: 4294967295\nce: 0\n", {"ue": None, "ce": 0}),
        ("ue: 18446744073709551615\nce: 0\n", {"ue": None, "ce": 0}),
        ("", None),
    ],
)
def test_counts_of_every_kernel_are_read_and_no_sentence_or_sentinel_is_one_d06(text, counts):
    gpu, rows = gathered({"ras/umc_err_count": text, "ras/gpu_vram_bad_pages": ""})
    assert gpu["ras"] == {"umc": counts}
    assert bool(counts and None not in counts.values()) != any(subject.endswith(("umc", "umc ue")) for subject in rows)


def test_a_driver_that_tells_nothing_of_ras_makes_null_with_a_row_d07():
    gpu, rows = gathered({})
    assert [gpu[key] for key in ("ras", "bad_pages", "bad_pages_by_state", "temperatures", "power")] == [None] * 5
    assert rows["0000:03:00.0"] == "not there: ras, hwmon"


PAGES = (
    "0x0004c000 : 0x00001000 : R\n0x0004C001 : 0x00001000 : R\n0x0004c002 : 0x00001000 : P\n0x0004c003 : 0x1000 : F\n"
)


@pytest.mark.parametrize(
    "text, total, states",
    [(PAGES, 4, [2, 1, 1]), ("", 0, [0, 0, 0]), ("\n\0\0", 0, [0, 0, 0]), ("0x1 : 0x2 : Q\n", None, None)],
)
def test_retired_pages_are_counted_by_state(text, total, states):
    gpu, _rows = gathered({"ras/gpu_vram_bad_pages": text})
    assert gpu["bad_pages"] == total
    counted = gpu["bad_pages_by_state"]
    assert (counted and [counted[name] for name in ("reserved", "pending", "failed")]) == states


def test_sensors_are_found_by_name_and_label_with_the_limits_of_the_device():
    gpu, rows = gathered(sensors())
    assert gpu["temperatures"] == {"junction": {"celsius": 41.0, "critical": 100.0, "emergency": 105.0}}
    assert gpu["power"] == {"watts": 132.5, "cap_watts": 750.0}
    assert list(rows.values()) == ["not there: ras"]


def test_newer_products_show_the_power_of_the_moment():
    files = {name: text for name, text in sensors(power1_input="90000000\n").items() if "average" not in name}
    assert gathered(files)[0]["power"]["watts"] == 90.0


def test_limits_that_are_not_there_are_null_with_a_row():
    files = {name: text for name, text in SENSORS.items() if not name.endswith(("crit", "emergency", "cap"))}
    gpu, rows = gathered(files)
    assert gpu["temperatures"]["junction"] == {"celsius": 41.0, "critical": None, "emergency": None}
    assert gpu["power"]["cap_watts"] is None
    assert rows["0000:03:00.0"] == "not there: ras, temp2_crit, temp2_emergency, power1_cap"


@pytest.mark.parametrize("text", ["-1\n", "0\n", "65535\n", "65535000\n", "4294967295\n", "N/A\n", "", "-273000\n"])
def test_what_no_sensor_can_have_measured_is_null_d06(text):
    gpu, rows = gathered(sensors(temp2_input=text, power1_average=text))
    assert gpu["temperatures"]["junction"]["celsius"] is None
    assert rows["0000:03:00.0 temp2_input"].startswith("not understood")


@pytest.mark.parametrize("text", ["-1", "0", "65535", "4294967295", "65535000000", "18446744073709551615", "high"])
def test_power_that_cannot_be_is_null(text):
    assert gathered(sensors(power1_average=text, power1_cap=text))[0]["power"] == {"watts": None, "cap_watts": None}


@pytest.mark.parametrize(
    "files, row",
    [
        ({"hwmon/hwmon2/name": "mlx5\n"}, "no sensors named amdgpu"),
        ({"hwmon/hwmon7/name": "amdgpu\n"}, "no sensor has a label"),
    ],
)
def test_sensors_that_are_not_the_gpus_or_have_no_label_are_none(files, row):
    gpu, rows = gathered(files)
    assert gpu["temperatures"] is None
    assert row in rows.values()


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_content_of_any_file_raises(counts, sensor):
    gpu, _rows = gathered(
        {**sensors(temp2_input=sensor, temp2_label=sensor, power1_cap=sensor), "ras/umc_err_count": counts,
         "ras/gpu_vram_bad_pages": counts}
    )  # fmt: skip
    assert gpu["bad_pages"] in (None, 0) or "0x" in counts
