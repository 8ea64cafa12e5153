# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an image goes to a BMC: the way, the targets, and the file as a stream."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import push
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError

MULTIPART = {"MultipartHttpPushUri": "/redfish/v1/UpdateService/upload"}
PLAIN = {
    "HttpPushUri": "/redfish/v1/UpdateService",
    "MaxImageSizeBytes": 73400320,
    "HttpPushUriOptions": {"HttpPushUriApplyTime": {"ApplyTime": "Immediate"}},
}
TARGET = "/redfish/v1/UpdateService/Actions/SimpleUpdate"
SIMPLE = {"Actions": {"#UpdateService.SimpleUpdate": {"target": TARGET, "@Redfish.ActionInfo": "/info"}}}
INFO = {
    "Parameters": [
        {"Name": "TransferProtocol", "AllowableValues": ["HTTP", "HTTPS"]},
        {"Name": "Targets", "AllowableValues": ["BMC", "Node0.AccVBIOS"]},
    ]
}
FIRMWARE = "/redfish/v1/UpdateService/FirmwareInventory"


def wish(**other):
    """What push.py reads of a row."""
    return {"image": "a.bin", "image_uri": None, "method": "auto", "targets": None, "apply_time": None, **other}


def chosen(service, row, info=None):
    """The kind of way, or the code of the refusal."""
    try:
        return push.choose(service, row, "BMC", info).kind
    except BmcError as problem:
        return problem.code


URI = {"image": None, "image_uri": "https://images.example/x.bin"}


@pytest.mark.parametrize(
    ("service", "row", "kind"),
    [
        ({**MULTIPART, **PLAIN, **SIMPLE}, wish(), "multipart"),
        ({**PLAIN, **SIMPLE}, wish(), "http_push"),
        (SIMPLE, wish(**URI), "simple_update"),
        (SIMPLE, wish(), "no_way"),
        (MULTIPART, wish(**URI), "no_way"),
        ({**MULTIPART, **PLAIN}, wish(method="http_push"), "http_push"),
        ({}, wish(), "no_way"),
        ({"HttpPushUri": "/cgi-bin/uploadFile"}, wish(), "no_way"),
        ({"HttpPushUri": "/cgi-bin/uploadFile"}, wish(method="http_push"), "http_push"),
        ({**MULTIPART, "ServiceEnabled": False}, wish(), "service_disabled"),
        ({**MULTIPART, "MaxImageSizeBytes": None}, wish(), "multipart"),
    ],
)
def test_the_first_way_that_is_offered_is_taken_b01(service, row, kind):
    assert chosen(service, row) == kind


def test_a_push_that_is_applied_at_once_is_known_b01():
    way = push.choose(PLAIN, wish(), "BMC")
    assert (way.at_once, way.largest, way.uri) == (True, 73400320, "/redfish/v1/UpdateService")


def refused(way, row, size=10):
    """The code of what the way does not take, or None."""
    try:
        push.refuse_unfit(way, row, size, "BMC")
    except BmcError as problem:
        return problem.code
    return None


@pytest.mark.parametrize(
    ("service", "row", "size", "code"),
    [
        (PLAIN, wish(), 73400321, "image_too_large"),
        (PLAIN, wish(), 73400320, None),
        (PLAIN, wish(apply_time="OnReset"), 10, "apply_time_refused"),
        (MULTIPART, wish(apply_time="OnReset"), 10, None),
        (
            {**MULTIPART, "MultipartHttpPushUri@Redfish.OperationApplyTimeSupport": {"SupportedValues": ["Immediate"]}},
            wish(apply_time="OnReset"),
            10,
            "apply_time_refused",
        ),
        (SIMPLE, wish(image=None, image_uri="nfs://x/y"), None, "protocol_refused"),
        (SIMPLE, wish(**URI), None, None),
    ],
)
def test_what_would_not_be_taken_is_not_sent_b01_b21(service, row, size, code):
    assert refused(push.choose(service, row, "BMC", INFO), row, size) == code


def test_an_apply_time_is_sent_only_where_it_is_asked_for_b21():
    assert push.parameters(wish(), ["/x"]) == {"Targets": ["/x"]}
    assert push.parameters(wish(apply_time="OnReset"), []) == {"@Redfish.OperationApplyTime": "OnReset"}


@pytest.mark.parametrize(
    ("row", "targets"),
    [(wish(**URI), ["Node0.AccVBIOS"]), (wish(**URI, targets=[]), []), (wish(**URI, targets=["BMC"]), ["BMC"])],
)
def test_targets_are_named_as_the_bmc_allows(row, targets):
    way = push.choose(SIMPLE, row, "BMC", INFO)
    assert push.targets_of(way, row, [f"{FIRMWARE}/Node0.AccVBIOS"]) == targets
    assert push.simple_body(way, row, targets)["TransferProtocol"] == "HTTPS"


def test_a_stream_knows_its_length_and_can_be_read_twice_b21(tmp_path):
    image = tmp_path / 'im"age.bin'
    image.write_bytes(b"x" * 600_000)
    stream = push.Stream(str(image), [("UpdateParameters", {"Targets": []}), ("OemParameters", {"ImageType": "BMC"})])
    first, second = b"".join(stream), b"".join(stream)
    order = [first.index(name) for name in (b"UpdateParameters", b"OemParameters", b"UpdateFile", b"xxx")]
    assert (len(stream), first) == (len(first), second)
    assert order == sorted(order)


def test_a_plain_stream_is_the_file(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    stream = push.Stream(str(tmp_path / "a"), None)
    assert (b"".join(stream), len(stream), stream.content_type) == (b"abc", 3, "application/octet-stream")
