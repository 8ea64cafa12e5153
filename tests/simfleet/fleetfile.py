# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read a fleet file and hold it to its form; every mistake is one FleetFileError that names the place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from simfleet.bmc.profile import BmcSpec, parse_bmc
from simfleet.errors import FleetFileError
from simfleet.faults import Fault, parse_fault
from simfleet.machines import PRODUCTS
from simfleet.packages import BY_DRIVER, BY_ROCM

NODE_KEYS = ("product", "gpus", "rocm", "driver", "cmdline", "disk_mb", "boot_seconds", "bios_version", "bmc")
FLEET_KEYS = ("base", "defaults", "racks", "nodes", "faults")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


@dataclass(frozen=True)
class NodeSpec:
    """One node as the fleet file wants it at its first boot."""

    name: str
    number: int
    rack: str
    product: str = "MI300X"
    gpus: int = 8
    rocm: str | None = "6.4.4"
    driver: str | None = "6.4.4"
    cmdline: str = "pci=realloc=off iommu=pt"
    disk_mb: int = 3072
    boot_seconds: float = 0.0
    bios_version: str | None = None
    bmc: BmcSpec | None = None


@dataclass(frozen=True)
class FleetSpec:
    """The whole fleet: addresses are 127.0.<base>.<node number>."""

    base: int
    nodes: tuple[NodeSpec, ...]
    faults: tuple[Fault, ...] = field(default=())

    def address(self, node: NodeSpec) -> str:
        """The loopback address on which the node's sshd listens."""
        return f"127.0.{self.base}.{node.number}"

    def bmcs(self) -> list[tuple[BmcSpec, str]]:
        """The BMCs and their addresses, 127.1.<base>.<node number>, port 443."""
        return [(node.bmc, f"127.1.{self.base}.{node.number}") for node in self.nodes if node.bmc is not None]

    @property
    def mirror(self) -> str:
        """The loopback address of the package repository."""
        return f"127.0.{self.base}.254"


def _only(where: str, given: Any, allowed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise FleetFileError(f"{where}: saw {type(given).__name__}, wanted a mapping with keys of {', '.join(allowed)}")
    for key in given:
        if key not in allowed:
            raise FleetFileError(f"{where}.{key}: unknown key; allowed are {', '.join(allowed)}")
    return given


def _one_of(where: str, value: Any, allowed: Any) -> None:
    if value not in allowed:
        raise FleetFileError(f"{where}: saw {value!r}; allowed are {', '.join(str(item) for item in allowed)}")


def _number(where: str, value: Any, low: float, high: float, kind: Any = int) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        raise FleetFileError(f"{where}: saw {value!r}; wanted a number from {low} to {high}")


def _check_node(where: str, node: dict[str, Any]) -> None:
    _one_of(f"{where}.product", node["product"], PRODUCTS)
    _number(f"{where}.gpus", node["gpus"], 0, len(PRODUCTS[node["product"]].paths))
    _number(f"{where}.disk_mb", node["disk_mb"], 64, 65536)
    _number(f"{where}.boot_seconds", node["boot_seconds"], 0, 3600, (int, float))
    if node["rocm"] is not None:
        _one_of(f"{where}.rocm", node["rocm"], BY_ROCM)
    if node["driver"] is not None:
        _one_of(f"{where}.driver", node["driver"], BY_DRIVER)
    for key in ("cmdline", "bios_version"):
        if node[key] is not None and not isinstance(node[key], str):
            raise FleetFileError(f"{where}.{key}: saw {node[key]!r}; wanted a text")


def _names(racks: Any) -> list[tuple[str, str]]:
    if not isinstance(racks, dict) or not racks:
        raise FleetFileError("racks: wanted a mapping from rack to a list of node names, with one rack at least")
    pairs: list[tuple[str, str]] = []
    for rack, names in racks.items():
        if not isinstance(names, list) or not names:
            raise FleetFileError(f"racks.{rack}: saw {names!r}; wanted a list of node names")
        for name in names:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise FleetFileError(f"racks.{rack}: {name!r} is no node name (small letters, digits, hyphen)")
            if any(name == seen for _, seen in pairs):
                raise FleetFileError(f"racks.{rack}: node {name} is named twice")
            pairs.append((str(rack), name))
    if len(pairs) > 250:
        raise FleetFileError(f"racks: {len(pairs)} nodes; one fleet holds 250 at most")
    return pairs


def _bmc(where: str, name: str, merged: dict[str, Any], shared: Any, own: Any) -> BmcSpec | None:
    """The BMC of a node: what its own row says over the defaults; None where it says `bmc: false`."""
    if own is False or (own is None and shared is False):
        return None
    given = {**shared, **own} if isinstance(shared, dict) and isinstance(own, dict) else own or shared or None
    product = PRODUCTS[merged["product"]]
    return parse_bmc(
        f"{where}.bmc", given, name, product=product.name, vendor=product.dmi["sys_vendor"],
        model=product.dmi["product_name"], bios_version=merged["bios_version"] or product.dmi["bios_version"],
        bios_date=product.dmi["bios_date"], vbios=product.vbios, gpus=merged["gpus"],
    )  # fmt: skip


def _node(number: int, rack: str, name: str, defaults: dict[str, Any], own: Any) -> NodeSpec:
    where = f"nodes.{name}"
    shipped = {key: NodeSpec.__dataclass_fields__[key].default for key in NODE_KEYS}
    merged = {**shipped, **defaults, **_only(where, own, NODE_KEYS)}
    _check_node(where, merged)
    merged["bmc"] = _bmc(where, name, merged, defaults.get("bmc"), (own or {}).get("bmc"))
    return NodeSpec(name=name, number=number, rack=rack, **merged)


def parse_fleet(data: Any) -> FleetSpec:
    """Turn the loaded YAML of a fleet file into a FleetSpec; raises FleetFileError."""
    data = _only("fleet", data, FLEET_KEYS)
    base = data.get("base", 41)
    _number("base", base, 1, 254)
    pairs = _names(data.get("racks"))
    names = [name for _, name in pairs]
    own = _only("nodes", data.get("nodes") or {}, tuple(names))
    defaults = _only("defaults", data.get("defaults") or {}, NODE_KEYS)
    nodes = tuple(_node(n, rack, name, defaults, own.get(name) or {}) for n, (rack, name) in enumerate(pairs, start=1))
    faults = data.get("faults") or []
    if not isinstance(faults, list):
        raise FleetFileError(f"faults: saw {type(faults).__name__}, wanted a list")
    gpus = {node.name: node.gpus for node in nodes}
    return FleetSpec(base, nodes, tuple(parse_fault(f"faults[{n}]", row, gpus) for n, row in enumerate(faults)))


def load_fleet(path: Path, base: int | None = None) -> FleetSpec:
    """Read a fleet file, with `base` in place of its own; raises FleetFileError, with the path in front."""
    try:
        fleet = parse_fleet(yaml.safe_load(path.read_text(encoding="utf-8")))
        if base is not None:
            _number("--base", base, 1, 254)
            fleet = replace(fleet, base=base)
        return fleet
    except OSError as error:
        raise FleetFileError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise FleetFileError(f"{path}: is not YAML: {error}") from error
    except FleetFileError as error:
        raise FleetFileError(f"{path}: {error}") from error
