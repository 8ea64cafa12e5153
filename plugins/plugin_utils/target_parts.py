# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts of a product's row in the target: settings of kernel and BIOS, firmware, container images that are to go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check, nearest

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import wishes
else:
    wishes = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.wishes")

Place = tuple[str, str]

_CONTAINER: dict[str, dict[str, Any]] = {
    "image": {"type": "str", "required": True},
    "rocm": {"type": "str", "required": True},
}
GLOBAL_CSTATE = "global_cstate"
_OFF = frozenset({"disabled", "disable", "off", "0", "no", "false", "nocstates"})
# These keep every core awake, as the item of the BIOS would.
_AWAKE = frozenset({"idle=poll", "idle=halt", "cpuidle.off=1"})
_WHY = "global C-states must stay enabled: AMD's boost needs idle cores in C2"
_INSTEAD = (
    "for latency let the operating system alone leave C2 out: processor.max_cstate=1 in kernel.cmdline, or cpupower, "
    "which a reboot undoes; the fabric's own C-states are the BIOS item df_cstates"
)


def check_kernel(kernel: Mapping[str, Any], place: str, error: type[FleetError]) -> None:
    """Refuse what is no argument, no map of options, or keeps every core awake."""
    for token in kernel["cmdline"]:
        if not token or any(character.isspace() for character in token):
            raise error(
                f"{place}.cmdline",
                f"{token!r} is not one token",
                "one list entry per token, without spaces",
                "split it into entries",
            )
        if token in _AWAKE:
            raise error(f"{place}.cmdline", f"{token} keeps every core awake", _WHY, _INSTEAD)
    for module, options in kernel["module_options"].items():
        if not isinstance(options, Mapping):
            raise error(
                f"{place}.module_options.{module}", f"{options!r}", "a map of parameter and value", "write it as a map"
            )


def is_off(value: str) -> bool:
    """Whether a value of a BIOS item is a word for off."""
    return value.replace(" ", "").replace("-", "").lower() in _OFF


def check_bios(wishes: Mapping[Any, Any], place: str, catalog: Catalog, error: type[FleetError]) -> dict[str, str]:
    """The wished values by the catalog's names of BIOS items; what would switch the global C-states off is refused."""
    known = {row["key"] for row in catalog.bios}
    # The makers' names are another file, which most targets need not: every worker would read it.
    known |= {row["key"] for row in (() if known.issuperset(wishes) else catalog.rows("bios_attributes", "attributes"))}
    for key, value in wishes.items():
        if key not in known:
            raise error(
                f"{place}.{key}", "is not a BIOS item the catalog knows", nearest(key, known), "rename or remove it"
            )
        if not isinstance(value, str):
            raise error(f"{place}.{key}", f"is the {type(value).__name__} {value!r}", "text", "put it in quotes")
        if key == GLOBAL_CSTATE and is_off(value):
            raise error(f"{place}.{key}", f"{value} would keep boost from its clocks", _WHY, _INSTEAD)
    return dict(wishes)


def check_firmware(rows: list[Any], place: Place, error: type[FleetError]) -> list[dict[str, Any]]:
    """The rows with their defaults; redfish/wishes.py has their form, and is loaded where there are any."""
    return wishes.checked(rows, place, error) if rows else []


def check_containers(rows: list[Any], place: Place, catalog: Catalog, error: type[FleetError]) -> list[dict[str, str]]:
    """Each image with its ROCm release, which has to be one that the catalog knows."""
    found = []
    for number, row in enumerate(rows):
        here = (place[0], f"{place[1]}.containers.{number}")
        image = check(_CONTAINER, row, here, error)
        release = catalog.release(image["rocm"])
        if release is None:
            raise error(
                f"{here[0]}: {here[1]}.rocm",
                f"{image['rocm']!r} is not a ROCm release the catalog knows",
                nearest(image["rocm"], catalog.releases),
                "give the release that is inside the image (/opt/rocm/.info/version)",
            )
        found.append({**image, "rocm": release["rocm"]})
    return found
