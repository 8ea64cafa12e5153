# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The troubles a BMC can be given, by name. Each row names the reports it comes from and its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simfleet.errors import FleetFileError


@dataclass(frozen=True)
class Quirk:
    """One kind of trouble: what is seen, the reports it re-creates and the defaults of its parameters."""

    text: str
    reports: tuple[str, ...] = ()
    may: dict[str, Any] = field(default_factory=dict)


QUIRKS: dict[str, Quirk] = {
    # -- how an image is taken
    "http_push_only": Quirk("HttpPushUri alone is offered", ("B01",), {"max_bytes": 73400320}),
    "no_push_uri": Quirk("neither push URI: SimpleUpdate alone"),
    "oem_part_required": Quirk("a multipart push needs the part OemParameters with the ImageType", ("B21",)),
    "operation_apply_time_refused": Quirk("@Redfish.OperationApplyTime in a push is an unknown property", ("B21",)),
    "if_match_refused_on_action": Quirk("any If-Match on an action POST gives 412", ("B07",)),
    "license_missing": Quirk("update and BIOS settings give 403 for want of a licence", ("B30",), {"license": "DCMS"}),
    "service_disabled": Quirk("the UpdateService is there with ServiceEnabled false"),
    # -- inventory
    "paged_inventory": Quirk("the inventory comes in pages", ("B02",), {"page": 2, "loop": False, "count_off": 0}),
    "inventory_error_member": Quirk("200 with Members, some left out, and an error object", ("B04",), {"times": 0}),
    "backup_banks": Quirk("spare, previous and absent entries stand beside the running ones", ("B34",)),
    "status_absent": Quirk("the entry of a component has no Status", ("B34",), {"component": "cpld"}),
    "version_null": Quirk("the version of a component is null", ("B34",), {"component": "gpu"}),
    "version_empty": Quirk("the version of a component is an empty text", ("B34",), {"component": "gpu"}),
    "version_absent": Quirk("the entry of a component has no Version", ("B34",), {"component": "gpu"}),
    "version_with_other_format": Quirk(
        "the same version in another form: leading_v, zero_padded, dated, hex, suffix, extra_field, revision",
        ("B36",), {"component": "bios", "form": "leading_v"},
    ),
    "second_version_axis": Quirk("the GPU entry shows the part number where the bundle is wanted", ("B38",)),
    "oem_part_number": Quirk("the GPUs have a part number of the maker's", ("B22",), {"vbios": "113-D3431500-100"}),
    # -- tasks
    "hundred_percent_critical": Quirk("the task ends Completed, 100 % and Critical; nothing was written", ("B08",)),
    "completed_with_errors": Quirk("the job ends CompletedWithErrors; nothing was written", ("B14",)),
    "success_without_change": Quirk("the task ends Completed and OK; the version stays", ("B14",)),
    "task_vanishes": Quirk("the task is gone half-way", ("B10",), {"percent": 35, "succeeds": False}),
    "no_percent": Quirk("tasks have no PercentComplete, and EndTime is TIME_NA", ("B13",)),
    "slow_task": Quirk("an update takes so many times longer", (), {"factor": 10.0}),
    "no_task": Quirk("an upload is answered 200 with messages and names no task"),
    "wrong_job_reported": Quirk("Location names an older task of somebody else, which is done"),
    "running_at_hundred": Quirk("the task stands at 100 % long before it ends"),
    # -- the BMC itself
    "bmc_restarts_mid_update": Quirk(
        "the BMC restarts half-way and the update goes on", ("B11",), {"percent": 50, "keeps_tasks": False}
    ),
    "bmc_dies_half_way": Quirk("the BMC is gone half-way, until its power is cycled", (), {"percent": 50}),
    "5xx_burst": Quirk("so many requests are answered with a 5xx", ("B11",), {"times": 5, "status": 503, "after": 0}),
    "connection_drops": Quirk("every Nth answer is lost with its connection", ("B11",), {"every": 5, "method": None}),
    "flapping_after_restart": Quirk("after a restart good and bad answers alternate", ("B11",), {"times": 6}),
    "session_leak_limit": Quirk("sessions of others fill the slots", ("B16",), {"free": 0}),
    "staged_only": Quirk("every component stays staged until this is done", (), {"activation": "ac_cycle"}),
    # -- power
    "resets_left_out": Quirk("these resets of the system are not offered", (), {"names": "ForceRestart"}),
    "reset_ignored": Quirk("a reset of the system is accepted and nothing happens"),
    "power_state_lies": Quirk("this power state is shown, whatever is true", (), {"shows": "On"}),
    # -- BIOS
    "etag_required": Quirk("a PATCH of the settings needs the right If-Match", ("B05",)),
    "etag_never_right": Quirk("weak ETags are taken for none and bare ones do not match", ("B05",)),
    "staged_without_job": Quirk("settings without an apply time are staged and never applied", ("B18",)),
    "pending_settings_of_somebody_else": Quirk("a value of somebody else is staged", ("B19",), {"setting": "aspm"}),
    "bios_job_fails": Quirk("the values show as applied, then the job fails and they are back", ("B27",)),
    "attribute_read_only": Quirk("a dependent attribute is dropped without a word", ("B29",)),
    "settings_ignored": Quirk("200 and SystemResetRequired, and nothing changes at the reset", ("B33",)),
    "attribute_renamed": Quirk("attribute names end in the hex digits of an old BIOS", (), {"suffix": "_0037"}),
    "flash_resets_settings": Quirk("a BIOS flash resets the settings and the boot order", ("B32",)),
    "attributes_are_objects": Quirk("each attribute is an object with current_value", ()),
}  # fmt: skip

NOT_HERE = {
    "B24": "the kernel log of the node: fault kernel_log",
    "B25": "the kernel log of the node: fault kernel_log",
}


def by_report() -> dict[str, list[str]]:
    """From the id of a report to the quirks that re-create it."""
    table: dict[str, list[str]] = {}
    for name, quirk in QUIRKS.items():
        for report in quirk.reports:
            table.setdefault(report, []).append(name)
    return table


def _one(where: str, item: Any) -> tuple[str, dict[str, Any]]:
    name, given = (item, {}) if isinstance(item, str) else next(iter(item.items()), ("", {}))
    if name not in QUIRKS:
        raise FleetFileError(f"{where}: saw {name!r}; known are {', '.join(QUIRKS)}")
    for key in given or {}:
        if key not in QUIRKS[name].may:
            raise FleetFileError(f"{where}.{name}.{key}: unknown; allowed are {', '.join(QUIRKS[name].may) or 'none'}")
    return name, {**QUIRKS[name].may, **(given or {})}


def parse_quirks(where: str, items: Any) -> dict[str, dict[str, Any]]:
    """A list of names, or of `{name: {parameter: value}}`, to name and parameters. Raises FleetFileError."""
    if not isinstance(items, list) or not all(isinstance(item, (str, dict)) for item in items):
        raise FleetFileError(f"{where}: saw {items!r}; wanted a list of quirks")
    return dict(_one(where, item) for item in items)
