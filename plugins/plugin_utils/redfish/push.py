# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an image goes to a BMC: which way it offers, what is sent with it, and the file as a stream. Only reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError, path_of

_BLOCK = 1 << 18
_BOUNDARY = "fleetops-firmware-part"
_SIMPLE = "#UpdateService.SimpleUpdate"


class Way(NamedTuple):
    """How a BMC takes an image: ``kind`` is multipart, http_push or simple_update; None is where nothing is said."""

    kind: str
    uri: str
    largest: int | None
    apply_times: list[str] | None
    protocols: list[str] | None
    targets: list[str] | None
    at_once: bool
    push_targets: bool


def choose(
    service: Mapping[str, Any], wish: Mapping[str, Any], subject: str, info: Mapping[str, Any] | None = None
) -> Way:
    """The way an image takes: multipart, then plain push, then SimpleUpdate, of what the service and the wish allow.

    A push URI outside of /redfish is not the standard's (iLO has one), and is taken only where the wish names the way.

    :param info: the ActionInfo of SimpleUpdate, where it has one.
    :raises BmcError: the service is off, or has no way for this.
    """
    if service.get("ServiceEnabled") is False:
        raise BmcError(
            "service_disabled", subject, "its update service is disabled", "an enabled one", "enable it in the BMC"
        )
    offered = dict(_offered(service, wish, info))
    wanted = [wish["method"]] if wish["method"] != "auto" else ["multipart", "http_push", "simple_update"]
    kind = next((kind for kind in wanted if kind in offered), None)
    if kind is None:
        there = [key for key in ("MultipartHttpPushUri", "HttpPushUri") if service.get(key)]
        there += ["SimpleUpdate"] if _SIMPLE in (service.get("Actions") or {}) else []
        raise BmcError(
            "no_way",
            subject,
            f"the update service offers {', '.join(there) or 'no way to push an image'}",
            "a push of image, or SimpleUpdate of image_uri" if wish["method"] == "auto" else wish["method"],
            "give image_uri for SimpleUpdate, image for a push, or method where the push URI is the maker's own",
        )
    return offered[kind]


def _offered(service: Mapping[str, Any], wish: Mapping[str, Any], info: Any) -> Iterator[tuple[str, Way]]:
    largest = service.get("MaxImageSizeBytes")
    largest = largest if isinstance(largest, int) and largest > 0 else None
    multipart, plain = service.get("MultipartHttpPushUri"), service.get("HttpPushUri")
    if wish["image"] and isinstance(multipart, str):
        times = (service.get("MultipartHttpPushUri@Redfish.OperationApplyTimeSupport") or {}).get("SupportedValues")
        yield "multipart", Way("multipart", path_of(multipart), largest, times, None, None, False, False)
    if wish["image"] and isinstance(plain, str) and (plain.startswith("/redfish/") or wish["method"] == "http_push"):
        when = ((service.get("HttpPushUriOptions") or {}).get("HttpPushUriApplyTime") or {}).get("ApplyTime")
        now, named = when in (None, "Immediate"), "HttpPushUriTargets" in service
        yield "http_push", Way("http_push", path_of(plain), largest, None, None, None, now, named)
    action = (service.get("Actions") or {}).get(_SIMPLE) or {}
    if wish["image_uri"] and isinstance(action.get("target"), str):
        times = (action.get("@Redfish.OperationApplyTimeSupport") or {}).get("SupportedValues")
        protocols, targets = (_allowed(action, info, name) for name in ("TransferProtocol", "Targets"))
        uri = path_of(action["target"])
        yield "simple_update", Way("simple_update", uri, largest, times, protocols, targets, False, False)


def _allowed(action: Mapping[str, Any], info: Any, name: str) -> list[str] | None:
    inline = action.get(f"{name}@Redfish.AllowableValues")
    rows = info.get("Parameters") if isinstance(info, Mapping) else None
    listed = next((row.get("AllowableValues") for row in rows or [] if row.get("Name") == name), None)
    values = inline if inline is not None else listed
    return [str(value) for value in values] if isinstance(values, list) and values else None


def action_info_uri(service: Mapping[str, Any]) -> str | None:
    """Where the parameters of SimpleUpdate are told, where they are not told beside it."""
    uri = ((service.get("Actions") or {}).get(_SIMPLE) or {}).get("@Redfish.ActionInfo")
    return path_of(uri) if isinstance(uri, str) else None


def refuse_unfit(way: Way, wish: Mapping[str, Any], size: int | None, subject: str) -> None:
    """Refuse before anything is sent what the service would not take.

    :param size: of the image in bytes; None where only the BMC fetches it.
    :raises BmcError: the image is too large, or an apply time or protocol is not offered.
    """
    if size is not None and way.largest is not None and size > way.largest:
        raise BmcError(
            "image_too_large",
            subject,
            f"the image has {size} bytes",
            f"at most {way.largest}",
            "see whether it is the right image for this BMC",
        )
    when = wish["apply_time"]
    if when and way.apply_times is not None and when not in way.apply_times:
        raise BmcError(
            "apply_time_refused",
            subject,
            f"apply_time {when} is not offered",
            f"one of {', '.join(way.apply_times)}",
            "correct apply_time, or leave it out",
        )
    if when and way.kind == "http_push":
        raise BmcError("apply_time_refused", subject, "a plain push has no apply time", "none", "leave apply_time out")
    if way.kind == "simple_update" and way.protocols and protocol_of(wish["image_uri"]) not in way.protocols:
        raise BmcError(
            "protocol_refused",
            subject,
            f"{protocol_of(wish['image_uri'])} is not offered",
            f"one of {', '.join(way.protocols)}",
            "serve the image that way",
        )


def protocol_of(uri: str) -> str:
    """The TransferProtocol of an address."""
    return urlsplit(uri).scheme.upper()


def targets_of(way: Way, wish: Mapping[str, Any], uris: Sequence[str]) -> list[str]:
    """What to name as targets: what the wish says, else the entries of the component, as the BMC allows."""
    if wish["targets"] is not None:
        return list(wish["targets"])
    if way.targets is None:
        return list(uris)
    ends = {uri.rstrip("/").rpartition("/")[2] for uri in uris}
    return [target for target in way.targets if target.rstrip("/").rpartition("/")[2] in ends]


def parameters(wish: Mapping[str, Any], targets: Sequence[str]) -> dict[str, Any]:
    """UpdateParameters of a multipart push; an apply time is sent only where the wish has one."""
    when = {"@Redfish.OperationApplyTime": wish["apply_time"]} if wish["apply_time"] else {}
    return {"Targets": list(targets), **when} if targets else dict(when)


def simple_body(way: Way, wish: Mapping[str, Any], targets: Sequence[str]) -> dict[str, Any]:
    """The parameters of SimpleUpdate."""
    body = {"ImageURI": wish["image_uri"], **parameters(wish, targets)}
    return {**body, "TransferProtocol": protocol_of(wish["image_uri"])} if way.protocols else body


def oem_part(rows: Iterable[Mapping[str, Any]], maker: str, component: str) -> dict[str, Any] | None:
    """What a maker wants beside the image, by the catalog; None where nothing is known of that."""
    part = next((row["part"] for row in rows if (row["maker"], row["component"]) == (maker, component)), None)
    return None if part is None else dict(json.loads(part))


class Stream:
    """The bytes of a request, read from the file a block at a time; it can be begun anew, and knows its length."""

    def __init__(self, image: str, parts: Sequence[tuple[str, Mapping[str, Any]]] | None) -> None:
        self._image = image
        self.content_type = "application/octet-stream"
        self._head = self._tail = b""
        if parts is not None:
            self.content_type = f"multipart/form-data; boundary={_BOUNDARY}"
            self._head = b"".join(_json_part(name, value) for name, value in parts) + _file_head(image)
            self._tail = f"\r\n--{_BOUNDARY}--\r\n".encode()
        self._size = os.path.getsize(image)

    def __len__(self) -> int:
        return len(self._head) + self._size + len(self._tail)

    def __iter__(self) -> Iterator[bytes]:
        if self._head:
            yield self._head
        with open(self._image, "rb") as handle:
            while block := handle.read(_BLOCK):
                yield block
        if self._tail:
            yield self._tail


def _json_part(name: str, value: Mapping[str, Any]) -> bytes:
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\nContent-Type: application/json\r\n\r\n'
    return head.encode() + json.dumps(value).encode() + b"\r\n"


def _file_head(image: str) -> bytes:
    name = "".join(one if one.isalnum() or one in "._-" else "_" for one in os.path.basename(image))
    return (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="UpdateFile"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode("ascii", "replace")
