# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told about Instinct upgrades and is wrong: that none of it is in the catalog, in a rule or in advice.

The numbers are those of two widely copied posts, "MI400 upgrade" (1.x) and "MI300 versus MI400" (2.x).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import describe, generation
from ansible_collections.fleetops.instinct.plugins.module_utils._signatures import recognise
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import compare
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._coverage import releases_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._files import NAMES, path_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.judge import judge
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import TargetError, load_target
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    NEW,
    change,
    facts,
    target_document,
    write_target,
)

CATALOG = load_catalog()
ROOT = Path(__file__).resolve().parents[4]
FILES = {name: Path(path_of(name)).read_text(encoding="utf-8") for name in NAMES}
TEXT = "\n".join(FILES.values())
SHIPPED = [
    path
    for folder in ("plugins", "roles", "playbooks")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file()
]
MI300 = ("MI300A", "MI300X", "MI308X", "MI325X", "MI350X", "MI355X", "MI350P")


def bios(key, product):
    return [row for row in CATALOG.bios if row["key"] == key and product in row["products"]]


# PCI Express


@pytest.mark.parametrize(("gts", "number"), [(2.5, 1), (5.0, 2), (8.0, 3), (16.0, 4), (32.0, 5), (64.0, 6)])
def test_8_gts_is_the_third_generation_and_not_the_fourth_1_16(gts, number):
    assert generation(gts) == number
    assert f"Gen{number}" in describe(gts)


def test_mi300_and_later_are_of_the_fifth_generation_and_mi100_and_mi200_of_the_fourth_1_6():
    seen = {name: generation(row["link"]["speed_gts"]) for name, row in CATALOG.products.items()}
    assert seen == {name: 5 if name in MI300 else 4 for name in CATALOG.products}


def test_a_target_with_a_speed_that_there_is_not_is_told_the_generations_1_16(tmp_path):
    link = {"speed_gts": 4.0, "width": 16}
    document = target_document(MI300X={"rocm": "7.0.2", "driver": "30.10.2", "link": link})
    with pytest.raises(TargetError, match=r"8.0 is Gen3, 16.0 is Gen4, 32.0 is Gen5"):
        load_target(write_target(tmp_path, document), CATALOG)


def test_to_cap_the_generation_is_a_degraded_mode_and_never_silent_1_17():
    (row,) = [row for row in CATALOG.settings["cmdline"] if row["match"].startswith("amdgpu.pcie_gen_cap")]
    assert "degraded" in row["advice"]


# Products that are not there yet


def test_no_product_of_the_mi400_series_can_be_recognised_1_1():
    assert [row for row in CATALOG.announced.values() if "ids" in row] == []
    assert [name for name in CATALOG.products if name.startswith(("MI4", "MI5"))] == []
    assert all(row["status"] == "unverified" for row in CATALOG.announced.values())


@pytest.mark.parametrize("name", ["MI430X", "MI440X", "MI455X"])
def test_a_target_for_one_is_refused_by_name_1_1(tmp_path, name):
    document = target_document(**{name: {"rocm": "7.0.2", "driver": "30.10.2"}})
    with pytest.raises(TargetError, match=f"{name}: is announced, but no PCI id is published"):
        load_target(write_target(tmp_path, document), CATALOG)


@pytest.mark.parametrize("name", ["MI400", "AMD MI400", "MI300X", "", "75a"])
def test_a_product_is_known_by_its_device_id_and_never_by_a_name_1_14(name):
    assert CATALOG.product_for(name) is None


def test_no_release_and_no_firmware_list_is_for_the_mi400_series_1_9():
    assert not re.search(r"MI4\d\d", json.dumps([CATALOG.rows("firmware", part) for part in ("pairs", "gaps")]))
    assert CATALOG.firmware_for("MI455X", "10.1.0") == []
    assert CATALOG.system("ubuntu", "24.04", "10.1.0", "MI455X").answer == "unknown"


# Releases


@pytest.mark.parametrize("product", ["MI300A", "MI300X", "MI325X", "MI350X", "MI355X", "MI350P"])
def test_5_6_and_5_7_do_not_know_mi300_so_nobody_goes_back_there_1_25(product):
    assert [name for name in releases_of(CATALOG, product) if name.startswith("5.")] == []
    assert CATALOG.system("ubuntu", "22.04.3", "5.7.1", product).answer == "outside"


def test_a_target_of_5_6_blocks_a_node_with_mi300x_1_25(tmp_path):
    target = load_target(write_target(tmp_path, target_document(MI300X={"rocm": "5.6.1", "driver": "5.6.1"})), CATALOG)
    record = judge(facts(), target, CATALOG, "g01")
    assert record["class"] in ("blocked", "unknown")
    assert "product.min_rocm" in [row["rule"] for row in record["findings"] if row["verdict"] == "fail"]


def test_5_6_is_not_more_stable_than_5_7_1_26():
    said = [row for row in CATALOG.known_bad(rocm="5.7.1", driver="5.7.1") if {"rocm", "driver"} & row["when"].keys()]
    assert {row["id"] for row in said if "possible" not in row} == {"driver_reboot_6.3"}


@pytest.mark.parametrize("release", ["7.3.0", "7.4.0", "7.5.0", "7.6.0", "7.7.0", "7.8.0", "8.0.0", "9.0.0"])
def test_releases_that_were_never_made_are_not_known(release):
    assert CATALOG.release(release) is None


def test_7_9_to_7_13_are_previews_and_7_14_is_newer_than_7_2():
    previews = [name for name in CATALOG.releases if compare(name, "7.9.0") >= 0 and compare(name, "7.14.0") < 0]
    assert {CATALOG.releases[name]["kind"] for name in previews} == {"preview"}
    assert compare("7.14.0", "7.2.4") > 0
    assert [CATALOG.hops("7.2.4", name)[0]["move"] for name in previews] == ["blocked"] * len(previews)


def test_nothing_in_the_catalog_is_about_cuda_1_24():
    assert "cuda" not in TEXT.lower()


# Settings


@pytest.mark.parametrize("product", list(CATALOG.products))
def test_global_c_states_are_never_to_be_disabled_1_12(product):
    rows = bios("global_cstate", product)
    assert all(row["value"].startswith("Enabled or Auto") and "never Disabled" in row["value"] for row in rows)
    assert rows or product == "MI308X"


def test_the_three_kinds_of_c_states_are_three_settings_1_12():
    (df,) = bios("df_cstates", "MI300X")
    assert (df["value"], df["reads"]) == ("Disabled", None)
    assert bios("global_cstate", "MI300X")[0]["reads"] == "settings.idle.states"
    (os_level,) = [row for row in CATALOG.settings["cmdline"] if row["match"].startswith("processor.max_cstate")]
    assert "optional" in os_level["advice"]


def test_apbdis_and_the_state_of_the_fabric_are_for_the_bios_alone():
    rows = [row for row in CATALOG.bios if row["key"] in ("df_cstates", "apbdis", "fixed_soc_pstate")]
    assert {row["reads"] for row in rows} == {None}
    assert all("only the BIOS can set it" in row["why"] for row in rows)


def test_nodes_with_mi300x_are_not_told_nps4():
    assert [row["value"] for row in bios("nps", "MI300X")] == ["NPS1"]


def test_aspm_is_for_the_bios_and_the_command_line_cannot_do_it_alone_1_11():
    (row,) = bios("aspm", "MI300X")
    assert (row["value"], row["severity"]) == ("Disabled", "warn")
    assert "BIOS" in next(row["why"] for row in CATALOG.settings["kernel"] if row["key"] == "pcie_aspm=off")


def test_no_security_is_traded_for_speed_by_default():
    assert not any(row["key"].startswith(("mitigations", "nokaslr")) for row in CATALOG.settings["kernel"])
    said = {row["match"]: row["advice"] for row in CATALOG.settings["cmdline"]}
    assert all("never a default" in said[match] for match in ("mitigations=off", "nokaslr"))


# Figures that nobody published


@pytest.mark.parametrize("word", ["voltage", "mclk", "hbm clock", "celsius", "temperature", "watt", "tflop", "tb/s"])
def test_the_catalog_has_no_figures_of_heat_voltage_clocks_or_power_1_19_to_1_23(word):
    rows = [row for part in ("cmdline", "idle", "kernel", "os", "space") for row in CATALOG.settings[part]]
    rows += [*CATALOG.products.values(), *CATALOG.rows("known_bad", "known_bad")]
    assert word not in json.dumps(rows).lower()


def test_a_gpu_at_95_degrees_below_its_own_limit_is_not_ill_1_19(tmp_path):
    wanted = target_document(MI300X={"rocm": "7.0.2", "driver": "30.10.2"})
    target = load_target(write_target(tmp_path, wanted), CATALOG)
    warm = {"junction": {"celsius": 95.0, "critical": 100.0, "emergency": 105.0}}
    record = judge(change(facts(versions=NEW), "gpus.0.temperatures", warm), target, CATALOG, "g01")
    assert record["verdict"]["health"] == "healthy"


def test_a_performance_level_is_no_remedy_and_sets_no_voltage_1_21():
    assert "performance_level" not in TEXT
    assert "power_dpm_force_performance_level" not in TEXT


def test_no_row_has_a_share_of_errors_or_a_gain_of_speed_1_5_1_13_1_18_1_32():
    # What the driver itself prints has one: a GPU whose bad pages are at 90% of what it bears.
    ours = "\n".join(text for name, text in FILES.items() if name != "log_signatures")
    said = [row["meaning"] + row["action"] for row in CATALOG.signatures.values()]
    assert re.findall(r"\d+ ?(?:%|percent)", "\n".join([ours, *said])) == []


# Messages, tools and files that there are not


@pytest.mark.parametrize(
    "line", ["HBM Memory Timeout", "amdgpu: HBM Memory Timeout on 0000:63:00.0", "CUDA incompatible"]
)
def test_lines_that_no_driver_prints_are_not_looked_for_1_3_1_25(line):
    assert recognise(line).id is None
    assert line.split(" on ")[0] not in TEXT


@pytest.mark.parametrize(
    "advice",
    [
        "--showmemerr",
        "journalctl -u rocm-smi",
        "sclk_max",
        "ld.so.conf",
        "MI Optimizer",
        "amdvbflash",
        "amdfwflash",
        "NPS4 for AI",
    ],
)
def test_nothing_shipped_advises_what_does_not_work_1_22_1_28_1_29_1_30_1_31(advice):
    assert [path.name for path in SHIPPED if advice in path.read_text(encoding="utf-8", errors="replace")] == []


def test_firmware_that_differs_is_never_said_to_destroy_anything_1_4():
    said = json.dumps([CATALOG.rows("firmware", "gaps"), CATALOG.rows("known_bad", "known_bad")]).lower()
    assert not re.search(r"burn|destroy|brick", said)
