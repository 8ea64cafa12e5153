# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""BIOS settings: what is applied, what is staged, what a boot makes of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simfleet.bmc.messages import Refused

BOOT_ORDER = ["Boot0000", "Boot0018", "Boot001A"]
AFTER_FLASH = ["Boot0018", "Boot001A", "Boot0021"]


@dataclass
class Bios:
    """The settings of one machine, by the names of the profile; a suffix is added at the edge only."""

    data: dict[str, Any]
    quirks: dict[str, dict[str, Any]]
    applied: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    committed: bool = False  # somebody asked for the staged values to be applied at the next boot
    before: dict[str, str] | None = None  # to go back to, while a job that will fail runs
    boot_order: list[str] = field(default_factory=lambda: list(BOOT_ORDER))
    stagings: int = 0

    def __post_init__(self) -> None:
        self.applied = {row["name"]: row["default"] for row in self.data["attributes"]}
        quirk = self.quirks.get("pending_settings_of_somebody_else")
        if quirk:
            self.stage_for_somebody(quirk["setting"])

    def stage_for_somebody(self, neutral: str) -> None:
        """Another value of this setting is staged by somebody else, who meant it to be applied."""
        for row in self.data["attributes"]:
            if row["neutral"] == neutral:
                other = next(value for value in row["values"] if value != self.applied[row["name"]])
                self.pending[row["name"]] = other
                self.committed = True

    # -- names ----------------------------------------------------------------------------------------------------

    def outward(self, name: str) -> str:
        """The name as this BIOS writes it."""
        quirk = self.quirks.get("attribute_renamed")
        return name + quirk["suffix"] if quirk else name

    def _row(self, name: str) -> dict[str, Any]:
        for row in self.data["attributes"]:
            if self.outward(row["name"]) == name:
                return dict(row)
        raise Refused(400, "PropertyUnknown", name)

    def gray(self, row: dict[str, Any]) -> bool:
        """Whether another setting makes this one read-only, by what is applied and staged."""
        needs = row.get("needs")
        return bool(needs) and {**self.applied, **self.pending}[needs["attribute"]] != needs["value"]

    # -- staging --------------------------------------------------------------------------------------------------

    def stage(self, values: dict[str, Any], commit: bool) -> None:
        """Put values beside the applied ones; raises Refused when one cannot be."""
        wanted = {}
        for name, value in values.items():
            row = self._row(name)
            if value not in row["values"]:
                raise Refused(400, "PropertyValueNotInList", str(value), name)
            wanted[row["name"]] = value
        self.stagings += 1
        later = {**self.pending, **wanted}
        for name in list(wanted):
            needs = self._row(self.outward(name)).get("needs")
            if needs and {**self.applied, **later}[needs["attribute"]] != needs["value"]:
                if "attribute_read_only" not in self.quirks:
                    raise Refused(400, "PropertyNotWritable", self.outward(name))
                del wanted[name]
        self.pending |= wanted
        self.committed = self.committed or commit

    def clear(self) -> None:
        """Nothing is staged any more."""
        self.pending, self.committed = {}, False

    def to_defaults(self) -> None:
        """ResetBios: the defaults are staged."""
        self.pending = {row["name"]: row["default"] for row in self.data["attributes"]}
        self.pending = {name: value for name, value in self.pending.items() if value != self.applied[name]}
        self.committed = True

    # -- boots ----------------------------------------------------------------------------------------------------

    def at_boot(self) -> None:
        """The host boots: what is staged and asked for is applied, unless a quirk has it otherwise."""
        if "settings_ignored" in self.quirks:
            self.clear()
        if not self.committed:
            return
        if "bios_job_fails" in self.quirks:
            self.before = dict(self.applied)
        self.applied |= self.pending
        self.clear()

    def job_ends(self) -> bool:
        """The job of the last boot comes to its end; False when it failed and the old values are back."""
        if self.before is None:
            return True
        self.applied, self.before = self.before, None
        return False

    def flashed(self) -> None:
        """New firmware runs; with the quirk it has put everything back to what it thinks best."""
        if "flash_resets_settings" in self.quirks:
            self.applied = {row["name"]: row["values"][-1] for row in self.data["attributes"]}
            self.boot_order = list(AFTER_FLASH)

    # -- views ----------------------------------------------------------------------------------------------------

    def attributes(self, values: dict[str, str]) -> dict[str, Any]:
        """As the resource shows them."""
        if "attributes_are_objects" not in self.quirks:
            return {self.outward(name): value for name, value in values.items()}
        rows = {row["name"]: row for row in self.data["attributes"]}
        return {
            self.outward(name): {
                "current_value": value, "default_value": rows[name]["default"], "AllowableValues": rows[name]["values"],
            }
            for name, value in values.items()
        }  # fmt: skip

    def staged(self) -> dict[str, str]:
        """What the settings object shows: the staged values alone, or over the applied ones."""
        return dict(self.pending) if self.data["shows"] == "pending" else {**self.applied, **self.pending}

    def switched_off(self) -> list[str]:
        """The neutral names of settings that are off and that the node's kernel can tell: smt, iommu and so on."""
        values = self.before or self.applied
        return [row["neutral"] for row in self.data["attributes"] if values[row["name"]] == row.get("disabled_by")]

    def registry(self) -> dict[str, Any]:
        """The RegistryEntries of the attribute registry."""
        rows, dependencies = [], []
        for place, row in enumerate(self.data["attributes"]):
            rows.append({
                "AttributeName": self.outward(row["name"]), "DisplayName": row["display"], "DisplayOrder": place,
                "Type": "Enumeration", "DefaultValue": row["default"],
                "ReadOnly": self.gray(row), "GrayOut": self.gray(row),
                "Hidden": False, "ResetRequired": True, "MenuPath": "./Advanced",
                "Value": [{"ValueName": value, "ValueDisplayName": value} for value in row["values"]],
            })  # fmt: skip
            if row.get("needs"):
                dependencies.append(self._dependency(row))
        return {"Attributes": rows, "Dependencies": dependencies}

    def _dependency(self, row: dict[str, Any]) -> dict[str, Any]:
        name, needs = self.outward(row["name"]), row["needs"]
        source = {
            "MapFromAttribute": self.outward(needs["attribute"]), "MapFromProperty": "CurrentValue",
            "MapFromCondition": "NEQ", "MapFromValue": needs["value"],
        }  # fmt: skip
        how = {"MapFrom": [source], "MapToAttribute": name, "MapToProperty": "ReadOnly", "MapToValue": True}
        return {"DependencyFor": name, "Type": "Map", "Dependency": how}
