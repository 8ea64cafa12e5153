# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    change,
    facts,
    hop,
    target_document,
    write_target,
)

CATALOG = load_catalog()
NAMES = ("MI300X", "MI300A", "MI210", "MI250", "MI250X")
WANTED = {"rocm": "7.0.2", "driver": "30.10.2"}


def target_of(folder, **changes):
    document = target_document(**{name: {**WANTED, **changes} for name in NAMES if name != "MI250X"})
    return load_target(write_target(folder, document), CATALOG)


@pytest.fixture(name="target", scope="module")
def _target(tmp_path_factory):
    return target_of(tmp_path_factory.mktemp("links"))


def links_of(target, path=None, value=None, sample=None):
    """The link findings of a node, one hop of whose first GPU was changed; a steady link reads the same each time."""
    sample = sample or facts(versions=NEW)
    sample = change(sample, f"gpus.0.{path}", value) if path else sample
    if path and path.endswith(".speed_gts"):
        sample = change(sample, f"gpus.0.{path.replace('speed_gts', 'samples_gts')}", [value] * 5)
    record = judge(sample, target, CATALOG, "g01")
    return {row["rule"]: row for row in record["findings"] if row["rule"].startswith("link.")}, record["class"]


def with_path(*hops, sample=None):
    return change(sample or facts(versions=NEW), "gpus.0.link", list(hops))


def slow(row, **changes):
    if "speed_gts" in changes:
        changes.setdefault("samples_gts", [changes["speed_gts"]] * 5)
    return {**row, **changes}


def mi210(*hops, **gpu):
    """An MI210 whose GPU and board hops are changed by {key: value}; other values of its row by name."""
    sample = facts(versions=NEW, device_id="740f", speed=16.0)
    unit = sample["gpus"][0]
    unit.update(
        gpu,
        link=[slow(row, **changes) for row, changes in zip(unit["link"], hops, strict=False)]
        + unit["link"][len(hops) :],
    )
    return sample


IDLE = {"speed_gts": 2.5}


def test_a_full_path_is_no_finding(target):
    assert links_of(target) == ({}, "at_target")


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_every_hop_counts_not_only_the_gpus_own(target, index):
    found, kind = links_of(target, f"link.{index}.speed_gts", 16.0)
    assert (found["link.speed"]["expected"], found["link.speed"]["observed"]) == (
        "32.0 GT/s (Gen5)",
        "16.0 GT/s (Gen4)",
    )
    assert kind == "unhealthy"


def test_eight_gigatransfers_are_gen3(target):
    found, _kind = links_of(target, "link.3.speed_gts", 8.0)
    assert found["link.speed"]["observed"] == "8.0 GT/s (Gen3)"


@pytest.mark.parametrize("key", ["speed_gts", "width", "max_speed_gts", "max_width"])
@pytest.mark.parametrize("value", [None, 0, 255, 15, 63, 12.5, "Unknown"])
def test_c14_what_no_link_can_be_is_no_reading_and_never_fast_enough(target, key, value):
    found, kind = links_of(target, f"link.2.{key}", value)
    assert (found["link.speed"]["verdict"], found["link.width"]["verdict"], kind) == ("unknown", "unknown", "unknown")


def test_a_link_faster_than_it_can_be_is_no_reading(target):
    assert links_of(target, "link.2.max_speed_gts", 16.0)[1] == "unknown"


def test_c01_a_gpu_at_full_speed_behind_a_slow_slot_fails_on_speed_and_width(target):
    own, below = hop("0000:03:00.0", "gpu", "74a1"), hop("0000:02:00.0", "board_switch", "1501")
    up = slow(hop("0000:01:00.0", "board_switch", "1500"), speed_gts=16.0, width=8)
    port = slow(hop("0000:00:01.1", "root_port", "14ab", "1022"), speed_gts=16.0, width=8)
    found, kind = links_of(target, sample=with_path(own, below, up, port))
    assert (found["link.speed"]["verdict"], found["link.width"]["verdict"], kind) == ("fail", "fail", "unhealthy")
    assert "0000:01:00.0" in found["link.speed"]["subject"]


def test_c13_the_report_shows_every_reading_so_that_one_device_alone_misleads_nobody(target):
    found, _kind = links_of(target, sample=mi210({}, {}, {}, {"speed_gts": 8.0}))
    assert "16.0 GT/s (Gen4) x16" in found["link.speed"]["why"]
    assert "8.0 GT/s (Gen3) x16" in found["link.speed"]["why"]


def test_the_narrowest_hop_is_the_one_reported(target):
    sample = change(facts(versions=NEW), "gpus.0.link.1.speed_gts", 16.0)
    found, _kind = links_of(target, "link.3.speed_gts", 2.5, sample)
    assert found["link.speed"]["subject"].endswith("hop 0000:10:01.1")


@pytest.mark.parametrize(("level", "verdict"), [("auto", "unknown"), (None, "unknown"), ("high", "fail")])
def test_c04_a_gen1_reading_of_an_idle_mi210_proves_nothing_until_its_level_is_pinned(target, level, verdict):
    sample = mi210(IDLE, IDLE, performance_level=level)
    assert links_of(target, sample=sample)[0]["link.speed"]["verdict"] == verdict


def test_c04_power_saving_explains_no_missing_lanes_and_no_slow_mi300x(target):
    sample = facts(versions=NEW, device_id="740f", speed=16.0)
    assert links_of(target, "link.0.width", 8, sample)[0]["link.width"]["verdict"] == "fail"
    assert links_of(target, "link.0.speed_gts", 2.5)[0]["link.speed"]["verdict"] == "fail"


LEVELS = {
    "all full": [{"speed_gts": 16.0, "width": 16, "active": True}],
    "one lane": [{"speed_gts": 2.5, "width": 1, "active": True}, {"speed_gts": 16.0, "width": 16, "active": False}],
    "unread": [{"speed_gts": None, "width": None, "active": True}],
    "slow": [{"speed_gts": 8.0, "width": 16, "active": True}, {"speed_gts": 16.0, "width": 16, "active": False}],
}


@pytest.mark.parametrize(
    "changes, gpu, verdict",
    [
        (IDLE, {"busy_percent": 97}, "fail"),
        (IDLE, {"busy_percent": 3}, "unknown"),
        (IDLE, {"busy_percent": None}, "unknown"),
        (IDLE, {"link_levels": LEVELS["all full"]}, "fail"),
        (IDLE, {"link_levels": LEVELS["one lane"]}, "unknown"),
        (IDLE, {"link_levels": LEVELS["unread"]}, "unknown"),
        ({"speed_gts": 8.0}, {"link_levels": LEVELS["unread"]}, "fail"),
        ({"speed_gts": 8.0}, {"link_levels": LEVELS["one lane"]}, "fail"),
        ({"speed_gts": 8.0}, {"link_levels": LEVELS["slow"]}, "unknown"),
        ({"speed_gts": 8.0}, {"link_levels": LEVELS["slow"], "performance_level": "high"}, "fail"),
    ],
)
def test_c04_a_slow_reading_is_a_fault_under_load_or_where_no_level_is_as_slow(target, changes, gpu, verdict):
    assert links_of(target, sample=mi210(changes, changes, **gpu))[0]["link.speed"]["verdict"] == verdict


@pytest.mark.parametrize(
    "changes, levels, verdict",
    [
        ({"width": 8}, None, "fail"),
        ({"width": 8}, "all full", "fail"),
        ({"width": 8}, "one lane", "fail"),
        ({"width": 1}, "one lane", "fail"),
        ({"width": 1, "speed_gts": 2.5}, "one lane", "unknown"),
    ],
)
def test_c04_few_lanes_are_a_fault_unless_a_level_has_as_few(target, changes, levels, verdict):
    sample = mi210(changes, changes, link_levels=LEVELS.get(levels))
    assert links_of(target, sample=sample)[0]["link.width"]["verdict"] == verdict


FLAPS = {"speed_gts": 5.0, "samples_gts": [5.0, 2.5, None, 16.0, 16.0]}


def test_c06_a_link_that_flaps_at_idle_has_proven_what_it_can_do(target):
    assert links_of(target, sample=mi210(FLAPS, FLAPS)) == ({}, "at_target")


@pytest.mark.parametrize(("device", "busy", "verdict"), [("740f", 90, "warn"), ("74a1", 0, "fail")])
def test_c06_it_is_none_where_nothing_saves_power(target, device, busy, verdict):
    sample = facts(versions=NEW, device_id=device, speed=16.0 if device == "740f" else 32.0)
    sample["gpus"][0]["busy_percent"] = busy
    full = {**FLAPS, "samples_gts": [5.0, sample["gpus"][0]["link"][0]["speed_gts"]]}
    sample["gpus"][0]["link"][0].update(full)
    assert links_of(target, sample=sample)[0]["link.speed"]["verdict"] == verdict


def test_c06_a_link_that_is_pinned_below_its_speed_is_a_fault(target):
    pinned = {"speed_gts": 2.5, "autonomous_speed": False}
    found, kind = links_of(target, sample=mi210(pinned, pinned))
    assert (found["link.speed"]["verdict"], kind) == ("fail", "unhealthy")
    assert "SpeedDis" in found["link.speed"]["why"]


@pytest.mark.parametrize("device", ["74a1", "74a0"])
def test_c14_a_device_that_does_not_answer_fails_whatever_its_bridge_says(target, device):
    sample = facts(versions=NEW, device_id=device, count=4 if device == "74a0" else 8)
    gone = dict.fromkeys(("speed_gts", "width", "max_speed_gts", "max_width", "samples_gts"))
    sample["gpus"][0]["link"][0].update(gone, answers=False)
    found, kind = links_of(target, sample=sample)
    assert (found["link.speed"]["verdict"], "link.width" in found, kind) == ("fail", False, "unhealthy")
    assert "32.0 GT/s (Gen5) x16" in found["link.speed"]["why"]


def test_c03_a_card_in_an_older_slot_runs_as_fast_as_that_can(target):
    port, up = hop("0000:00:03.1", "root_port", "14ab", "1022", 16.0), hop("0000:2d:00.0", "board_switch", "1500")
    path = [
        hop("0000:2f:00.0", "gpu", "74a1"),
        hop("0000:2e:00.0", "board_switch", "1501"),
        slow(up, speed_gts=16.0),
        port,
    ]
    found, kind = links_of(target, sample=with_path(*path))
    assert (list(found), kind) == (["link.capability"], "at_target")


def test_c09_a_gpu_inside_the_socket_has_no_host_link_to_judge(target):
    sample = facts(versions=NEW, device_id="74a0", count=4)
    for row in sample["gpus"][0]["link"]:
        row.update(speed_gts=None, width=None, max_speed_gts=None, max_width=None)
    assert links_of(target, sample=sample) == ({}, "at_target")


def test_c09_the_same_reading_of_a_card_is_unknown(target):
    sample = facts(versions=NEW, device_id="740f", speed=16.0)
    assert links_of(target, "link.0.speed_gts", None, sample)[1] == "unknown"


def test_eight_lanes_behind_the_bridge_of_an_mi250_are_right(target):
    sample = facts(versions=NEW, device_id="740c", speed=16.0)
    for unit in sample["gpus"]:
        number = unit["bdf"][5]
        up = hop(f"0000:{number}1:00.0", "board_switch", "14c7", "1022", 16.0, 8)
        port = slow(hop(f"0000:{number}0:01.1", "root_port", "14ab", "1022", 32.0, 16), speed_gts=16.0, width=8)
        unit["link"] = [*unit["link"][:2], up, port]
    assert links_of(target, sample=sample) == ({}, "at_target")


def test_a_hop_that_cannot_do_more_is_told_and_is_no_fault(target):
    own = slow(hop("0000:03:00.0", "gpu", "74a1"), speed_gts=16.0)
    found, kind = links_of(target, sample=with_path(own, hop("0000:00:01.1", "root_port", "1480", "1022", 16.0)))
    assert (found["link.capability"]["verdict"], kind) == ("warn", "at_target")


@pytest.mark.parametrize("path", [None, [], [hop("0000:03:00.0", "gpu", "74a1")]])
def test_a_path_nobody_sees_is_unknown(target, path):
    assert links_of(target, "link", path)[1] == "unknown"


def test_a_hop_missing_in_the_middle_is_held_to_the_one_above(target):
    own, up = hop("0000:03:00.0", "gpu", "74a1"), hop("0000:01:00.0", "switch", "1979", "15b3")
    port = slow(hop("0000:00:01.1", "root_port", "14ab", "1022"), speed_gts=8.0)
    assert links_of(target, sample=with_path(own, up, port))[0]["link.speed"]["verdict"] == "fail"


def test_a_cap_in_the_target_is_kept_and_told(tmp_path):
    target = target_of(tmp_path, link={"speed_gts": 8.0})
    sample = facts(versions=NEW)
    for row in (row for unit in sample["gpus"] for row in unit["link"]):
        row["speed_gts"] = 8.0
    found, kind = links_of(target, sample=sample)
    assert (found["link.capability"]["verdict"], kind) == ("warn", "at_target")


@pytest.mark.parametrize("index", range(4))
def test_c12_aspm_is_judged_on_the_whole_path_whatever_the_policy_says(target, index):
    sample = change(facts(versions=NEW), "settings.aspm", {"policy": "performance", "cmdline_off": False})
    sample = change(sample, f"gpus.0.link.{index}.aspm.l1", True)
    found = [row for row in judge(sample, target, CATALOG, "g01")["findings"] if row["rule"] == "aspm"]
    assert [row["verdict"] for row in found] == ["warn"]
    assert sample["gpus"][0]["link"][index]["bdf"] in found[0]["observed"]


def test_c12_a_link_nobody_can_tell_of_is_unknown(target):
    sample = change(facts(versions=NEW), "gpus.0.link.3.aspm.l1", None)
    found = [row for row in judge(sample, target, CATALOG, "g01")["findings"] if row["rule"] == "aspm"]
    assert [row["verdict"] for row in found] == ["unknown"]
