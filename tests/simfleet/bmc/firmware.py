# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is in the flash of each component, what is staged, and what makes it the running one. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from simfleet.bmc.profile import BmcSpec, load_profile

DONE_BY = {
    "none": (),
    "bmc_reset": ("bmc", "ac"),
    "warm_reboot": ("warm", "dc", "ac"),
    "dc_cycle": ("dc", "ac"),
    "ac_cycle": ("ac",),
}


@dataclass
class Component:
    """One flash. `flashes` counts writes, whether or not the version became another."""

    key: str
    data: dict[str, Any]
    version: str
    activation: str
    previous: str | None = None
    staged: dict[str, Any] | None = None
    header: dict[str, Any] = field(default_factory=dict)
    flashes: int = 0

    def write(self, header: dict[str, Any]) -> bool:
        """Write an image; True when it runs at once."""
        self.flashes += 1
        self.staged = header
        if self.activation == "none":
            self.become()
        return self.staged is None

    def become(self) -> None:
        """What is staged runs from now on."""
        if self.staged is not None:
            self.previous, self.version, self.header = self.version, str(self.staged["version"]), self.staged
            self.staged = None

    def as_dict(self) -> dict[str, Any]:
        """For the control command."""
        staged = None if self.staged is None else self.staged["version"]
        return {
            "version": self.version, "staged": staged, "previous": self.previous,
            "activation": self.activation, "flashes": self.flashes,
        }  # fmt: skip


def components_of(spec: BmcSpec) -> dict[str, Component]:
    """The components of a new machine."""
    shipped = {"bios": spec.bios_version, "gpu": spec.bundle}
    found = {}
    for key, data in load_profile(spec.profile)["components"].items():
        version = spec.firmware.get(key) or data.get("version") or shipped[key]
        found[key] = Component(key, data, version, data["activation"])
    if not spec.gpus:
        found.pop("gpu", None)
    return found


def activate(components: dict[str, Component], event: str) -> list[str]:
    """After an event (`bmc`, `warm`, `dc`, `ac`): the keys of the components that run something new."""
    changed = []
    for key, component in components.items():
        if component.staged is not None and event in DONE_BY[component.activation]:
            component.become()
            changed.append(key)
    return changed


def as_tuple(version: str) -> tuple[int, ...]:
    """The numbers of a version, for the floor of a downgrade."""
    return tuple(int(word) for word in re.findall(r"\d+", version))


def other_form(version: str, form: str) -> str:
    """The same version as another maker would write it."""
    words = version.split(".")
    return {
        "leading_v": f"v{version}",
        "zero_padded": ".".join(word.zfill(3) if word.isdigit() else word for word in words),
        "dated": f"{version} (11/13/2024)",
        "hex": "0x" + "".join(f"{int(word) % 256:02x}" for word in words if word.isdigit()),
        "suffix": f"{version}-0639",
        "extra_field": f"{version}.76",
        "revision": f"{version} Rev A",
    }.get(form, version)


def shown(component: Component, spec: BmcSpec, quirks: dict[str, dict[str, Any]]) -> str | None:
    """The version as the inventory shows it."""
    for name, value in (("version_null", None), ("version_empty", "")):
        if name in quirks and quirks[name]["component"] == component.key:
            return value
    if "second_version_axis" in quirks and component.key == "gpu":
        return spec.vbios
    other = quirks.get("version_with_other_format")
    if other and other["component"] == component.key:
        return other_form(component.version, other["form"])
    return component.version
