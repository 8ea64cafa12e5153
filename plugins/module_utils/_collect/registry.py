# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subsets of facts, in the order they are gathered, and the one pass that gathers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils import _imports
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import OnePass
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

if TYPE_CHECKING:
    # Ansible ships to a node what is imported anywhere in the text. Loaded there is only what is asked for: a node has
    # no compiled files, and compiling all of it would cost as much as reading. What belongs to the slow subsets is
    # named in the module that has them.
    from ansible_collections.fleetops.instinct.plugins.module_utils._collect import (  # noqa: F401
        activity,
        driver,
        firmware,
        gpu,
        link,
        log,
        node,
        platform,
        ras,
        rocm,
        settings,
    )

SCHEMA = 1
# Gathered by name only: they start other programs, or read much.
SLOW = frozenset({"lspci", "smi", "initramfs", "previous_log"})
# In the order of gathering; each is the name of the file that collects it, but for the last: one file reads both logs.
COLLECTORS = (
    "node", "platform", "gpu", "link", "firmware", "driver", "rocm", "settings", "ras", "activity", "log",
    "lspci", "smi", "initramfs", "previous_log",
)  # fmt: skip
# Subsets that add to the rows of the GPUs; the others fill the key of their own name, but for one.
_OF_GPUS = frozenset({"gpu", "link", "firmware", "ras", "lspci", "smi"})
_KEYS = {"activity": "holders"}
_HERE = __name__.rsplit(".", 1)[0]


def select(wanted: list[str]) -> list[str]:
    """Names of subsets in the order they are gathered: ``all`` is all but the slow ones, ``!name`` leaves one out.

    :raises FleetError: for a name that there is no subset of.
    """
    unknown = sorted(name for name in wanted if name.lstrip("!") not in (*COLLECTORS, "all"))
    if unknown:
        known = ", ".join(COLLECTORS)
        raise FleetError("gather_subset", f"{', '.join(unknown)}", f"all, or any of {known}, or one of them after a !")
    left_out = {name[1:] for name in wanted if name.startswith("!")}
    # What the initramfs holds is told in the facts of the driver.
    left_out |= {"initramfs"} if "driver" in left_out else set()
    taken = {name for name in wanted if not name.startswith("!")} or {"all"}
    taken |= {"driver"} if "initramfs" in taken else set()
    taken |= {name for name in COLLECTORS if "all" in taken and name not in SLOW}
    return [name for name in COLLECTORS if name in taken and name not in left_out]


def default_only(wanted: list[str]) -> list[str]:
    """As :func:`select`.

    :raises FleetError: for a slow subset as well.
    """
    found = select(wanted)
    slow = sorted(SLOW.intersection(found))
    if slow:
        raise FleetError("gather_subset", ", ".join(slow), "what all stands for", "gather it with node_facts")
    return found


def gather(host: Host, subsets: list[str]) -> dict:
    """The facts of docs/contracts.md, section 1, for the subsets; every file is read once."""
    once = OnePass(host)
    problems: list[dict] = []
    facts: dict = {"schema": SCHEMA}
    for subset in subsets:
        _merge(facts, _collected(subset, once, problems))
    if "gpus" in facts and "smi" in subsets:
        facts["gpus"], found = _imports.load(f"{_HERE}.reconcile").reconcile(facts["gpus"])
        problems += found
    facts["problems"] = _without_repeats(problems)
    return facts


def _collected(subset: str, host: Host, problems: list[dict]) -> dict:
    try:
        return _collector(subset)(host, problems)
    except FleetError as error:
        problems.append({"subset": subset, "subject": error.subject, "reason": error.seen})
        return {"gpus" if subset in _OF_GPUS else _KEYS.get(subset, subset): None}


def _collector(subset: str) -> Callable[[Host, list[dict]], dict]:
    if subset == "previous_log":
        return _imports.load(f"{_HERE}.log").collect_previous
    return _imports.load(f"{_HERE}.{subset}").collect


def _merge(facts: dict, fragment: dict) -> None:
    """Add a fragment; rows about the same GPU become one."""
    for key, value in fragment.items():
        if key == "gpus" and value is not None and facts.get("gpus") is not None:
            for known, added in zip(facts["gpus"], value):
                _fill(known, added)
        elif isinstance(value, dict) and isinstance(facts.get(key), dict):
            _fill(facts[key], value)
        # What the initramfs holds means nothing beside a driver that could not be read.
        elif key == "gpus" or key not in facts or (facts[key] is None and key != "driver"):
            facts[key] = value


def _fill(known: dict, added: dict) -> None:
    """Add what is new; what an earlier subset has read stays, and what it left null is filled, down to each hop."""
    for key, value in added.items():
        mine = known.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            _fill(mine, value)
        elif key == "link" and isinstance(mine, list) and isinstance(value, list):
            for hop, more in zip(mine, value):
                _fill(hop, more)
        elif mine is None:
            known[key] = value


def _without_repeats(problems: list[dict]) -> list[dict]:
    return list({tuple(sorted(row.items())): row for row in problems}.values())
