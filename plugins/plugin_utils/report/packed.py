# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit packed for the script of its page: every text once, every list that many nodes share once.

Texts are numbers of ``strings``, -1 for null. audit.js reads this and nothing else does, so its form may change.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import (
    CLASSES,
    VERDICTS,
    was_asked,
    worst_by_rule,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.problems import TEXTS

Record = Mapping[str, Any]
Item = TypeVar("Item", bound=Hashable)
LETTERS = {**dict(zip(VERDICTS, "FUWVP", strict=True)), "none": ".", "not asked": "-"}


class Pool(Generic[Item]):
    """Gives each different item a number, in the order in which they come."""

    def __init__(self) -> None:
        self.numbers: dict[Item, int] = {}

    def number(self, item: Item | None) -> int:
        """The number of the item; -1 for None."""
        return -1 if item is None else self.numbers.setdefault(item, len(self.numbers))

    def items(self) -> list[Item]:
        """The items by number."""
        return list(self.numbers)


class _Packer:
    def __init__(self, rules: Iterable[str]) -> None:
        self.rules = {rule: number for number, rule in enumerate(rules)}
        self.strings: Pool[str] = Pool()
        self.texts: Pool[tuple[int, ...]] = Pool()
        self.found: Pool[tuple[int, ...]] = Pool()
        self.cells: Pool[str] = Pool()
        self.versions: Pool[tuple[Any, ...]] = Pool()
        self.answers: Pool[tuple[Any, ...]] = Pool()
        self.unread: Pool[tuple[int, ...]] = Pool()

    def text(self, value: Any) -> int:
        return self.strings.number(None if value is None else str(value))

    def texts_of(self, values: Iterable[Any]) -> tuple[int, ...]:
        return tuple(self.text(value) for value in values)

    def node(self, node: str, record: Record, versions: Mapping[str, Any], unread: Iterable[str]) -> list[int]:
        """Name, rack, product, ROCm, driver; then what it has of the other lists, by number."""
        head = self.texts_of([node, *(record.get(key) for key in ("rack", "product", "rocm", "driver"))])
        kind = record["class"] if record.get("class") in CLASSES else "unknown"
        return [
            *head,
            CLASSES.index(kind),
            self.found.number(self._findings(node, record)),
            self.cells.number(self._cells(record)),
            self.versions.number(self._versions(versions)),
            self.answers.number(self._answers(record)),
            self.unread.number(self.texts_of(unread)),
        ]

    def _findings(self, node: str, record: Record) -> tuple[int, ...]:
        """Pairs of a text and a subject, which is -1 where it is the node itself."""
        pairs: list[int] = []
        for finding in record.get("findings") or ():
            rule, verdict, *texts = (finding.get(part) for part in TEXTS)
            kind = VERDICTS.index(verdict) if verdict in VERDICTS else 0
            subject = finding.get("subject")
            pairs.append(self.texts.number((self.rules[rule], kind, *self.texts_of(texts))))
            pairs.append(-1 if subject == node else self.text(subject))
        return tuple(pairs)

    def _cells(self, record: Record) -> str:
        """A letter for each rule."""
        said = worst_by_rule(record)
        silent = "none" if was_asked(record) else "not asked"
        return "".join(LETTERS.get(said.get(rule, silent), "F") for rule in self.rules)

    def _versions(self, versions: Mapping[str, Any]) -> tuple[Any, ...]:
        blocks = [
            number
            for block, rows in versions["firmware"].items()
            for row in rows
            for number in (self.text(block), self.text(row["value"]), row["gpus"])
        ]
        return (*self.texts_of(versions[key] for key in ("os", "kernel", "bios")), *blocks)

    def _answers(self, record: Record) -> tuple[Any, ...]:
        verdict, target, rollback = (record.get(key) or {} for key in ("verdict", "target", "rollback"))
        return (
            *self.texts_of(verdict.get(key) for key in ("compliance", "transition", "health")),
            *self.texts_of(target.get(key) for key in ("rocm", "driver")),
            record.get("gpu_count"),
            record.get("expected_gpu_count"),
            self.text(record.get("gathered_at")),
            self.texts_of(record.get("steps") or ()),
            self.texts_of(record.get("before") or ()),
            rollback.get("ready"),
            self.texts_of(rollback.get("why") or ()),
        )


def pack(model: Mapping[str, Any]) -> dict[str, Any]:
    """The result of an audit as small as it gets."""
    records = model["records"]
    rules = [row["rule"] for row in model["rules"]]
    packer = _Packer(rules)
    versions, unread = model["versions"], model["unread"]
    nodes = [packer.node(node, record, versions[node], unread.get(node, ())) for node, record in records.items()]
    return {
        "classes": CLASSES,
        "verdicts": VERDICTS,
        "rules": [[row["rule"], row["area"], row["deciding"]] for row in model["rules"]],
        "nodes": nodes,
        "texts": packer.texts.items(),
        "found": packer.found.items(),
        "cells": packer.cells.items(),
        "versions": packer.versions.items(),
        "answers": packer.answers.items(),
        "unread": packer.unread.items(),
        "strings": packer.strings.items(),
    }


def in_script(value: Any) -> str:
    """A value as JSON that may stand in a script element: nothing in it ends the element or opens a comment."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
