# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the command line lasts, and what AMD advises for it and for other settings."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules.advice import agrees, verdict_of
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.cases import Case, seen
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.rules.judged import record_of, said

WANTED = ["iommu=pt", "pcie_aspm=off"]
MI300A = {"product": "MI300A", "node": {"device_id": "74a0", "count": 4}}


def entry(kernel, cmdline, rescue=False):
    return {"kernel": kernel, "cmdline": cmdline, "default": False, "rescue": rescue}


def found(folder, rule, *changes, **more):
    return said(record_of(seen(*changes, **more), folder), rule)


def test_i01_a_menu_that_was_not_written_anew_is_seen_before_the_reboot(tmp_path):
    record = record_of(seen(("node.kernel.next_boot_cmdline", ["root=/dev/sda1"])), tmp_path)
    (row,) = said(record, "cmdline.next_boot")
    assert (row["verdict"], record["class"], record["steps"]) == ("fail", "may_move", ["kernel", "reboot"])


def test_i03_a_drop_in_that_takes_an_argument_away_is_told_before_the_reboot(tmp_path):
    rows = found(tmp_path, "cmdline.at_reboot", ("node.kernel.next_boot_cmdline", ["iommu=pt", "console=tty1"]))
    assert [(row["subject"], row["observed"]) for row in rows] == [
        ("g01 aspm", "at the next boot no argument about it")
    ]


def test_what_the_target_asks_for_is_no_change_to_be_told(tmp_path):
    assert found(tmp_path, "cmdline.at_reboot", ("node.kernel.cmdline", ["root=/dev/sda1"])) == []


@pytest.mark.parametrize(
    ("other", "verdicts"),
    [
        (entry("5.14.0-427.el9.x86_64", ["ro", "iommu=pt"]), ["warn"]),
        (entry("0-rescue-ab12cd", ["ro"], rescue=True), []),
        (entry("5.14.0-427.el9.x86_64", WANTED), []),
        (entry("5.14.0-427.el9.x86_64", None), ["unknown"]),
        ({"kernel": "x"}, ["unknown"]),
    ],
    ids=["the way back", "rescue", "as wanted", "not known", "another form"],
)
def test_i06_an_argument_is_there_where_every_entry_but_those_for_rescue_has_it(tmp_path, other, verdicts):
    rows = found(tmp_path, "cmdline.every_entry", ("node.boot_entries", [entry("5.14.0-503", WANTED), other]))
    assert [row["verdict"] for row in rows] == verdicts
    assert all("5.14.0-427" in row["observed"] for row in rows if row["verdict"] == "warn")


def test_i07_a_kernel_that_would_not_inherit_the_arguments_is_told(tmp_path):
    (row,) = found(tmp_path, "cmdline.new_kernels", ("node.kernel.new_kernels_cmdline", ["root=/dev/x", "ro"]))
    assert (row["verdict"], row["observed"]) == ("warn", "/etc/kernel/cmdline lacks iommu=pt pcie_aspm=off")


@pytest.mark.parametrize(
    ("product", "path", "value", "told"),
    [
        ({}, "settings.numa_balancing", 1, "numa_balancing"),
        ({}, "settings.thp", "madvise", None),
        ({}, "settings.iommu.present", False, "iommu"),
        ({}, "settings.smt_active", True, None),
        (MI300A, "settings.thp", "madvise", "thp"),
        (MI300A, "settings.iommu.present", True, "iommu"),
        (MI300A, "settings.numa_balancing", 1, "numa_balancing"),
    ],
)
def test_what_is_advised_depends_on_the_product(tmp_path, product, path, value, told):
    healthy = [("settings.thp", "always"), ("settings.iommu.present", False)] if product else []
    rows = found(tmp_path, "settings.advice", *healthy, (path, value), **product)
    assert [row["subject"] for row in rows] == ([f"g01 {told}"] if told else [])
    assert all(row["verdict"] == "warn" and row["source"] for row in rows)


def test_a_wish_of_the_site_goes_before_advice(tmp_path):
    off = ("settings.iommu.present", False)
    assert found(tmp_path, "settings.advice", off, wants={"bios": {"iommu": "Disabled"}}) == []


@pytest.mark.parametrize(
    ("vendor", "verdicts"), [("GenuineIntel", ["warn"]), ("AuthenticAMD", []), (None, ["unknown"])]
)
def test_an_argument_for_one_maker_of_processors_is_asked_of_its_hosts_only(tmp_path, vendor, verdicts):
    rows = found(tmp_path, "cmdline.required", ("platform.cpu_vendor", vendor))
    assert [row["verdict"] for row in rows if row["expected"] == "intel_iommu=on"] == verdicts


@pytest.mark.parametrize(
    ("value", "fact", "same"),
    [
        ("Enabled", True, True), ("Disabled", True, False), ("0", 0, True), ("0", 2, False), ("always", "always", True),
        ("performance", {"performance": 8}, True), ("performance", {"performance": 7, "powersave": 1}, False),
    ],
)  # fmt: skip
def test_a_fact_is_held_to_the_value_of_a_row(value, fact, same):
    assert agrees(value, fact) is same


def test_what_nobody_verified_never_fails():
    rows = [*load_catalog().bios, *load_catalog().settings["os"], *load_catalog().settings["kernel"]]
    assert {verdict_of(row) for row in rows if row["status"] == "unverified"} == {"warn"}


def test_a_node_of_no_product_is_not_judged_by_any_row(tmp_path):
    record = record_of(Case((("gpus", []),)), tmp_path)
    assert said(record, "settings.advice") == said(record, "cmdline.required") == []
