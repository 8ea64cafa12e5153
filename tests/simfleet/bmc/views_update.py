# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of a BMC as JSON: UpdateService and the firmware inventory. Pure reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simfleet.bmc.firmware import Component, shown
from simfleet.bmc.messages import error_body, message
from simfleet.bmc.views import OK, Body, action, body, link

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc

INVENTORY = "/redfish/v1/UpdateService/FirmwareInventory"


def offers(bmc: Bmc) -> dict[str, Any]:
    """What the service offers now: `multipart` and `http_push` URIs or None, `simple_update`."""
    update = bmc.profile["update"]
    ways = {key: update[key] for key in ("multipart", "http_push", "simple_update")}
    if "http_push_only" in bmc.quirks:
        ways = {
            "multipart": None,
            "http_push": ways["http_push"] or "/redfish/v1/UpdateService/push",
            "simple_update": False,
        }
    elif "no_push_uri" in bmc.quirks:
        ways = {"multipart": None, "http_push": None, "simple_update": True}
    return ways


def apply_times(bmc: Bmc) -> list[str]:
    """The apply times that the service advertises."""
    return [] if "operation_apply_time_refused" in bmc.quirks else list(bmc.profile["update"]["apply_times"])


def push_apply_time(bmc: Bmc) -> str | None:
    """When a plain push is applied; None where the service does not say."""
    times = apply_times(bmc) or (["Immediate"] if "http_push_only" in bmc.quirks else [])
    return bmc.push_apply_time or (times[0] if times else None)


def update_service(bmc: Bmc) -> Body:
    """UpdateService."""
    path, ways, times = "/redfish/v1/UpdateService", offers(bmc), apply_times(bmc)
    more: Body = {"MaxImageSizeBytes": bmc.max_bytes(), "FirmwareInventory": link(INVENTORY)}
    if ways["multipart"]:
        more["MultipartHttpPushUri"] = ways["multipart"]
    if ways["http_push"]:
        more |= {
            "HttpPushUri": ways["http_push"],
            "HttpPushUriTargets": bmc.push_targets,
            "HttpPushUriTargetsBusy": False,
        }
        when = push_apply_time(bmc)
        if when:
            more["HttpPushUriOptions"] = {"HttpPushUriApplyTime": {"ApplyTime": when}}
    if times and ways["multipart"]:
        more["MultipartHttpPushUri@Redfish.OperationApplyTimeSupport"] = {
            "@odata.type": "#Settings.v1_3_5.OperationApplyTimeSupport", "SupportedValues": times,
        }  # fmt: skip
    if ways["simple_update"]:
        protocols = bmc.profile["update"]["protocols"] or ["HTTP", "HTTPS"]
        more["Actions"] = action(path, "UpdateService.SimpleUpdate", TransferProtocol=protocols)
    enabled = "service_disabled" not in bmc.quirks
    kind = "UpdateService.v1_11_0.UpdateService"
    return body(path, kind, "UpdateService", "Update Service", ServiceEnabled=enabled, Status=OK, **more)


def _entry(bmc: Bmc, component: Component) -> Body:
    data = component.data
    path = bmc.inventory_uri(component)
    kind = "SoftwareInventory.v1_10_0.SoftwareInventory"
    row = body(path, kind, path.rpartition("/")[2], data["name"], SoftwareId=data["software_id"], Status=dict(OK))
    row["Version"] = shown(component, bmc.spec, bmc.quirks)
    if not bmc.profile.get("no_updateable"):
        row["Updateable"] = True
    if data.get("lowest"):
        row["LowestSupportedVersion"] = data["lowest"]
    row["RelatedItem"] = [link(bmc.uri("manager" if component.key == "bmc" else "system"))]
    if _named(bmc, "version_absent", component):
        del row["Version"]
    if _named(bmc, "status_absent", component):
        del row["Status"]
    return row


def _named(bmc: Bmc, quirk: str, component: Component) -> bool:
    return quirk in bmc.quirks and bmc.quirks[quirk]["component"] == component.key


def _beside(bmc: Bmc) -> list[Body]:
    """Entries that are not the running ones: previous, staged, spare and absent."""
    rows = []
    kind = "SoftwareInventory.v1_10_0.SoftwareInventory"

    def put(identity: str, name: str, state: str, **more: Any) -> None:
        rows.append(body(f"{INVENTORY}/{identity}", kind, identity, name, Status={"State": state}, **more))

    for component in bmc.components.values():
        data = component.data
        if "{version}" in data["id"]:
            if component.previous:
                former = data["id"].format(version=component.previous).replace("Installed-", "Previous-")
                put(
                    former,
                    data["name"],
                    "Disabled",
                    Version=component.previous,
                    SoftwareId=data["software_id"],
                    Updateable=True,
                )
            if component.staged:
                coming = data["id"].format(version=component.staged["version"]).replace("Installed-", "Available-")
                put(
                    coming,
                    data["name"],
                    "StandbyOffline",
                    Version=component.staged["version"],
                    SoftwareId=data["software_id"],
                )
    if "backup_banks" in bmc.quirks:
        put("BMC-Backup", bmc.components["bmc"].data["name"], "StandbySpare", Version="1.31")
        put("Previous-159-1.6.8__BIOS", bmc.components["bios"].data["name"], "Disabled", Version="1.6.8")
        put("TPM", "TPM", "Absent")
    return rows


def entries(bmc: Bmc) -> list[Body]:
    """All entries of the inventory."""
    return [_entry(bmc, component) for component in bmc.components.values()] + _beside(bmc)


def entry(bmc: Bmc, identity: str) -> Body | None:
    """One entry."""
    return next((row for row in entries(bmc) if row["Id"] == identity), None)


def inventory(bmc: Bmc, skip: int = 0) -> Body:
    """The collection, in pages and with an error beside the members where a quirk says so."""
    paths = [link(row["@odata.id"]) for row in entries(bmc)]
    kind = "#SoftwareInventoryCollection.SoftwareInventoryCollection"
    page = bmc.quirks.get("paged_inventory")
    result: Body = {"@odata.id": INVENTORY, "@odata.type": kind, "Name": "Firmware Inventory Collection"}
    result["Members"], result["Members@odata.count"] = paths[skip:], len(paths)
    if page:
        size = page["page"]
        result["Members"] = paths[skip : skip + size]
        result["Members@odata.count"] += page["count_off"]
        if page["loop"] or skip + size < len(paths):
            after = 0 if page["loop"] and skip + size >= len(paths) else skip + size
            result["Members@odata.nextLink"] = f"{INVENTORY}?$skip={after}"
    partial = bmc.quirks.get("inventory_error_member")
    if partial:
        partial["seen"] = partial.get("seen", 0) + 1
        if not partial["times"] or partial["seen"] <= partial["times"]:
            result["Members"] = result["Members"][:2]
            result["Members@odata.count"] = len(result["Members"])
            result |= error_body(message("InternalError"))
    return result
