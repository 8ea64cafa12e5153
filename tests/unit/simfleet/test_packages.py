# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages are versioned as AMD versions them; inventory and targets have the form that a controller takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from simfleet.debs import driver_debs, rocm_debs
from simfleet.fleetfile import parse_fleet
from simfleet.inventory import inventory, target
from simfleet.layers import source_lists, wanted_packages
from simfleet.packages import BY_DRIVER, BY_ROCM, RELEASES


def test_versions_have_amds_form() -> None:
    new, old = BY_ROCM["7.0.2"], BY_ROCM["6.4.4"]
    assert (old.rocm_version, new.rocm_version) == ("6.4.4.60404-129~22.04", "7.0.2.70002-56~22.04")
    assert old.driver_version == "1:6.12.12.60404-2202139.22.04"
    assert new.driver_version == "1:6.14.14.30100200-2226257.22.04"
    assert new.firmware_version == "30.10.2.0.30100200-2226257.22.04"
    assert BY_DRIVER["30.10.2"].dkms_version == "6.14.14-2226257.22.04"


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.rocm)
def test_every_dependency_on_amd_is_exact_and_in_the_repository(release: object) -> None:
    debs = [*rocm_debs(release), *driver_debs(release)]  # type: ignore[arg-type]
    offered = {f"{deb.name} (= {deb.version})" for deb in debs}
    asked = {word for deb in debs for word in deb.depends if not word.startswith("dkms ")}
    assert asked
    assert asked <= offered


def test_a_failed_build_ends_the_postinst_with_ten() -> None:
    module = next(deb for deb in driver_debs(BY_ROCM["7.0.2"]) if deb.name == "amdgpu-dkms")
    assert "dkms build -m $name -v $version -k $kernel || exit 10" in module.scripts["postinst"]
    assert "version=6.14.14-2226257.22.04" in module.scripts["postinst"]


def test_a_node_without_packages_has_no_package_sources() -> None:
    assert source_lists(None, None) == {}
    assert wanted_packages(None, None) == []
    assert "/amdgpu/30.10.2/ubuntu jammy main" in source_lists(None, "30.10.2")["etc/apt/sources.list.d/amdgpu.list"]


def test_the_inventory_checks_host_keys_with_a_file_of_its_own() -> None:
    fleet = parse_fleet({"base": 9, "racks": {"r1": ["g01"]}})
    group = inventory(Path("/state"), fleet)["fleet"]
    assert group["hosts"] == {
        "g01": {"ansible_host": "127.0.9.1", "fleet_rack": "r1", "fleet_bmc_address": "127.1.9.1"}
    }
    assert (
        "UserKnownHostsFile=/state/ssh/known_hosts -o StrictHostKeyChecking=yes"
        in group["vars"]["ansible_ssh_common_args"]
    )


def test_a_target_names_the_pair_of_rocm_and_driver() -> None:
    document = target(BY_ROCM["7.0.2"], ["MI300X"])
    assert document["products"] == {"MI300X": {"rocm": "7.0.2", "driver": "30.10.2"}}
    assert document["repository"]["key_file"] == "rocm.gpg.asc"
    assert document["schema"] == 1
