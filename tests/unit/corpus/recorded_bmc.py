# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded BMCs, read as a client reads one."""

from __future__ import annotations

import json

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import answers
from ansible_collections.fleetops.instinct.tests.unit.corpus.corpus import members


def getter(name):
    """A get over a recorded tree; HPE's own links differ from its paths in case and in a last slash."""
    pages = {}
    for path, content in members(f"redfish/{name}.tar.gz").items():
        if "/redfish/v1" in path and path.endswith("/index.json"):
            pages["/redfish/v1" + path.partition("/redfish/v1")[2][: -len("/index.json")].lower()] = content

    def get(path):
        page = pages.get(path.partition("?")[0].rstrip("/").lower())
        if page is None:
            raise answers.BmcError("not_there", "BMC", f"GET {path}")
        return json.loads(page)

    return get
