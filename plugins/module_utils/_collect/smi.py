# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What amd-smi, or where it gives nothing rocm-smi, says about each GPU: a second source beside the kernel's files.

Slow: each command starts a Python program that asks every GPU. Only what it prints is read, never a file.
"""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _smi, _smi_tools
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.pci import gpu_addresses
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.smi_command import Tool, locate
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

SUBSET = "smi"

_STATIC = ("static", "--asic", "--bus", "--vbios", "--board", "--driver", "--ras")
_CARDS = ("--showid", "--showbus", "--showfwinfo", "--showvbios", "--showdriverversion", "--loglevel", "error")
_IDENTITY = ("product_name", "serial", "device_id")
_NOTHING: dict = {
    "product_name": None,
    "serial": None,
    "unique_id": None,
    "device_id": None,
    "vbios": None,
    "ifwi": None,
    "speed_gts": None,
    "width": None,
    "max_speed_gts": None,
    "max_width": None,
    "ecc": {"ue": None, "ce": None, "de": None},
    "bad_pages": None,
    "bad_page_threshold_exceeded": None,
    "firmware": None,
}


class Said(NamedTuple):
    """The tool, with its version where it tells one, and what it says by the BDF of the GPU."""

    tool: str
    gpus: dict[str, dict]


def collect(host: Host, problems: list[dict]) -> dict:
    """The ``smi`` part of each of the ``gpus``, None where the tools do not know the GPU."""
    addresses = gpu_addresses(host)
    said = _ask(host, Reading(host, problems, SUBSET), addresses) if addresses else Said("", {})
    rows = [(bdf, Reading(host, problems, SUBSET, bdf)) for bdf in addresses]
    return {"gpus": [{"bdf": bdf, "smi": _gpu(reading, bdf, said)} for bdf, reading in rows]}


def _ask(host: Host, reading: Reading, addresses: list[str]) -> Said:
    said = Said("amd-smi", {})
    for name, say in (("amd-smi", _amd_smi), ("rocm-smi", _rocm_smi)):
        path = locate(host, name)
        if path is None:
            reading.problem(name, "not there: looked for in /opt/rocm, /opt/rocm-*, /opt/rocm/core-* and /usr")
            continue
        tool = Tool(host, reading, path)
        said = say(tool, addresses)
        # What hangs one tool hangs the other.
        if said.gpus or tool.timed_out:
            break
        reading.problem(name, "named no GPU of those on the bus, which does not mean that there is none")
    return said


def _amd_smi(tool: Tool, addresses: list[str]) -> Said:
    version = tool.ask(_version, ("version",))
    static = _by_number(tool.ask(_rows, _STATIC, ("static",)))
    listed = {number: _section(row, "bus").get("bdf") for number, row in static.items()}
    if not any(_smi.bdf_of(bdf) for bdf in listed.values()):
        listed = {number: row.get("bdf") for number, row in _by_number(tool.ask(_rows, ("list",))).items()}
    numbers = _owners(listed, addresses)
    if not numbers:
        return Said(tool.name, {})
    firmware = _by_number(tool.ask(_rows, ("firmware",)))
    metric = _by_number(tool.ask(_rows, ("metric", "--pcie", "--ecc"), ("metric",)))
    pages = _by_number(tool.ask(_rows, ("bad-pages",)))
    gpus = {
        bdf: {
            **_smi_tools.static(static.get(number, {})),
            **_smi_tools.metric(metric.get(number, {})),
            "bad_pages": _smi_tools.bad_pages(pages.get(number, {})),
            "firmware": _smi_tools.firmware(firmware.get(number, {})) or None,
        }
        for bdf, number in numbers.items()
    }
    return Said(" ".join([tool.name, *version]), gpus)


def _rocm_smi(tool: Tool, addresses: list[str]) -> Said:
    cards = _by_number(tool.ask(_smi.card_rows, _CARDS))
    numbers = _owners({number: card.get("pci_bus") for number, card in cards.items()}, addresses)
    return Said(tool.name, {bdf: _smi_tools.card(cards[number]) for bdf, number in numbers.items()})


def _version(decoded: _smi.Decoded, text: str) -> list[str]:
    version = _smi_tools.version(decoded.documents, text)
    return [version] if version else []


def _rows(decoded: _smi.Decoded, text: str) -> list[dict]:
    return _smi.gpu_rows(decoded.documents) or _smi.text_rows(text)


def _by_number(rows: list[dict]) -> dict[str, dict]:
    """Rows by the tool's own number of the GPU, which holds only within one tool and one boot."""
    return {str(row["gpu"]): row for row in reversed(rows)}


def _section(row: dict, name: str) -> dict:
    section = row.get(name)
    return section if isinstance(section, dict) else {}


def _owners(listed: dict[str, object], addresses: list[str]) -> dict[str, str]:
    """The tool's number of each GPU on the bus.

    A partition of a GPU may be listed by a function of its own (0000:01:00.1), which is no GPU and may even be another
    device: it belongs to the GPU at function 0, and only the first row of a GPU counts.
    """
    places = {number: bdf for number, bdf in ((number, _smi.bdf_of(bdf)) for number, bdf in listed.items()) if bdf}
    of_partitions = {number: f"{bdf[:-1]}0" for number, bdf in places.items() if bdf not in addresses}
    numbers: dict[str, str] = {}
    for known in (places, of_partitions):
        for number in sorted(known, key=_in_order):
            if known[number] in addresses:
                numbers.setdefault(known[number], number)
    return numbers


def _in_order(number: str) -> tuple[int, str]:
    return len(number), number


def _gpu(reading: Reading, bdf: str, said: Said) -> dict | None:
    if bdf not in said.gpus:
        if said.gpus:
            reading.problem("", f"on the bus and not known to {said.tool}, which knows {len(said.gpus)} GPUs")
        return None
    facts = {"tool": said.tool, **_NOTHING, "ecc": dict(_NOTHING["ecc"]), **said.gpus[bdf]}
    if all(facts[key] is None for key in _IDENTITY):
        # Zeros without a name on them are what a tool prints for a GPU that it could not read.
        reading.problem("", f"{said.tool} does not say what the GPU is, so its counters are not believed")
        facts.update(ecc=dict(_NOTHING["ecc"]), bad_pages=None)
    untold = [key for key, value in facts.items() if value is None]
    untold += [f"ecc.{kind}" for kind, value in facts["ecc"].items() if value is None]
    if untold:
        reading.problem("smi", f"not told by {said.tool}: {', '.join(untold)}")
    return facts
