# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of an audit: its result in the forms that were asked for, each written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import records
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import render
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model

SPEC: dict[str, Any] = {
    "type": "dict",
    "options": {"html": {"type": "path"}, "junit": {"type": "path"}, "markdown": {"type": "path"}},
}


def places(fleet_dir: str, forms: Mapping[str, Any] | None) -> dict[str, str]:
    """Where each form goes: JSON and the page always, below the fleet directory; the others where a path is given."""
    wanted = {form: path for form, path in (forms or {}).items() if path}
    usual = {"json": os.path.join(fleet_dir, "audit.json"), "html": os.path.join(fleet_dir, "audit.html")}
    return {form: os.path.abspath(path) for form, path in {**usual, **wanted}.items()}


def check(where: Mapping[str, str]) -> None:
    """See that each file can be written, before any node is asked.

    :raises RecordError: naming the one that cannot.
    """
    for path in where.values():
        if os.path.isdir(path):
            raise records.RecordError(path, "is a folder", "the path of a file", "add a name of the file to it")
        records.check_store(os.path.dirname(path))


def write(result: Mapping[str, Any], where: Mapping[str, str]) -> None:
    """Write a result (report.model) in each form.

    :raises RecordError: naming the file that cannot be written.
    """
    for form, path in where.items():
        records.write_text(path, render(result, form), durable=False)


def write_end(ended: Mapping[str, Any], where: Mapping[str, str]) -> None:
    """Write the result of an audit that looked at no node: what an earlier one wrote must not stand for it."""
    summary = {**records.summarise({}, ()), "code": ended["code"], "codes": ended["codes"], "why": ended["line"]}
    write(model({}, summary), where)
