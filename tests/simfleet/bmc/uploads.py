# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The three ways an image comes in: multipart push, plain push, and SimpleUpdate, which fetches it."""

from __future__ import annotations

import json
import ssl
import urllib.request
from typing import TYPE_CHECKING, Any

from simfleet.bmc import trouble, views_bios, views_update
from simfleet.bmc.messages import Refused, Request, Response, error_body, message
from simfleet.bmc.multipart import parts_of
from simfleet.bmc.tasks import Task
from simfleet.bmc.update import Push, accept

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc


def _apply_time(bmc: Bmc, data: dict[str, Any]) -> str | None:
    if "@Redfish.OperationApplyTime" not in data:
        return None
    wanted = data.pop("@Redfish.OperationApplyTime")
    times = views_update.apply_times(bmc)
    if not times:
        raise Refused(400, "PropertyUnknown", "@Redfish.OperationApplyTime")
    if wanted not in times:
        raise Refused(400, "PropertyValueNotInList", str(wanted), "@Redfish.OperationApplyTime")
    return str(wanted)


def _targets(data: dict[str, Any]) -> list[str]:
    targets = data.pop("Targets", [])
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise Refused(400, "PropertyValueTypeError", str(targets), "Targets")
    return targets


def _enabled(bmc: Bmc) -> None:
    if "service_disabled" in bmc.quirks:
        raise Refused(503, "SimBmc.1.0.ServiceDisabled", text="The update service is disabled.")


def multipart(bmc: Bmc, request: Request) -> Response:
    """A push of UpdateParameters, what the maker wants besides, and UpdateFile."""
    _enabled(bmc)
    parts = parts_of(request.headers.get("content-type", ""), request.body)
    given = dict(parts)
    if [name for name, _ in parts[:1]] != ["UpdateParameters"] or "UpdateFile" not in given:
        raise Refused(400, "ActionParameterMissing", "Multipart", "UpdateParameters, UpdateFile")
    try:
        data = json.loads(given["UpdateParameters"])
    except ValueError as error:
        raise Refused(400, "MalformedJSON") from error
    if "oem_part_required" in bmc.quirks:
        _check_oem(given, parts[-1][0])
    push = Push(given["UpdateFile"], _targets(data), _apply_time(bmc, data), "multipart")
    for key in data:
        if key not in ("ForceUpdate", "Oem"):
            raise Refused(400, "PropertyUnknown", key)
    return _taken(bmc, accept(bmc, push))


def _check_oem(given: dict[str, bytes], last: str) -> None:
    try:
        kind = json.loads(given["OemParameters"])["ImageType"]
    except (KeyError, ValueError, TypeError):
        kind = None
    if not isinstance(kind, str) or last != "UpdateFile":
        raise Refused(400, "ActionParameterMissing", "Multipart", "OemParameters")


def plain(bmc: Bmc, request: Request) -> Response:
    """A push of the image as it is."""
    _enabled(bmc)
    if request.headers.get("content-type", "").startswith(("application/json", "multipart/")):
        raise Refused(415, "SimBmc.1.0.NoOctets", text="application/octet-stream is wanted")
    push = Push(request.body, list(bmc.push_targets), views_update.push_apply_time(bmc), "http_push")
    return _taken(bmc, accept(bmc, push))


def change_service(bmc: Bmc, request: Request) -> Response:
    """PATCH of the UpdateService: the targets of a plain push."""
    trouble.check_etag(bmc, request, views_update.update_service(bmc))
    data = request.json()
    for key in data:
        if key not in ("HttpPushUriTargets", "HttpPushUriTargetsBusy", "HttpPushUriOptions"):
            raise Refused(400, "PropertyUnknown", key)
    if "HttpPushUriOptions" in data:
        wanted = {"@Redfish.OperationApplyTime": data["HttpPushUriOptions"]["HttpPushUriApplyTime"]["ApplyTime"]}
        bmc.push_apply_time = _apply_time(bmc, wanted)
    if "HttpPushUriTargets" in data:
        bmc.push_targets = _targets({"Targets": data["HttpPushUriTargets"]})
    return Response(200, views_update.update_service(bmc))


def simple_update(bmc: Bmc, request: Request) -> Response:
    """SimpleUpdate: the BMC gets the image itself before it answers."""
    trouble.check_action(bmc, request)
    _enabled(bmc)
    data = request.json()
    uri, protocol = data.pop("ImageURI", None), data.pop("TransferProtocol", None)
    if not isinstance(uri, str):
        raise Refused(400, "ActionParameterMissing", "UpdateService.SimpleUpdate", "ImageURI")
    if protocol is None and "://" not in uri:
        raise Refused(400, "ActionParameterMissing", "UpdateService.SimpleUpdate", "TransferProtocol")
    allowed = bmc.profile["update"]["protocols"] or ["HTTP", "HTTPS"]
    if protocol is not None and protocol not in allowed:
        raise Refused(400, "PropertyValueNotInList", str(protocol), "TransferProtocol")
    targets, when = _targets(data), _apply_time(bmc, data)
    for key in data:
        if key not in ("Username", "Password", "ForceUpdate"):
            raise Refused(400, "ActionParameterUnknown", "UpdateService.SimpleUpdate", key)
    full = uri if "://" in uri else f"{(protocol or 'HTTP').lower()}://{uri}"
    return _taken(bmc, accept(bmc, Push(fetch(full), targets, when, "simple_update")))


def fetch(uri: str) -> bytes:
    """Get the image; raises Refused when that cannot be done."""
    if not uri.startswith(("http://", "https://")):
        raise Refused(400, "ActionParameterNotSupported", "ImageURI", "UpdateService.SimpleUpdate")
    try:
        with urllib.request.urlopen(uri, timeout=10, context=ssl._create_unverified_context()) as answer:
            return bytes(answer.read())
    except (OSError, ValueError) as error:
        raise Refused(400, "Update.1.0.TransferFailed", text=f"The image could not be transferred: {error}.") from error


def _taken(bmc: Bmc, task: Task) -> Response:
    if "no_task" in bmc.quirks:
        return Response(200, error_body(message("Success")))
    if "wrong_job_reported" in bmc.quirks:
        task = next((one for one in bmc.tasks.all.values() if one.kind == "other"), None) or _somebodys(bmc)
    where = f"{views_bios.TASKS}/{task.id}"
    if bmc.profile["tasks"]["location"] == "monitor":
        where = bmc.profile["tasks"]["monitor"].format(id=task.id)
    body = None if bmc.profile["jobs"] else views_bios.task(bmc, task)
    return Response(202, body, {"Location": where})


def _somebodys(bmc: Bmc) -> Task:
    task = bmc.tasks.add("OSDeployment", "other")
    task.end("Completed", "OK", message("Success"))
    return task
