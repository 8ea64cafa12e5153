# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Makers as data: one file of `profiles/` each, and what a fleet file may say of a node's BMC."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from simfleet.bmc.quirks import parse_quirks
from simfleet.errors import FleetFileError

FOLDER = Path(__file__).parent / "profiles"
PROFILES = ("ami", "idrac", "ilo", "openbmc")
BY_VENDOR = {"Supermicro": "openbmc", "Dell Inc.": "idrac", "GIGABYTE": "ami", "HPE": "ilo"}
BUNDLES = {"MI300X": "01.25.03.12", "MI325X": "01.25.03.03", "MI350X": "01.25.11.02"}
BMC_KEYS = ("profile", "quirks", "latency", "firmware", "task_seconds", "restart_seconds", "post_seconds")
ACTIVATIONS = ("none", "bmc_reset", "warm_reboot", "dc_cycle", "ac_cycle")


@cache
def load_profile(name: str) -> dict[str, Any]:
    """The data of one maker; not to be changed."""
    data: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))
    data["name"] = name
    return data


@dataclass(frozen=True)
class BmcSpec:
    """One BMC as the fleet file wants it. `firmware` holds versions by component; times are seconds."""

    node: str
    profile: str = "openbmc"
    product: str = "MI300X"
    vendor: str = "Supermicro"
    model: str = "AS -8125GS-TNMR2"
    bios_version: str = "3.2"
    bios_date: str = "11/13/2024"
    vbios: str = "113-M3000100-102"
    gpus: int = 8
    quirks: dict[str, dict[str, Any]] = field(default_factory=dict)
    firmware: dict[str, str] = field(default_factory=dict)
    latency: float = 0.0
    task_seconds: float = 0.6
    restart_seconds: float = 1.0
    post_seconds: float = 0.3

    @property
    def bundle(self) -> str:
        """The version of the GPU component as shipped: a bundle, or a part number where there is none."""
        return BUNDLES.get(self.product, self.vbios)


def _seconds(where: str, data: dict[str, Any]) -> dict[str, float]:
    times = {}
    for key in ("latency", "task_seconds", "restart_seconds", "post_seconds"):
        if key in data:
            value = data[key]
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 3600:
                raise FleetFileError(f"{where}.{key}: saw {value!r}; wanted a number from 0 to 3600")
            times[key] = float(value)
    return times


def parse_bmc(where: str, data: Any, node: str, **machine: Any) -> BmcSpec:
    """What the fleet file says under `bmc` of a node, over what the machine is; raises FleetFileError."""
    data = {} if data is None else data
    if not isinstance(data, dict):
        raise FleetFileError(f"{where}: saw {data!r}; wanted a mapping with keys of {', '.join(BMC_KEYS)}")
    for key in data:
        if key not in BMC_KEYS:
            raise FleetFileError(f"{where}.{key}: unknown key; allowed are {', '.join(BMC_KEYS)}")
    name = data.get("profile") or BY_VENDOR.get(machine.get("vendor", ""), "openbmc")
    if name not in PROFILES:
        raise FleetFileError(f"{where}.profile: saw {name!r}; allowed are {', '.join(PROFILES)}")
    quirks = parse_quirks(f"{where}.quirks", [*load_profile(name)["quirks"], *(data.get("quirks") or [])])
    firmware = data.get("firmware") or {}
    if not isinstance(firmware, dict) or not all(isinstance(item, str) for item in firmware.values()):
        raise FleetFileError(f"{where}.firmware: saw {firmware!r}; wanted a mapping from component to version")
    return BmcSpec(node, name, quirks=quirks, firmware=firmware, **_seconds(where, data), **machine)
