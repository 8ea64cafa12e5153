# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Troubles that meet a request before, or an answer after, the service has done its work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simfleet.bmc.messages import Refused, Request, Response, etag_of

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc


def _burst(bmc: Bmc, request: Request) -> None:
    quirk = bmc.quirks.get("5xx_burst")
    if quirk:
        quirk["seen"] = quirk.get("seen", 0) + 1
        if quirk["after"] < quirk["seen"] <= quirk["after"] + quirk["times"]:
            raise Refused(quirk["status"], "ServiceTemporarilyUnavailable", "1", headers={"Retry-After": "1"})


def _flapping(bmc: Bmc, request: Request) -> None:
    quirk = bmc.quirks.get("flapping_after_restart")
    if quirk and quirk.get("left"):
        quirk["left"] -= 1
        if quirk["left"] % 2:
            raise Refused(503, "ServiceTemporarilyUnavailable", "1")


def _licence(bmc: Bmc, request: Request) -> None:
    quirk = bmc.quirks.get("license_missing")
    path = request.path.lower()
    if quirk and ("/updateservice" in path or "/bios" in path or "upload" in path):
        name = quirk["license"]
        text = f"Not licensed to perform this request. The following licenses {name} were needed"
        raise Refused(403, "SMC.1.0.OemLicenseNotPassed", name, text=text)


def before(bmc: Bmc, request: Request) -> None:
    """Raise Refused where a quirk does not let the request in."""
    for trouble in (_burst, _flapping, _licence):
        trouble(bmc, request)


def loses(bmc: Bmc, request: Request) -> bool:
    """Whether the answer to this request is lost with its connection; the work is done all the same."""
    quirk = bmc.quirks.get("connection_drops")
    if not quirk or quirk["method"] not in (None, request.method):
        return False
    quirk["seen"] = quirk.get("seen", 0) + 1
    return bool(quirk["seen"] % quirk["every"] == 0)


def check_action(bmc: Bmc, request: Request) -> None:
    """An If-Match on an action."""
    if "if_match_refused_on_action" in bmc.quirks and "if-match" in request.headers:
        raise Refused(412, "PreconditionFailed")


def check_etag(bmc: Bmc, request: Request, body: Any) -> None:
    """An If-Match on a PATCH: needed where profile or quirk say so, and right where it is given."""
    given = request.headers.get("if-match")
    if "etag_never_right" in bmc.quirks:
        raise (
            Refused(428, "PreconditionRequired")
            if given is None or given.startswith("W/")
            else Refused(412, "PreconditionFailed")
        )
    if given is None:
        if bmc.profile["etag"]["required"] or "etag_required" in bmc.quirks:
            raise Refused(428, "PreconditionRequired")
        return
    if given != "*" and given.removeprefix("W/") != etag_of(body):
        raise Refused(412, "PreconditionFailed")


def with_etag(bmc: Bmc, response: Response) -> Response:
    """Add the ETag of a resource, strong or weak as the maker has it."""
    if response.status == 200 and isinstance(response.body, dict):
        weak = bmc.profile["etag"]["weak"] or "etag_never_right" in bmc.quirks
        tag = ("W/" if weak else "") + etag_of(response.body)
        response.headers.setdefault("ETag", tag)
        if "Members" not in response.body and "@odata.id" in response.body:
            response.body = {**response.body, "@odata.etag": tag}
    return response
