# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What POST, PATCH and DELETE do, apart from firmware: sessions, accounts, power, BIOS settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simfleet.bmc import trouble, views, views_bios
from simfleet.bmc.messages import Refused, Request, Response, error_body, message
from simfleet.bmc.sessions import ROLES, Account

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc


def login(bmc: Bmc, request: Request) -> Response:
    """POST Sessions."""
    data = request.json()
    for key in ("UserName", "Password"):
        if not isinstance(data.get(key), str):
            raise Refused(400, "ActionParameterMissing", "Sessions", key)
    leak = bmc.quirks.get("session_leak_limit")
    taken = bmc.gate.limit - leak["free"] if leak else 0
    identity, token = bmc.gate.login(data["UserName"], data["Password"], taken)
    body = views.session(bmc, identity)
    return Response(201, body, {"X-Auth-Token": token, "Location": f"/redfish/v1/SessionService/Sessions/{identity}"})


def logout(bmc: Bmc, request: Request, identity: str) -> Response:
    """DELETE Sessions/N."""
    if not bmc.gate.logout(identity):
        raise Refused(404, "ResourceMissingAtURI", request.path)
    return Response(204)


# -- accounts -------------------------------------------------------------------------------------------------------


def add_account(bmc: Bmc, request: Request) -> Response:
    """POST Accounts."""
    data = request.json()
    if not data.get("UserName") or not isinstance(data.get("Password"), str) or data.get("RoleId") not in ROLES:
        raise Refused(400, "ActionParameterMissing", "Accounts", "UserName, Password, RoleId")
    if any(account.user == data["UserName"] for account in bmc.gate.accounts.values()):
        raise Refused(400, "ResourceAlreadyExists")
    identity = str(max(int(key) for key in bmc.gate.accounts) + 1)
    bmc.gate.accounts[identity] = Account(data["UserName"], data["Password"], data["RoleId"], data.get("Enabled", True))
    return Response(201, views.account(bmc, identity), {"Location": f"/redfish/v1/AccountService/Accounts/{identity}"})


def change_account(bmc: Bmc, request: Request, identity: str) -> Response:
    """PATCH Accounts/N."""
    account = bmc.gate.accounts.get(identity)
    if account is None:
        raise Refused(404, "ResourceMissingAtURI", request.path)
    trouble.check_etag(bmc, request, views.account(bmc, identity))
    names = {"UserName": "user", "Password": "password", "RoleId": "role", "Enabled": "enabled"}
    data = request.json()
    for key, value in data.items():
        if key not in names:
            raise Refused(400, "PropertyUnknown", key)
        if key == "RoleId" and value not in ROLES:
            raise Refused(400, "PropertyValueNotInList", str(value), key)
    for key, value in data.items():
        setattr(account, names[key], value)
    return Response(200, views.account(bmc, identity))


def remove_account(bmc: Bmc, request: Request, identity: str) -> Response:
    """DELETE Accounts/N; the first one stays."""
    if identity == "1" or identity not in bmc.gate.accounts:
        raise Refused(405 if identity == "1" else 404, "ResourceMissingAtURI", request.path)
    del bmc.gate.accounts[identity]
    return Response(204)


# -- power ----------------------------------------------------------------------------------------------------------


def _reset_type(request: Request, name: str, allowed: list[str]) -> str:
    wanted = request.json().get("ResetType")
    if wanted is None and len(allowed) == 1:
        return allowed[0]
    if wanted is None:
        raise Refused(400, "ActionParameterMissing", name, "ResetType")
    if wanted not in allowed:
        raise Refused(400, "PropertyValueNotInList", str(wanted), "ResetType")
    return str(wanted)


def reset_system(bmc: Bmc, request: Request) -> Response:
    """ComputerSystem.Reset."""
    trouble.check_action(bmc, request)
    wanted = _reset_type(request, "ComputerSystem.Reset", views.resets_of(bmc))
    if "reset_ignored" not in bmc.quirks:
        bmc.later(0, lambda: bmc.power(wanted))
    return Response(204)


def reset_chassis(bmc: Bmc, request: Request) -> Response:
    """Chassis.Reset, which cuts the power of the whole box."""
    trouble.check_action(bmc, request)
    _reset_type(request, "Chassis.Reset", bmc.profile["chassis_resets"])
    bmc.later(0.05, bmc.ac_cycle)
    return Response(204)


def reset_manager(bmc: Bmc, request: Request) -> Response:
    """Manager.Reset."""
    trouble.check_action(bmc, request)
    _reset_type(request, "Manager.Reset", bmc.profile["manager_resets"])
    bmc.later(0.05, bmc.restart)
    return Response(204)


def change_system(bmc: Bmc, request: Request) -> Response:
    """PATCH of the system: the boot override and the boot order."""
    trouble.check_etag(bmc, request, views.system(bmc))
    data = request.json()
    for key in data:
        if key != "Boot":
            raise Refused(400, "PropertyUnknown", key)
    for key, value in data.get("Boot", {}).items():
        _change_boot(bmc, key, value)
    return Response(200, views.system(bmc))


def _change_boot(bmc: Bmc, key: str, value: Any) -> None:
    allowed = {
        "BootSourceOverrideEnabled": views.ENABLED, "BootSourceOverrideTarget": views.TARGETS,
        "BootSourceOverrideMode": ["UEFI"],
    }  # fmt: skip
    if key == "BootOrder":
        if not isinstance(value, list) or sorted(value) != sorted(bmc.bios.boot_order):
            raise Refused(400, "PropertyValueNotInList", str(value), key)
        bmc.bios.boot_order = value
    elif key not in allowed:
        raise Refused(400, "PropertyUnknown", key)
    elif value not in allowed[key]:
        raise Refused(400, "PropertyValueNotInList", str(value), key)
    elif key != "BootSourceOverrideMode":
        bmc.boot_override[key] = value
        if key == "BootSourceOverrideEnabled" and value == "Disabled":
            bmc.boot_override["BootSourceOverrideTarget"] = "None"


# -- BIOS settings --------------------------------------------------------------------------------------------------


def change_settings(bmc: Bmc, request: Request) -> Response:
    """PATCH of the settings object."""
    trouble.check_etag(bmc, request, views_bios.settings(bmc))
    data = request.json()
    data.pop("@odata.type", None)
    when = data.pop("@Redfish.SettingsApplyTime", None)
    values = data.pop("Attributes", None)
    if data or not isinstance(values, dict):
        raise Refused(400, "PropertyUnknown", next(iter(data), "Attributes"))
    times = bmc.profile["bios"]["apply_times"]
    if when is not None and (not isinstance(when, dict) or when.get("ApplyTime") not in times):
        raise Refused(400, "PropertyUnknown", "@Redfish.SettingsApplyTime")
    if bmc.tasks.scheduled("bios") or bmc.tasks.running("bios"):
        raise Refused(
            400,
            "IDRAC.2.8.SYS011",
            text="Pending configuration values are already committed, unable to perform another set operation.",
        )
    jobs = bmc.profile["bios"]["job"]
    bmc.bios.stage(values, commit=when is not None or not (jobs or "staged_without_job" in bmc.quirks))
    if "settings_ignored" in bmc.quirks:
        said = message("iLO.0.10.SystemResetRequired", text="System reset required", severity="Warning")
        return Response(200, {"Messages": [{"MessageID": said["MessageId"]}], **error_body(said)})
    if jobs and when is not None:
        return _bios_job(bmc, 202)
    return Response(200, error_body(message("Success")))


def _bios_job(bmc: Bmc, status: int) -> Response:
    job = bmc.tasks.add("Configure: BIOS.Setup.1-1", "bios", views_bios.settings_uri(bmc))
    job.schedule(message("SimBmc.1.0.JobScheduled", text="Task successfully scheduled.", severity="OK"))
    return Response(status, None, {"Location": f"{views_bios.TASKS}/{job.id}"})


def create_job(bmc: Bmc, request: Request) -> Response:
    """POST to the maker's queue: apply what is staged, at the next boot."""
    if request.json().get("TargetSettingsURI", "").rstrip("/") != views_bios.settings_uri(bmc):
        raise Refused(400, "ActionParameterMissing", "Jobs", "TargetSettingsURI")
    if not bmc.bios.pending or bmc.tasks.scheduled("bios"):
        raise Refused(400, "IDRAC.2.8.RAC0720", text="No pending data is present, or a job is scheduled already.")
    bmc.bios.committed = True
    return _bios_job(bmc, 200)


def remove_job(bmc: Bmc, request: Request, identity: str) -> Response:
    """DELETE of a job: what it would have applied is staged no more."""
    job = bmc.tasks.all.get(identity)
    if job is None:
        raise Refused(404, "ResourceMissingAtURI", request.path)
    if job.kind == "bios" and job.job_state == "Scheduled":
        bmc.bios.clear()
    if identity in bmc.at_boot:
        bmc.at_boot[identity].stop()
    bmc.tasks.lose(job)
    return Response(200, error_body(message("Success")))


def clear_pending(bmc: Bmc, request: Request) -> Response:
    """DELETE of the settings object: nothing is staged any more."""
    if bmc.tasks.scheduled("bios"):
        raise Refused(400, "IDRAC.2.8.SYS011", text="The staged values belong to a job.")
    bmc.bios.clear()
    return Response(204)


def reset_bios(bmc: Bmc, request: Request) -> Response:
    """Bios.ResetBios."""
    trouble.check_action(bmc, request)
    bmc.bios.to_defaults()
    return Response(200, error_body(message("Success")))
