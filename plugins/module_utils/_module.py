# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turns the errors of the collection into Ansible's, in one place: the only file here that knows Ansible."""

from __future__ import annotations

from typing import Any, Callable, Dict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import found_in, masked_in
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError

_TAIL = 4000


Result = Dict[str, Any]


def run_module(
    spec: dict[str, Any],
    body: Callable[[AnsibleModule], Result],
    shape: Callable[[AnsibleModule, Result], Result] | None = None,
    **kwargs: Any,
) -> None:
    """Run ``body(module)`` and exit with the dict it returns; a FleetError becomes fail_json with its message.

    :param spec: the argument_spec.
    :param shape: makes of the result, when its credentials are masked, what is returned.
    :param kwargs: passed on to AnsibleModule; check mode is supported unless they say otherwise.
    """
    module = AnsibleModule(argument_spec=spec, **{"supports_check_mode": True, **kwargs})
    # Whatever a file, a program or a caller says: credentials do not get past here. Ansible adds the options by itself.
    module.no_log_values.update(found_in(module.params))
    try:
        result = body(module)
    except FleetError as error:
        module.fail_json(**masked_in(failure(error)))
    told = masked_in(result)
    module.exit_json(**(shape(module, told) if shape else told))


def failure(error: FleetError) -> dict[str, Any]:
    """What fail_json gets: ``msg``, and where the error has them ``kind`` and the tail of the program's ``output``."""
    told: dict[str, Any] = {"msg": str(error)}
    if getattr(error, "kind", None):
        told["kind"] = error.kind  # type: ignore[attr-defined]
    if getattr(error, "output", ""):
        told["output"] = error.output[-_TAIL:]  # type: ignore[attr-defined]
    return told
