# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image on its way to a BMC: the way that is taken, what has to be said before it, and the order itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import push
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import (
    Answer,
    BmcError,
    path_of,
    refused,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Site

_PATIENCE = 600.0  # a BMC may check the whole image before it answers


def way_of(site: Site, wish: Mapping[str, Any]) -> push.Way:
    """How an image of a row goes to the BMC.

    :raises BmcError: there is no way.
    """
    service = site.reading().board.service
    uri = push.action_info_uri(service) if wish["image_uri"] else None
    way = push.choose(service, wish, site.subject, site.client.get(uri) if uri else None)
    if way.at_once:
        site.notes.append(f"{wish['component']}: a plain push is applied at once, and the BMC or the node may restart")
    return way


def reserve(site: Site, wish: Mapping[str, Any], way: push.Way, uris: list[str]) -> None:
    """Name the targets of a plain push beforehand, where the service has them.

    :raises BmcError: somebody else has reserved it, or it was refused.
    """
    targets = push.targets_of(way, wish, uris)
    if way.kind != "http_push" or not way.push_targets or not targets:
        return
    uri = path_of(str(site.reading().board.service.get("@odata.id")))
    if site.client.get(uri).get("HttpPushUriTargetsBusy") is True:
        seen, wanted = "somebody else has reserved its push", "a free update service"
        raise BmcError("service_busy", site.subject, seen, wanted, "wait until it is done")
    answer = site.client.patch(uri, {"HttpPushUriTargets": targets})
    if not answer.good:
        raise refused(answer, site.subject, "naming the target of the push")


def send(site: Site, wish: Mapping[str, Any], way: push.Way, uris: list[str]) -> Answer:
    """Send the image, or the order to fetch it, once."""
    client, targets = site.client, push.targets_of(way, wish, uris)
    if way.kind == "simple_update":
        return client.post(way.uri, push.simple_body(way, wish, targets))
    if way.kind == "http_push":
        stream = push.Stream(wish["image"], None)
    else:
        maker, known = site.reading().board.maker, site.by.catalog["oem_parts"]
        oem = wish["oem_part"] or push.oem_part(known, maker, wish["component"])
        parts = [("UpdateParameters", push.parameters(wish, targets)), *([("OemParameters", oem)] if oem else [])]
        stream = push.Stream(wish["image"], parts)
    return client.push(way.uri, stream, stream.content_type, max(client.door.timeout, _PATIENCE))
