# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of a BMC as JSON: BIOS settings, their registry, tasks and jobs. Pure reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simfleet.bmc.messages import etag_of
from simfleet.bmc.tasks import Task
from simfleet.bmc.views import OK, Body, action, body, collection, link

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc

TASKS = "/redfish/v1/TaskService/Tasks"
JOBS = "/redfish/v1/JobService/Jobs"


def settings_uri(bmc: Bmc) -> str:
    """The URI of the settings object."""
    return f"{bmc.uri('system')}/{bmc.profile['bios']['settings']}"


def bios(bmc: Bmc) -> Body:
    """The applied settings."""
    data = bmc.profile["bios"]
    path = f"{bmc.uri('system')}/{data['path']}"
    future: Body = {"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": link(settings_uri(bmc))}
    if data["apply_times"]:
        future["SupportedApplyTimes"] = data["apply_times"]
    future["ETag"] = etag_of(settings(bmc))
    return body(
        path, "Bios.v1_2_1.Bios", "Bios", "BIOS Configuration Current Settings", AttributeRegistry=data["registry"],
        Attributes=bmc.bios.attributes(bmc.bios.applied), Actions=action(path, "Bios.ResetBios"),
        **{"@Redfish.Settings": future},
    )  # fmt: skip


def settings(bmc: Bmc) -> Body:
    """The staged settings."""
    path, data = settings_uri(bmc), bmc.profile["bios"]
    more: Body = {}
    if data["apply_times"]:
        more["@Redfish.SettingsApplyTime"] = {
            "@odata.type": "#Settings.v1_3_5.PreferredApplyTime", "ApplyTime": "OnReset",
            "ApplyTime@Redfish.AllowableValues": data["apply_times"],
        }  # fmt: skip
    return body(
        path, "Bios.v1_2_1.Bios", path.rpartition("/")[2], "BIOS Configuration Pending Settings",
        AttributeRegistry=data["registry"], Attributes=bmc.bios.attributes(bmc.bios.staged()), **more,
    )  # fmt: skip


def registries(bmc: Bmc) -> Body:
    """One registry is offered: that of the BIOS attributes."""
    path = "/redfish/v1/Registries"
    return collection(path, "MessageRegistryFile", "Registries", [f"{path}/{bmc.profile['bios']['registry']}"])


def registry_file(bmc: Bmc) -> Body:
    """Where the registry lies."""
    name = bmc.profile["bios"]["registry"]
    path = f"/redfish/v1/Registries/{name}"
    where = [{"Language": "en", "Uri": f"{path}/{name}.json"}]
    kind = "MessageRegistryFile.v1_1_3.MessageRegistryFile"
    return body(path, kind, name, "BIOS Attribute Registry", Languages=["en"], Registry=name, Location=where)


def registry(bmc: Bmc) -> Body:
    """The attribute registry itself."""
    name = bmc.profile["bios"]["registry"]
    systems = [{"ProductName": bmc.spec.model, "SystemId": bmc.profile["ids"]["system"]}]
    return body(
        f"/redfish/v1/Registries/{name}/{name}.json", "AttributeRegistry.v1_3_7.AttributeRegistry", name,
        "BIOS Attribute Registry", Language="en", RegistryVersion="1.0.0", OwningEntity=bmc.profile["maker"],
        SupportedSystems=systems, RegistryEntries=bmc.bios.registry(),
    )  # fmt: skip


# -- tasks and jobs -------------------------------------------------------------------------------------------------


def task_service(bmc: Bmc) -> Body:
    """TaskService."""
    path = "/redfish/v1/TaskService"
    more = {"ServiceEnabled": True, "Status": OK, "Tasks": link(TASKS), "CompletedTaskOverWritePolicy": "Oldest"}
    return body(path, "TaskService.v1_2_0.TaskService", "TaskService", "Task Service", **more)


def tasks(bmc: Bmc) -> Body:
    """All tasks."""
    return collection(TASKS, "Task", "Tasks", [f"{TASKS}/{identity}" for identity in bmc.tasks.all])


def _times(bmc: Bmc, one: Task) -> dict[str, Any]:
    if "no_percent" in bmc.quirks:
        return {"StartTime": one.started, "EndTime": one.ended or "TIME_NA"}
    end = {"EndTime": one.ended} if one.ended else {}
    return {"StartTime": one.started, **end, "PercentComplete": one.percent}


def task(bmc: Bmc, one: Task) -> Body:
    """One task."""
    more: Body = {"TaskState": one.state, "TaskStatus": one.status, "Messages": one.messages, **_times(bmc, one)}
    if not one.over:
        more["TaskMonitor"] = bmc.profile["tasks"]["monitor"].format(id=one.id)
    return body(f"{TASKS}/{one.id}", "Task.v1_7_3.Task", one.id, one.name, **more)


def job_service(bmc: Bmc) -> Body:
    """JobService, of makers that have a queue."""
    path = "/redfish/v1/JobService"
    more = {"ServiceEnabled": True, "Status": OK, "Jobs": link(JOBS)}
    return body(path, "JobService.v1_0_4.JobService", "JobService", "Job Service", **more)


def jobs(bmc: Bmc) -> Body:
    """The standard's view of the queue."""
    return collection(JOBS, "Job", "Jobs", [f"{JOBS}/{identity}" for identity in bmc.tasks.all])


def job(bmc: Bmc, one: Task) -> Body:
    """One job in the standard's words."""
    state = {"Scheduled": "Pending", "Failed": "Exception", "CompletedWithErrors": "Exception"}.get(
        one.job(), one.job()
    )
    more: Body = {"JobState": state, "JobStatus": one.status, "Messages": one.messages, **_times(bmc, one)}
    return body(f"{JOBS}/{one.id}", "Job.v1_2_4.Job", one.id, one.name, **more)


def oem_jobs(bmc: Bmc) -> Body:
    """The maker's own queue: whole jobs as members."""
    path = f"{bmc.uri('manager')}/{bmc.profile['jobs']}"
    rows = [oem_job(bmc, one) for one in bmc.tasks.all.values()]
    kind = "#DellJobCollection.DellJobCollection"
    return {
        "@odata.id": path,
        "@odata.type": kind,
        "Name": "JobQueue",
        "Members": rows,
        "Members@odata.count": len(rows),
    }


def oem_job(bmc: Bmc, one: Task) -> Body:
    """One job in the maker's words."""
    path = f"{bmc.uri('manager')}/{bmc.profile['jobs']}/{one.id}"
    kind = {"bios": "BIOSConfiguration", "update": "FirmwareUpdate"}.get(one.kind, "OSDeploy")
    said = one.messages[-1] if one.messages else {"Message": one.job(), "MessageId": "JCP001"}
    more: Body = {"JobState": one.job(), "JobType": kind, "Message": said["Message"], "MessageId": said["MessageId"]}
    more |= _times(bmc, one)
    more["EndTime"] = one.ended or "TIME_NA"
    return body(path, "DellJob.v1_4_0.DellJob", one.id, one.name, **more)
