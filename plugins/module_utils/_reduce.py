# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of a recorded machine only what concerns its GPUs: the rest is nobody's business, and large."""

from __future__ import annotations

import re
from typing import Any, Callable

from ansible_collections.fleetops.instinct.plugins.module_utils._signatures import recognise

_COMPUTING = re.compile(r"/sys/(?:class|devices/virtual)/kfd/kfd/proc/([0-9]+)(?:/|$)")
_PROCESS = re.compile(r"/proc/([0-9]+)(?:/|$)")
_LOG_LINE = re.compile(
    r"amdgpu|amdkfd|\bkfd\b|\bdrm\b|pci|AER|DPC|EDR|Hardware Error|AMD-Vi|mce:|\bBAR\b", re.IGNORECASE
)
_FIELDS = re.compile(r"^(?:Package|Status|Version|Architecture): .*$", re.MULTILINE)
_PACKAGES = re.compile(r"^/var/lib/(?:dpkg/status$|apt/lists/)")

Wanted = Callable[[str, str], bool]


def reduced(machine: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    """The machine, in the form of _recording.py, without processes that hold no GPU, packages that
    ``wanted(name, version)`` does not take, and lines of the kernel log about other hardware.
    """
    files, links = machine["files"], machine["links"]
    holders = {path.split("/")[2] for path, target in links.items() if path.startswith("/proc/") and _is_gpu(target)}
    holders |= {match[1] for match in map(_COMPUTING.match, [*files, *links, *machine.get("folders", [])]) if match}
    kept = [path for path in files if _concerns(path, holders)]
    return {
        **machine,
        "files": {path: _trimmed(path, files[path], wanted) for path in kept},
        "links": {path: target for path, target in links.items() if _concerns(path, holders, target)},
        "folders": [path for path in machine.get("folders", []) if _concerns(path, holders)],
        "commands": {key: _trimmed_answer(key, answer, wanted) for key, answer in machine["commands"].items()},
    }


def _is_gpu(target: str) -> bool:
    return target == "/dev/kfd" or target.startswith("/dev/dri/")


def _concerns(path: str, holders: set[str], target: str | None = None) -> bool:
    process = _PROCESS.match(path)
    if process is None or path.endswith("/ns/pid"):
        return True
    return process[1] in holders and (target is None or "/fd/" not in path or _is_gpu(target))


def _trimmed(path: str, content: Any, wanted: Wanted) -> Any:
    if not isinstance(content, str):
        return content
    if _PACKAGES.search(path):
        stanzas = ["\n".join(_FIELDS.findall(stanza)) for stanza in content.split("\n\n")]
        return (
            "\n\n".join(stanza for stanza in stanzas if wanted(_field(stanza, "Package"), _field(stanza, "Version")))
            + "\n"
        )
    return _log(content) if path == "/dev/kmsg" else content


def _trimmed_answer(key: str, answer: Any, wanted: Wanted) -> Any:
    if not isinstance(answer, list):
        return answer
    rc, out, err = answer
    if key.startswith("rpm "):
        return [rc, "".join(row for row in out.splitlines(keepends=True) if _is_wanted_row(row, wanted)), err]
    return [rc, _journal(out), err] if key.startswith("journalctl ") else answer


def _is_wanted_row(row: str, wanted: Wanted) -> bool:
    name, _tab, rest = row.partition("\t")
    return wanted(name, rest.split("\t")[0])


def _log(content: str) -> str:
    # The head of each record stays: a gap in their numbers would look like records that were lost.
    return "".join(_quiet(line) for line in content.splitlines(keepends=True) if not line.startswith(" "))


def _quiet(line: str) -> str:
    head, _semicolon, text = line.partition(";")
    return line if _LOG_LINE.search(text) or recognise(text).id else f"{head};\n"


def _journal(content: str) -> str:
    lines = content.splitlines(keepends=True)
    return "".join(line for line in lines if _LOG_LINE.search(line) or recognise(line).id)


def _field(stanza: str, key: str) -> str:
    match = re.search(rf"^{key}: (.*)$", stanza, re.MULTILINE)
    return match[1] if match else ""
