# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator sees: tables for the terminal, one page for the browser, one document for machines.

Pure: everything comes in as plain data (docs/contracts.md) and goes out as text. An audit is made into one value first
(``report.model.model``), and each of its forms is made from that.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.audit import audit_report
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.forms import FORMS, render
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.page import as_json, html
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.plan import plan_report
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.rollout import rollout_report
    from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.timeline import story

__all__ = ["FORMS", "as_json", "audit_report", "html", "plan_report", "render", "rollout_report", "story"]

_FILES = {
    "FORMS": "forms",
    "as_json": "page",
    "audit_report": "audit",
    "html": "page",
    "plan_report": "plan",
    "render": "forms",
    "rollout_report": "rollout",
    "story": "timeline",
}


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: no run needs the forms of an audit and those of a rollout.
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
