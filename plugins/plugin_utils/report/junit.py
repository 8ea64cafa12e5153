# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit as JUnit XML, for a CI system: a test suite for each node, a test case for each rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import was_asked, worst_by_rule
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.problems import subjects_together
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import finding_text

Element = ElementTree.Element
Record = Mapping[str, Any]
# What XML cannot hold, and control characters, which no reader of a report wants to get.
_BAD = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {"fail": "failure", "unknown": "error", "waived": "skipped", "none": "skipped"}
_SILENT = "nothing to look at, or nothing odd"
_NOT_ASKED = "not asked: nothing is known about the node"
PROPERTIES = ("class", "product", "rack", "rocm", "driver", "facts_digest")


def junit(model: Mapping[str, Any]) -> str:
    """The document. A fail is a failure, an unknown an error, a waived finding is skipped, and so is a rule that said
    nothing about the node; a warning passes and is told in system-out.

    A node with several findings of a rule has one case, of the worst verdict, with all of them in its text.
    """
    rules = {row["rule"]: (row["area"], row["deciding"]) for row in model["rules"]}
    suites, total = [], Counter[str]()
    # A suite becomes text at once: thousands of nodes would be a large tree.
    for node, record in model["records"].items():
        suite, counts = _suite(node, record, rules)
        suites.append(ElementTree.tostring(suite, encoding="unicode"))
        total += counts
    head = ElementTree.Element("testsuites", {"name": _text(_title(model)), **_numbers(total)})
    opened = ElementTree.tostring(head, encoding="unicode", short_empty_elements=False).removesuffix("</testsuites>")
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', opened, *suites, "</testsuites>\n"])


def _title(model: Mapping[str, Any]) -> str:
    code = model["summary"].get("code")
    return " ".join(part for part in ("audit", model["target_name"], f"({code})" if code else "") if part)


def _suite(node: str, record: Record, rules: Mapping[str, tuple[str, bool]]) -> tuple[Element, Counter[str]]:
    cases = list(_cases(node, record, rules))
    counts = Counter(case[0].tag for case in cases if len(case))
    counts["tests"] = len(cases)
    suite = ElementTree.Element("testsuite", {"name": _text(node), "hostname": _text(node), **_numbers(counts)})
    if record.get("gathered_at"):
        suite.set("timestamp", _text(record["gathered_at"])[:19])
    properties = ElementTree.SubElement(suite, "properties")
    for key in PROPERTIES:
        value = record.get(key)
        told = {"name": key, "value": "unknown" if value is None else _text(value)}
        ElementTree.SubElement(properties, "property", told)
    suite.extend(cases)
    return suite, counts


def _numbers(counts: Mapping[str, int]) -> dict[str, str]:
    parts = (("tests", "tests"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    return {**{name: str(counts.get(tag, 0)) for name, tag in parts}, "time": "0"}


def _cases(node: str, record: Record, rules: Mapping[str, tuple[str, bool]]) -> Iterator[Element]:
    verdicts, found = worst_by_rule(record), _by_rule(record)
    asked = was_asked(record)
    for rule, (area, deciding) in rules.items():
        verdict = verdicts.get(rule, "none")
        case = ElementTree.Element("testcase", {"classname": _text(node), "name": _text(rule), "time": "0"})
        if verdict == "none":
            ElementTree.SubElement(case, "skipped", {"message": _SILENT if asked else _NOT_ASKED})
        elif verdict in _TAGS:
            kind = f"{area}, {'deciding' if deciding else 'advisory'}"
            case.append(_outcome(verdict, kind, found[rule]))
        elif verdict == "warn":
            ElementTree.SubElement(case, "system-out").text = _told(found[rule])
        yield case


def _by_rule(record: Record) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for finding in record.get("findings") or ():
        found.setdefault(finding["rule"], []).append(finding)
    return found


def _outcome(verdict: str, kind: str, findings: Sequence[Mapping[str, Any]]) -> Element:
    first = next(finding for finding in findings if finding["verdict"] == verdict)
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    told = {"message": _text(f"{first.get('subject')}: {finding_text(first)}{more}")}
    # The schema knows a type for failures and errors only.
    outcome = Element(_TAGS[verdict], told if verdict == "waived" else {**told, "type": f"{verdict} ({kind})"})
    outcome.text = _told(findings)
    return outcome


def _told(findings: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for finding, subjects in subjects_together(findings):
        lines.append(f"{finding['verdict']}: {', '.join(subjects)}")
        lines += [f"  {part}: {finding.get(part)}" for part in ("expected", "observed", "why", "fix", "source")]
    return _text("\n".join(lines))


def _text(value: Any) -> str:
    """Text that XML can hold; what it cannot is shown as a program would write it (``\\x1b``)."""
    return _BAD.sub(lambda found: ascii(found[0])[1:-1], str(value))
