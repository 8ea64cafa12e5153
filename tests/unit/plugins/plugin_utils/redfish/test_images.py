# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image is the one that was meant, or nothing is sent."""

from __future__ import annotations

import hashlib

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import BmcError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.images import prove


def wish(path, **other):
    """What is read of a row."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"image": str(path), "sha256": digest, "signature": [], **other}


@pytest.fixture(name="image")
def _image(tmp_path):
    path = tmp_path / "image.bin"
    path.write_bytes(b"firmware" * 300_000)
    return path


def test_the_size_of_a_proven_image_is_told(image):
    assert prove(wish(image), "g01") == 2_400_000


def test_an_image_that_only_the_bmc_fetches_is_not_looked_at():
    assert prove({"image": None, "sha256": None, "signature": []}, "g01") is None


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"sha256": "0" * 64}, "wrong_image"),
        ({"image": "/nowhere/x"}, "no_image"),
        ({"signature": ["false"]}, "bad_signature"),
        ({"signature": ["/no/such/program", "{image}"]}, "bad_signature"),
        ({"signature": ["sh", "-c", "test $(wc -c < $0) = 1", "{image}"]}, "bad_signature"),
    ],
)
def test_another_image_is_refused(image, other, code):
    with pytest.raises(BmcError) as caught:
        prove({**wish(image), **other}, "g01")
    assert caught.value.code == code


def test_a_signature_that_holds_lets_the_image_through(image):
    assert prove(wish(image, signature=["test", "-s", "{image}"]), "g01")
