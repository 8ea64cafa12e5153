# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which request is answered by what. `answer` is the whole service without a socket."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simfleet.bmc import csdl, handlers, trouble, uploads, views, views_bios, views_update
from simfleet.bmc.messages import Refused, Request, Response

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc

V1 = "/redfish/v1"
OPEN = ("/redfish", V1, f"{V1}/odata", f"{V1}/$metadata")
Handler = Callable[..., Response]
UNLISTED = (
    handlers.clear_pending,
    uploads.plain,
)  # what a maker takes besides the standard; no Allow header tells of it


def _reads(bmc: Bmc) -> dict[str, Callable[..., Any]]:
    """URI pattern to the function that makes the resource; what the pattern catches goes to it."""
    system, manager, jobs = bmc.uri("system"), bmc.uri("manager"), bmc.profile["jobs"]
    registry = f"{V1}/Registries/{bmc.profile['bios']['registry']}"
    table: dict[str, Callable[..., Any]] = {
        V1: views.root,
        f"{V1}/SessionService": views.session_service,
        f"{V1}/SessionService/Sessions": views.sessions,
        f"{V1}/SessionService/Sessions/([^/]+)": views.session,
        f"{V1}/AccountService": views.account_service,
        f"{V1}/AccountService/Accounts": views.accounts,
        f"{V1}/AccountService/Accounts/([^/]+)": views.account,
        f"{V1}/AccountService/Roles": views.roles,
        f"{V1}/AccountService/Roles/([^/]+)": views.role,
        f"{V1}/Systems": lambda bmc: views.members(bmc, "system"),
        f"{V1}/Chassis": lambda bmc: views.members(bmc, "chassis"),
        f"{V1}/Managers": lambda bmc: views.members(bmc, "manager"),
        re.escape(system): views.system,
        re.escape(bmc.uri("chassis")): views.chassis,
        re.escape(manager): views.manager,
        re.escape(f"{system}/{bmc.profile['bios']['path']}"): views_bios.bios,
        re.escape(views_bios.settings_uri(bmc)): views_bios.settings,
        f"{V1}/Registries": views_bios.registries,
        re.escape(registry): views_bios.registry_file,
        re.escape(f"{registry}/{registry.rpartition('/')[2]}.json"): views_bios.registry,
        f"{V1}/UpdateService": views_update.update_service,
        f"{V1}/UpdateService/FirmwareInventory/([^/]+)": views_update.entry,
        f"{V1}/TaskService": views_bios.task_service,
        f"{V1}/TaskService/Tasks": views_bios.tasks,
    }
    if jobs:
        table |= {
            f"{V1}/JobService": views_bios.job_service,
            f"{V1}/JobService/Jobs": views_bios.jobs,
            f"{V1}/JobService/Jobs/([^/]+)": _one_job(views_bios.job),
            re.escape(f"{manager}/{jobs}"): views_bios.oem_jobs,
            re.escape(f"{manager}/{jobs}") + "/([^/]+)": _one_job(views_bios.oem_job),
        }
    return table


def _one_job(view: Callable[..., Any]) -> Callable[..., Any]:
    return lambda bmc, identity: view(bmc, bmc.tasks.all[identity]) if identity in bmc.tasks.all else None


def _read(view: Callable[..., Any]) -> Handler:
    def handler(bmc: Bmc, request: Request, *caught: str) -> Response:
        body = view(bmc, *caught)
        if body is None:
            raise Refused(404, "ResourceMissingAtURI", request.path)
        return Response(200, body)

    return handler


def _inventory(bmc: Bmc, request: Request) -> Response:
    skip = request.query.get("$skip", "0")
    if not skip.isdigit():
        raise Refused(400, "QueryParameterOutOfRange", skip, "$skip")
    return Response(200, views_update.inventory(bmc, int(skip)))


def _task(bmc: Bmc, request: Request, identity: str) -> Response:
    task = bmc.tasks.all.get(identity)
    if task is None:
        raise Refused(404, "ResourceMissingAtURI", request.path)
    waits = bmc.profile["tasks"]["location"] == "task" and not task.over
    return Response(202 if waits else 200, views_bios.task(bmc, task))


def _monitor(bmc: Bmc, request: Request, identity: str) -> Response:
    """202 while it runs; then what the operation itself would have answered."""
    task = bmc.tasks.all.get(identity)
    if task is None:
        raise Refused(404, "ResourceMissingAtURI", request.path)
    if not task.over:
        return Response(202, views_bios.task(bmc, task), {"Retry-After": "1", "Location": request.path})
    return Response(200, views_bios.task(bmc, task))


def _plain(text: dict[str, Any]) -> Handler:
    return lambda bmc, request: Response(200, text)


def _metadata(bmc: Bmc, request: Request) -> Response:
    return Response(200, csdl.metadata().encode(), {"Content-Type": "application/xml"})


def table(bmc: Bmc) -> list[tuple[str, str, Handler]]:
    """(method, pattern, handler) of everything this BMC answers."""
    rows: list[tuple[str, str, Handler]] = [("GET", pattern, _read(view)) for pattern, view in _reads(bmc).items()]
    system, manager = bmc.uri("system"), bmc.uri("manager")
    ways = views_update.offers(bmc)
    rows += [
        ("GET", "/redfish", _plain({"v1": "/redfish/v1/"})),
        ("GET", f"{V1}/odata", _plain(csdl.odata())),
        ("GET", re.escape(f"{V1}/$metadata"), _metadata),
        ("GET", views_update.INVENTORY, _inventory),
        ("GET", f"{views_bios.TASKS}/([^/]+)", _task),
        ("GET", bmc.profile["tasks"]["monitor"].format(id="([^/]+)"), _monitor),
        ("POST", f"{V1}/SessionService/Sessions", handlers.login),
        ("DELETE", f"{V1}/SessionService/Sessions/([^/]+)", handlers.logout),
        ("POST", f"{V1}/AccountService/Accounts", handlers.add_account),
        ("PATCH", f"{V1}/AccountService/Accounts/([^/]+)", handlers.change_account),
        ("DELETE", f"{V1}/AccountService/Accounts/([^/]+)", handlers.remove_account),
        ("PATCH", re.escape(system), handlers.change_system),
        ("POST", re.escape(f"{system}/Actions/ComputerSystem.Reset"), handlers.reset_system),
        ("POST", re.escape(f"{manager}/Actions/Manager.Reset"), handlers.reset_manager),
        ("PATCH", re.escape(views_bios.settings_uri(bmc)), handlers.change_settings),
        ("DELETE", re.escape(views_bios.settings_uri(bmc)), handlers.clear_pending),
        ("POST", re.escape(f"{system}/{bmc.profile['bios']['path']}/Actions/Bios.ResetBios"), handlers.reset_bios),
        ("PATCH", f"{V1}/UpdateService", uploads.change_service),
    ]
    if bmc.profile["chassis_resets"]:
        rows.append(("POST", re.escape(f"{bmc.uri('chassis')}/Actions/Chassis.Reset"), handlers.reset_chassis))
    if ways["multipart"]:
        rows.append(("POST", re.escape(ways["multipart"]), uploads.multipart))
    if ways["http_push"]:
        rows.append(("POST", re.escape(ways["http_push"]), uploads.plain))
    if ways["simple_update"]:
        rows.append(("POST", f"{V1}/UpdateService/Actions/UpdateService.SimpleUpdate", uploads.simple_update))
    if bmc.profile["jobs"]:
        queue = re.escape(f"{manager}/{bmc.profile['jobs']}")
        rows += [("POST", queue, handlers.create_job), ("DELETE", queue + "/([^/]+)", handlers.remove_job)]
    return rows


def _find(bmc: Bmc, request: Request) -> tuple[Handler | None, tuple[str, ...], list[str]]:
    """The handler, what its pattern caught, and the methods that this URI knows."""
    flags = re.I if bmc.profile["name"] == "ilo" else 0
    known, chosen, caught = [], None, ()
    path = request.path.rstrip("/") or "/"
    for method, pattern, handler in table(bmc):
        found = re.fullmatch(pattern, path, flags)
        if found:
            if handler not in UNLISTED:
                known.append(method)
            if method == request.method or (request.method == "HEAD" and method == "GET"):
                chosen, caught = handler, found.groups()
    return chosen, caught, known


def _answer(bmc: Bmc, request: Request) -> Response:
    handler, caught, known = _find(bmc, request)
    trouble.before(bmc, request)
    request.user = bmc.gate.who(request)
    is_login = request.method == "POST" and request.path.rstrip("/") == f"{V1}/SessionService/Sessions"
    is_open = request.method in ("GET", "HEAD") and (request.path.rstrip("/") or "/") in OPEN
    if request.user is None and not is_login and not is_open:
        raise Refused(401, "NoValidSession", headers={"WWW-Authenticate": 'Basic realm="BMC"'})
    if not known and handler is None:
        raise Refused(404, "ResourceMissingAtURI", request.path)
    allow = {"Allow": ", ".join(dict.fromkeys(["GET", "HEAD", *known] if "GET" in known else known))}
    if handler is None:
        raise Refused(405, "OperationNotAllowed", headers=allow)
    response = handler(bmc, request, *caught)
    if request.method in ("GET", "HEAD"):
        response.headers.setdefault("Allow", allow["Allow"])
        response = trouble.with_etag(bmc, response)
    return response


def answer(bmc: Bmc, request: Request) -> Response:
    """Answer one request and note it; what a quirk loses has `drop` set."""
    with bmc.lock:
        try:
            response = _answer(bmc, request)
        except Refused as refused:
            response = refused.response
        response.headers.setdefault("OData-Version", "4.0")
        response.drop = trouble.loses(bmc, request)
        where = request.path + (
            "?" + "&".join(f"{key}={value}" for key, value in request.query.items()) if request.query else ""
        )
        bmc.exchanged(request.method, where, 0 if response.drop else response.status)
        return response
