# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands behind a BMC: maker, system, manager, chassis, update service; and what the node itself shows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError, link, path_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.compare import order
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry, known_version, running

ROOT = "/redfish/v1/"
# By what the root, the system and the manager say; the first word that is found names the maker.
_MAKERS = {
    "dell": "Dell",
    "idrac": "Dell",
    "hpe": "HPE",
    "hp": "HPE",
    "hewlett": "HPE",
    "ilo": "HPE",
    "supermicro": "Supermicro",
    "lenovo": "Lenovo",
    "ami": "AMI",
    "megarac": "AMI",
    "gigabyte": "AMI",
    "giga": "AMI",
    "openbmc": "OpenBMC",
    "cray": "Cray",
    "intel": "Intel",
    "nvidia": "NVIDIA",
    "amd": "AMD",
}
# The systems beside the host in one BMC: a GPU board is a system of its own.
_TRAYS = ("ubb", "hgx_baseboard_0", "amc")

Get = Callable[[str], Mapping[str, Any]]


class Board(NamedTuple):
    """The resources of a BMC that updates rest on; each is empty where the BMC has none, with a row in ``problems``."""

    maker: str
    root: Mapping[str, Any]
    system: Mapping[str, Any]
    manager: Mapping[str, Any]
    chassis: Mapping[str, Any]
    service: Mapping[str, Any]
    problems: list[str]


def board(get: Get, subject: str, system: str | None = None, chassis: bool = True) -> Board:
    """What stands behind a BMC.

    :param system: the Id of the system, where the BMC has several that could be the host.
    :param chassis: whether it is asked for as well; only an AC cycle needs it.
    :raises BmcError: the root cannot be read, or it has no update service.
    """
    root = get(ROOT)
    return _board(get, root, _service(get, root, subject), system, chassis)


def host_board(get: Get, system: str | None = None) -> Board:
    """The same without an update service, which a BMC need not have for what is not about firmware.

    :raises BmcError: the root cannot be read.
    """
    return _board(get, get(ROOT), {}, system, chassis=False)


def _board(get: Get, root: Mapping[str, Any], service: Mapping[str, Any], system: str | None, chassis: bool) -> Board:
    problems: list[str] = []
    host = _host(get, root, system, problems)
    manager = _one(get, host, "ManagedBy", problems) or _member(get, root, "Managers", problems)
    box = _one(get, host, "Chassis", problems) if chassis else {}
    return Board(maker_of(root, host, manager), root, host, manager, box, service, problems)


def _service(get: Get, root: Mapping[str, Any], subject: str) -> Mapping[str, Any]:
    uri, why = link(root, "UpdateService"), "it has no update service"
    try:
        if uri is not None:
            return {"@odata.id": uri, **get(uri)}
    except BmcError as problem:
        if problem.code != "not_there":
            raise
        why = f"its update service {uri} is named and is not there"
    fix = "update this node with the maker's own tool"
    raise BmcError("no_update_service", subject, why, "an UpdateService", fix)


def maker_of(root: Mapping[str, Any], system: Mapping[str, Any], manager: Mapping[str, Any]) -> str:
    """Who made the BMC's service, which decides how it names things; ``any`` where nothing says so."""
    oem = root.get("Oem")
    words = [str(root.get("Vendor") or ""), *(oem if isinstance(oem, Mapping) else ())]
    words += [str(place.get(key) or "") for place in (manager, system) for key in ("Manufacturer", "Model", "Name")]
    for word in words:
        for part in word.lower().replace(".", " ").replace("-", " ").split():
            if part in _MAKERS:
                return _MAKERS[part]
    return "any"


def _host(get: Get, root: Mapping[str, Any], wanted: str | None, problems: list[str]) -> Mapping[str, Any]:
    found = _members(get, root, "Systems", problems)
    if wanted is not None:
        found = [one for one in found if one.get("Id") == wanted]
    elif len(found) > 1:
        found = [one for one in found if str(one.get("Id")).lower() not in _TRAYS]
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(one.get("Id")) for one in found)
    problems.append(f"system: {names or 'none'} where one is wanted (bmc_system names it)")
    return {}


def _members(get: Get, root: Mapping[str, Any], kind: str, problems: list[str]) -> list[Mapping[str, Any]]:
    uri = link(root, kind)
    try:
        rows = (get(uri).get("Members") or []) if uri else []
        uris = [path_of(str(row["@odata.id"])) for row in rows if isinstance(row, Mapping) and row.get("@odata.id")]
        return [{"@odata.id": one, **get(one)} for one in uris]
    except BmcError as problem:
        problems.append(f"{kind}: {problem.seen}")
        return []


def _member(get: Get, root: Mapping[str, Any], kind: str, problems: list[str]) -> Mapping[str, Any]:
    found = _members(get, root, kind, problems)
    return found[0] if found else {}


def _one(get: Get, system: Mapping[str, Any], kind: str, problems: list[str]) -> Mapping[str, Any]:
    links = system.get("Links")
    rows = links.get(kind) if isinstance(links, Mapping) else None
    uri = link(rows[0]) if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) else None
    try:
        return {"@odata.id": uri, **get(uri)} if uri else {}
    except BmcError as problem:
        problems.append(f"{kind}: {problem.seen}")
        return {}


def seen_by_node(facts: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """The versions that the node's own facts show, by component; empty where facts are null."""
    facts = facts or {}
    gpus = [gpu for gpu in facts.get("gpus") or [] if isinstance(gpu, Mapping)]
    blocks = [gpu.get("firmware") or {} for gpu in gpus]
    found = {
        "bios": [(facts.get("platform") or {}).get("bios_version")],
        "gpu_vbios": [gpu.get("vbios") for gpu in gpus],
        "gpu_bundle": [(block.get("pldm_bundle") or {}).get("value") for block in blocks],
        "gpu_ifwi": [(block.get("ifwi") or {}).get("value") for block in blocks],
    }
    return {name: sorted({str(text) for text in texts if known_version(text)}) for name, texts in found.items()}


def machine_of(
    seen: Board, facts: Mapping[str, Any] | None, product_for: Callable[[str | None], Mapping[str, Any] | None]
) -> dict[str, list[str]]:
    """What an image may be meant for: ``products`` by any name that BMC or catalog give, ``part_numbers`` of the GPUs.

    :param product_for: the catalog's row for a PCI device id.
    """
    names = [seen.system.get(key) for key in ("Model", "SKU", "PartNumber")]
    gpus = [gpu for gpu in (facts or {}).get("gpus") or [] if isinstance(gpu, Mapping)]
    names += [(product_for(gpu.get("device_id")) or {}).get("name") for gpu in gpus]
    products = list(dict.fromkeys(str(name) for name in names if name))
    return {"products": products, "part_numbers": seen_by_node(facts)["gpu_vbios"]}


def disagreements(entries: list[Entry], facts: Mapping[str, Any] | None) -> list[str]:
    """Where BMC and node show different versions of a component; what either does not show is no disagreement."""
    told = []
    for component, versions in seen_by_node(facts).items():
        for entry in running(entries, component):
            others = [text for text in versions if entry.version and order(entry.scheme, entry.version, text) != 0]
            if others:
                shown = ", ".join(others)
                told.append(f"{component}: the BMC says {entry.version} ({entry.id}), the node says {shown}")
    return told
