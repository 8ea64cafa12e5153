# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that gather facts have in common: their options, and what they return."""

from __future__ import annotations

import json
from typing import Any, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import gather
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._module import Result, run_module

_SPEC = {
    "gather_subset": {"type": "list", "elements": "str", "default": ["all"]},
    "as_text": {"type": "bool", "default": False},
}


def run_facts_module(host: Host, choose: Callable[[list[str]], list[str]]) -> None:
    """Gather and return the facts of a host.

    :param choose: the subsets to gather, of those that are wanted; FleetError where they cannot be.
    """

    def facts_of(module: Any) -> dict[str, Any]:
        return {"changed": False, "ansible_facts": {"instinct": gather(host, choose(module.params["gather_subset"]))}}

    run_module(_SPEC, facts_of, shape=_as_text, supports_check_mode=True)


def _as_text(module: Any, told: Result) -> Result:
    """The facts as one text where the option ``as_text`` says so: Ansible looks at each value of a result, often."""
    if not module.params["as_text"]:
        return told
    return {"changed": False, "facts": json.dumps(told["ansible_facts"]["instinct"], separators=(",", ":"))}
