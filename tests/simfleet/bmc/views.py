# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of a BMC as JSON: root, sessions, accounts, system, chassis, manager. Pure reading."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc

Body = dict[str, Any]
OK = {"State": "Enabled", "Health": "OK"}
ENABLED = ["Disabled", "Once", "Continuous"]
TARGETS = ["None", "Pxe", "Cd", "Hdd", "BiosSetup", "UefiHttp"]


def body(path: str, kind: str, identity: str, name: str, **more: Any) -> Body:
    """A resource with its four names first."""
    return {"@odata.id": path, "@odata.type": f"#{kind}", "Id": identity, "Name": name, **more}


def link(path: str) -> Body:
    """A reference."""
    return {"@odata.id": path}


def collection(path: str, kind: str, name: str, members: list[str]) -> Body:
    """A collection whose members are references."""
    rows = [link(member) for member in members]
    full = f"#{kind}Collection.{kind}Collection"
    return {"@odata.id": path, "@odata.type": full, "Name": name, "Members": rows, "Members@odata.count": len(rows)}


def action(path: str, name: str, **allowed: list[str]) -> Body:
    """An action with the values its parameters may have."""
    kind = name.partition(".")[0]
    rows = {f"{key}@Redfish.AllowableValues": values for key, values in allowed.items() if values}
    return {f"#{name}": {"target": f"{path}/Actions/{kind}.{name.partition('.')[2]}", **rows}}


def root(bmc: Bmc) -> Body:
    """/redfish/v1, which everybody may read."""
    base = "/redfish/v1"
    more: Body = {"JobService": link(f"{base}/JobService")} if bmc.profile["jobs"] else {}
    features = {"ExpandQuery": {"ExpandAll": False, "Levels": False, "Links": False, "NoLinks": False}}
    features |= {"FilterQuery": False, "OnlyMemberQuery": False, "SelectQuery": False, "ExcerptQuery": False}
    names = ("AccountService", "Chassis", "Managers", "Registries", "SessionService", "Systems", "UpdateService")
    return body(
        base, "ServiceRoot.v1_15_0.ServiceRoot", "RootService", "Root Service",
        RedfishVersion=bmc.profile["redfish_version"], UUID=identity_of(bmc), Vendor=bmc.profile["maker"],
        Product=f"{bmc.profile['maker']}-like simulated BMC", ProtocolFeaturesSupported=features,
        Links={"Sessions": link(f"{base}/SessionService/Sessions")}, Tasks=link(f"{base}/TaskService"),
        **{name: link(f"{base}/{name}") for name in names}, **more,
    )  # fmt: skip


def identity_of(bmc: Bmc) -> str:
    """The UUID of the machine."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, bmc.spec.node))


# -- sessions and accounts ------------------------------------------------------------------------------------------


def session_service(bmc: Bmc) -> Body:
    """SessionService."""
    path = "/redfish/v1/SessionService"
    more = {"ServiceEnabled": True, "SessionTimeout": 1800, "Status": OK, "Sessions": link(f"{path}/Sessions")}
    return body(path, "SessionService.v1_1_8.SessionService", "SessionService", "Session Service", **more)


def sessions(bmc: Bmc) -> Body:
    """The open sessions."""
    path = "/redfish/v1/SessionService/Sessions"
    return collection(path, "Session", "Sessions", [f"{path}/{identity}" for identity, _ in bmc.gate.sessions.values()])


def session(bmc: Bmc, identity: str) -> Body | None:
    """One session."""
    for number, user in bmc.gate.sessions.values():
        if number == identity:
            path = f"/redfish/v1/SessionService/Sessions/{number}"
            return body(path, "Session.v1_6_0.Session", number, "User Session", UserName=user)
    return None


def account_service(bmc: Bmc) -> Body:
    """AccountService."""
    path = "/redfish/v1/AccountService"
    more = {"ServiceEnabled": True, "Status": OK, "MinPasswordLength": 8, "MaxPasswordLength": 64}
    more |= {"Accounts": link(f"{path}/Accounts"), "Roles": link(f"{path}/Roles")}
    return body(path, "AccountService.v1_12_0.AccountService", "AccountService", "Account Service", **more)


def accounts(bmc: Bmc) -> Body:
    """The accounts."""
    path = "/redfish/v1/AccountService/Accounts"
    return collection(path, "ManagerAccount", "Accounts", [f"{path}/{identity}" for identity in bmc.gate.accounts])


def account(bmc: Bmc, identity: str) -> Body | None:
    """One account; its password is never shown."""
    found = bmc.gate.accounts.get(identity)
    if found is None:
        return None
    base = "/redfish/v1/AccountService"
    return body(
        f"{base}/Accounts/{identity}", "ManagerAccount.v1_9_0.ManagerAccount", identity, "User Account",
        UserName=found.user, Password=None, RoleId=found.role, Enabled=found.enabled, Locked=False,
        AccountTypes=["Redfish"], PasswordChangeRequired=False, Links={"Role": link(f"{base}/Roles/{found.role}")},
    )  # fmt: skip


def roles(bmc: Bmc) -> Body:
    """The three roles of the standard."""
    path = "/redfish/v1/AccountService/Roles"
    return collection(path, "Role", "Roles", [f"{path}/{name}" for name in ("Administrator", "Operator", "ReadOnly")])


def role(bmc: Bmc, identity: str) -> Body | None:
    """One role."""
    rights = {
        "Administrator": ["Login", "ConfigureManager", "ConfigureUsers", "ConfigureSelf", "ConfigureComponents"],
        "Operator": ["Login", "ConfigureSelf", "ConfigureComponents"],
        "ReadOnly": ["Login", "ConfigureSelf"],
    }.get(identity)
    path = f"/redfish/v1/AccountService/Roles/{identity}"
    more = {"RoleId": identity, "IsPredefined": True, "AssignedPrivileges": rights}
    return body(path, "Role.v1_3_1.Role", identity, "Role", **more) if rights else None


# -- machine --------------------------------------------------------------------------------------------------------


def members(bmc: Bmc, kind: str) -> Body:
    """The collection of systems, chassis or managers, with one member each."""
    path = bmc.uri(kind).rpartition("/")[0]
    name = {"system": "ComputerSystem", "chassis": "Chassis", "manager": "Manager"}[kind]
    return collection(path, name, f"{name} Collection", [bmc.uri(kind)])


def _boot_progress(bmc: Bmc) -> str:
    if bmc.host_power == "Off":
        return "None"
    return "SystemHardwareInitializationComplete" if bmc.in_post() else "OSRunning"


def power_of(bmc: Bmc) -> str:
    """The power state that is shown."""
    lie = bmc.quirks.get("power_state_lies")
    return str(lie["shows"]) if lie else bmc.host_power


def resets_of(bmc: Bmc) -> list[str]:
    """The resets of the system that are offered."""
    left_out = bmc.quirks.get("resets_left_out", {"names": ""})["names"].split()
    return [reset for reset in bmc.profile["resets"] if reset not in left_out]


def system(bmc: Bmc) -> Body:
    """The host."""
    path, spec = bmc.uri("system"), bmc.spec
    boot = {
        **bmc.boot_override, "BootSourceOverrideMode": "UEFI",
        "BootSourceOverrideTarget@Redfish.AllowableValues": TARGETS,
        "BootSourceOverrideEnabled@Redfish.AllowableValues": ENABLED, "BootOrder": bmc.bios.boot_order,
    }  # fmt: skip
    return body(
        path, "ComputerSystem.v1_20_0.ComputerSystem", bmc.profile["ids"]["system"], "System",
        SystemType="Physical", Manufacturer=spec.vendor, Model=spec.model, SerialNumber=f"S{bmc.serial('system')}",
        UUID=identity_of(bmc), HostName=spec.node, PowerState=power_of(bmc), Status=OK, Boot=boot,
        BiosVersion=bmc.components["bios"].version, Bios=link(f"{path}/{bmc.profile['bios']['path']}"),
        BootProgress={"LastState": _boot_progress(bmc)},
        ProcessorSummary={"Count": 2, "Model": "AMD EPYC"},
        Links={"Chassis": [link(bmc.uri("chassis"))], "ManagedBy": [link(bmc.uri("manager"))]},
        Actions=action(path, "ComputerSystem.Reset", ResetType=resets_of(bmc)),
    )  # fmt: skip


def chassis(bmc: Bmc) -> Body:
    """The box."""
    path, resets = bmc.uri("chassis"), bmc.profile["chassis_resets"]
    more: Body = {"Actions": action(path, "Chassis.Reset", ResetType=resets)} if resets else {}
    return body(
        path, "Chassis.v1_23_0.Chassis", bmc.profile["ids"]["chassis"], "Chassis", ChassisType="RackMount",
        Manufacturer=bmc.spec.vendor, Model=bmc.spec.model, SerialNumber=f"C{bmc.serial('chassis')}",
        PowerState=bmc.host_power, Status=OK,
        Links={"ComputerSystems": [link(bmc.uri("system"))], "ManagedBy": [link(bmc.uri("manager"))]}, **more,
    )  # fmt: skip


def manager(bmc: Bmc) -> Body:
    """The BMC itself."""
    path, jobs = bmc.uri("manager"), bmc.profile["jobs"]
    links: Body = {"ManagerForServers": [link(bmc.uri("system"))], "ManagerForChassis": [link(bmc.uri("chassis"))]}
    if jobs:
        links["Oem"] = {"Dell": {"@odata.type": "#DellOem.v1_3_0.DellOemLinks", "Jobs": link(f"{path}/{jobs}")}}
    return body(
        path, "Manager.v1_18_0.Manager", bmc.profile["ids"]["manager"], "Manager", ManagerType="BMC",
        Model=f"{bmc.profile['maker']}-like", FirmwareVersion=bmc.components["bmc"].version, UUID=identity_of(bmc),
        PowerState="On", Status=OK, LastResetTime=bmc.last_reset,
        Actions=action(path, "Manager.Reset", ResetType=bmc.profile["manager_resets"]), Links=links,
    )  # fmt: skip
