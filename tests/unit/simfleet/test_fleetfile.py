# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet file with a mistake is refused with one sentence that names the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simfleet.errors import FleetFileError
from simfleet.fleetfile import load_fleet, parse_fleet

FLEETS = Path(__file__).parents[2] / "fleets"


def _fleet(**more: Any) -> dict[str, Any]:
    return {"racks": {"r1": ["g01", "g02"]}, **more}


@pytest.mark.parametrize("path", sorted(FLEETS.glob("*.yml")), ids=lambda path: path.stem)
def test_the_shipped_fleet_files_hold(path: Path) -> None:
    assert load_fleet(path).nodes


def test_the_demo_is_twelve_nodes_in_three_racks_with_one_slow_slot() -> None:
    fleet = load_fleet(FLEETS / "demo.yml")
    assert len(fleet.nodes) == 12
    assert {node.rack for node in fleet.nodes} == {"r1", "r2", "r3"}
    assert [(fault.node, fault.effect, fault.when) for fault in fleet.faults] == [
        ("g07", "link_speed", {"driver": "6.14.14"})
    ]


def test_addresses_follow_base_and_order() -> None:
    fleet = parse_fleet(_fleet(base=77))
    assert [fleet.address(node) for node in fleet.nodes] == ["127.0.77.1", "127.0.77.2"]
    assert fleet.mirror == "127.0.77.254"


def test_a_node_overrides_the_defaults() -> None:
    fleet = parse_fleet(_fleet(defaults={"gpus": 4}, nodes={"g02": {"product": "MI210", "rocm": None}}))
    assert [(node.product, node.gpus, node.rocm) for node in fleet.nodes] == [
        ("MI300X", 4, "6.4.4"),
        ("MI210", 4, None),
    ]


def test_a_bmc_follows_the_machine_and_what_the_file_says_of_it() -> None:
    nodes = {"g01": {"product": "MI210", "bmc": {"quirks": ["slow_task"]}}, "g02": {"bmc": False}}
    fleet = parse_fleet(_fleet(base=77, defaults={"bmc": {"latency": 0.02}}, nodes=nodes))
    (spec, address) = fleet.bmcs()[0]
    assert (spec.node, spec.profile, spec.latency, list(spec.quirks)) == ("g01", "idrac", 0.02, ["slow_task"])
    assert (address, len(fleet.bmcs())) == ("127.1.77.1", 1)


WRONG = {
    "a list in place of a mapping": ([], "fleet: saw list"),
    "an unknown key at the top": (_fleet(rack=1), "fleet.rack: unknown key; allowed are base"),
    "no racks": ({}, "racks: wanted a mapping"),
    "a rack that is no list": ({"racks": {"r1": "g01"}}, "racks.r1: saw 'g01'"),
    "a name twice": ({"racks": {"r1": ["g01"], "r2": ["g01"]}}, "racks.r2: node g01 is named twice"),
    "a name with a capital": ({"racks": {"r1": ["G01"]}}, "'G01' is no node name"),
    "an unknown key of a node": (_fleet(nodes={"g01": {"gpu": 8}}), "nodes.g01.gpu: unknown key"),
    "a node that is in no rack": (_fleet(nodes={"g09": {}}), "nodes.g09: unknown key; allowed are g01, g02"),
    "an unknown product": (_fleet(defaults={"product": "MI999"}), "nodes.g01.product: saw 'MI999'; allowed are MI300X"),
    "too many GPUs": (_fleet(defaults={"gpus": 9}), "nodes.g01.gpus: saw 9; wanted a number from 0 to 8"),
    "an unknown release": (_fleet(defaults={"rocm": "9.9"}), "nodes.g01.rocm: saw '9.9'; allowed are 6.3.3"),
    "a release as a number": (_fleet(defaults={"driver": 6.4}), "nodes.g01.driver: saw 6.4"),
    "an address that cannot be": (_fleet(base=300), "base: saw 300; wanted a number from 1 to 254"),
    "an unknown maker": (
        _fleet(nodes={"g01": {"bmc": {"profile": "x"}}}),
        "nodes.g01.bmc.profile: saw 'x'; allowed are",
    ),
    "an unknown quirk": (_fleet(defaults={"bmc": {"quirks": ["x"]}}), "nodes.g01.bmc.quirks: saw 'x'; known are"),
    "faults that are no list": (_fleet(faults={"g01": "x"}), "faults: saw dict, wanted a list"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_one_clear_error(case: str) -> None:
    data, words = WRONG[case]
    with pytest.raises(FleetFileError) as caught:
        parse_fleet(data)
    assert words in str(caught.value)


def test_the_path_stands_in_front_of_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "f.yml").write_text("racks: [", encoding="utf-8")
    with pytest.raises(FleetFileError, match=r"f\.yml: is not YAML"):
        load_fleet(tmp_path / "f.yml")
    with pytest.raises(FleetFileError, match=r"none\.yml: cannot be read"):
        load_fleet(tmp_path / "none.yml")
