# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forms of an audit's result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.fleetops.instinct.plugins.module_utils._imports import Later
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.audit import audit_report
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.audit_page import audit_html
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.markdown import markdown
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import WIDTH

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import junit
else:
    junit = Later("ansible_collections.fleetops.instinct.plugins.plugin_utils.report.junit")  # few ask for it

# What each form is called on disk: audit.EXTENSION.
FORMS = {"table": "txt", "json": "json", "junit": "xml", "markdown": "md", "html": "html"}


def render(model: Mapping[str, Any], form: str, colour: bool = False, width: int = WIDTH) -> str:
    """The result of an audit in one form.

    :param model: what ``report.model.model`` gave. :param form: one of FORMS.
    :param colour: colours in the table, for a terminal only. :param width: columns of the table.
    :raises ValueError: for a form that there is not.
    """
    if form == "table":
        return audit_report(model["records"], model["summary"], colour, width, model["distributions"])
    if form not in _RENDERERS:
        raise ValueError(f"{form}: not a form of the report; there are {', '.join(FORMS)}")
    return _RENDERERS[form](model)


def _as_json(model: Mapping[str, Any]) -> str:
    # In ASCII, because a name with half of a surrogate pair could not be written otherwise.
    return json.dumps(model, separators=(",", ":"))


def _as_junit(model: Mapping[str, Any]) -> str:
    return junit.junit(model)


_RENDERERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "json": _as_json,
    "junit": _as_junit,
    "markdown": markdown,
    "html": audit_html,
}
