# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rule sees and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog, Window


class Finding(NamedTuple):
    """What a rule says about one subject, before the judge adds the rule's name, area and source.

    ``move`` is what a transition finding makes of the node's move: blocked, manual or needs_step. ``steps`` are those
    of a rollout that would mend a compliance finding; ``before`` is what has to be done by hand before any rollout may
    take the node, in words.
    """

    verdict: str
    subject: str
    expected: str = ""
    observed: str = ""
    why: str = ""
    fix: str = ""
    move: str = "blocked"
    steps: tuple[str, ...] = ()
    source: str = ""
    before: tuple[str, ...] = ()


class Rule(NamedTuple):
    """One row of the table: a deciding rule's unknown makes the whole node unknown, an advisory one's is only told.

    ``decides_by`` is the key of the policy that makes an advisory rule a deciding one.
    """

    id: str
    area: str
    deciding: bool
    source: str
    check: Callable[[Context], Iterable[Finding]]
    decides_by: str = ""


class Context(NamedTuple):
    """What rules read.

    ``product`` and ``wanted`` are None where the node has no product, or one the target does not name. ``gpus``
    are the physical GPU functions. ``moves`` is false where compliance rules found nothing to do. ``policy`` may lack
    any key; ``today`` is an ISO date, empty where the day is not known.
    """

    facts: Mapping[str, Any]
    catalog: Catalog
    node: str
    gpus: list[Mapping[str, Any]]
    product: Mapping[str, Any] | None
    wanted: Mapping[str, Any] | None
    identity: tuple[Finding, ...]
    moves: bool = True
    policy: Mapping[str, Any] = MappingProxyType({})
    today: str = ""

    def get(self, path: str) -> Any:
        """The fact at a dotted path; None where it, or anything above it, is null or not there."""
        return get(self.facts, path)

    def window(self, driver: str | None, rocm: str | None) -> Window:
        """Whether AMD supports this user space on this driver, for the product of the node."""
        return self.catalog.window(driver, rocm, self.product["name"] if self.product else None)


def get(value: Any, path: str) -> Any:
    """The value at a dotted path of maps; None where anything on the way is null or not there."""
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def rows(value: Any) -> list[Any]:
    """The list, or an empty one for null."""
    return value if isinstance(value, list) else []


def name_of(gpu: Mapping[str, Any]) -> str:
    """How a GPU is called in a finding."""
    return str(gpu.get("bdf") or "a GPU without an address")


def unread(subject: str, what: str, expected: str = "") -> Finding:
    """The finding for a value that could not be read."""
    return Finding(
        "unknown",
        subject,
        expected,
        "could not be read",
        f"{what} could not be read, and no data is never a pass",
        "see `problems` in the facts of this node for the reason; mend it and audit again",
    )


def passed(subject: str, observed: object = "") -> Finding:
    """The finding for what is as it should be."""
    return Finding("pass", subject, observed=str(observed))


def per_gpu(check: Callable[[Context, Mapping[str, Any]], Iterator[Finding]]) -> Callable[[Context], Iterator[Finding]]:
    """A rule out of a check of one GPU."""

    def rule(ctx: Context) -> Iterator[Finding]:
        for gpu in ctx.gpus:
            yield from check(ctx, gpu)

    rule.__doc__ = check.__doc__
    return rule
