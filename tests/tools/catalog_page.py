# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page docs/reference/catalog.md: what the catalog holds, how far it reaches, and where each row is from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog, load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._coverage import pairs, releases_of, systems
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._forms import FORMS

_SYSTEMS = {
    "ubuntu": "Ubuntu",
    "rhel": "RHEL",
    "sles": "SLES",
    "ol": "Oracle Linux",
    "debian": "Debian",
    "centos": "CentOS",
    "rocky": "Rocky Linux",
    "azurelinux": "Azure Linux",
}


def catalog_page() -> str:
    """The whole page."""
    catalog = load_catalog()
    parts = [
        "# Catalog",
        "Made by `make docs`; the source is `plugins/plugin_utils/catalog/*.yml`. [The catalog](../catalog.md) tells "
        "what the words mean and how a site lays its own rows over it.",
        _products(catalog),
        _releases(catalog),
        _windows(catalog),
        _coverage(catalog),
        _firmware(catalog),
        _known_bad(catalog),
        _hops(catalog),
        _settings(catalog),
        _gaps(catalog),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; null is an empty cell, a list is its parts with commas between."""
    lines = [[_cell(cell) for cell in row] for row in [list(head), *rows]]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def spans(chosen: Iterable[str], order: list[str]) -> str:
    """Releases in short: those that follow each other in their order are one span."""
    places = sorted(order.index(one) for one in chosen)
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(order[run[0]] if len(run) == 1 else f"{order[run[0]]} to {order[run[-1]]}" for run in runs)


def _products(catalog: Catalog) -> str:
    head = [
        "product",
        "PCI ids",
        "GPUs in a node",
        "link",
        "first ROCm",
        "first driver",
        "acceptance asks",
        "not verified",
    ]
    rows = [
        [
            name,
            [number for number, _kind, _status in row["ids"]],
            row["gpus_per_node"],
            "in the socket"
            if row["host_link"] == "internal"
            else f"{row['link']['speed_gts']} GT/s x{row['link']['width']}",
            row["min_rocm"],
            row["min_driver"],
            row["accept_rocm"],
            row["unverified"],
        ]
        for name, row in catalog.products.items()
    ]
    others = f"Announced, without a PCI id: {', '.join(catalog.announced)}. Too old: {', '.join(catalog.retired)}."
    return "\n\n".join(["## Products", table(head, rows), others])


def _releases(catalog: Catalog) -> str:
    rocm = [
        [row["rocm"], row["date"], row["kind"], row["packaging"], row["driver"], row["amdsmi"]]
        for row in catalog.releases.values()
    ]
    modules = [
        [row["series"], row["module"], row["status"], row["source"]] for row in catalog.rows("rocm_releases", "modules")
    ]
    return "\n\n".join(
        [
            "## Releases",
            table(["ROCm", "date", "stream", "packaging", "came with driver", "amd-smi"], rocm),
            "The number of the module (`/sys/module/amdgpu/version`) is a third one:",
            table(["driver", "module", "status", "source"], modules),
        ]
    )


def _windows(catalog: Catalog) -> str:
    order = [row["driver"] for row in catalog.drivers.values() if row["kind"] == "production"]
    order.sort(key=lambda text: [int(part) for part in text.split(".")])
    said: dict[tuple[str, str], list[str]] = {}
    for pair in pairs(catalog, ["MI210"]):
        said.setdefault((pair.rocm, pair.said), []).append(pair.driver)
    rows = [
        [rocm, spans(said.get((rocm, "listed"), []), order), spans(said.get((rocm, "gap"), []), order)]
        for rocm in releases_of(catalog, "MI210")
    ]
    note = "Products that a driver does not know yet have fewer; see their first driver above."
    return "\n\n".join(
        ["## Drivers below a ROCm release", note, table(["ROCm", "AMD lists or allows drivers", "nothing tells"], rows)]
    )


def _coverage(catalog: Catalog) -> str:
    parts = ["## Systems", "For each product the releases with which AMD lists a system; all others are not listed."]
    kernels = [
        [
            f"{_SYSTEMS[row['system']]} {', '.join(row['versions'])}",
            row["rocm"],
            [f"{one}*" for one in row["kernels"]],
            row["status"],
        ]
        for row in catalog.rows("systems", "kernels")
    ]
    alike: dict[str, list[str]] = {}
    for product in catalog.products:
        alike.setdefault(_systems_of(catalog, product), []).append(product)
    parts += [part for text, names in alike.items() for part in (f"### {', '.join(names)}", text)]
    parts += ["### Kernels", table(["system", "ROCm", "kernels", "status"], kernels)]
    return "\n\n".join(parts)


def _systems_of(catalog: Catalog, product: str) -> str:
    order = releases_of(catalog, product)
    said: dict[tuple[str, str], dict[str, list[str]]] = {}
    for cell in systems(catalog, [product]):
        said.setdefault((cell.system, cell.version), {}).setdefault(cell.said, []).append(cell.rocm)
    rows = [
        [f"{_SYSTEMS[system]} {version}", spans(found.get("listed", []), order), spans(found.get("gap", []), order)]
        for (system, version), found in sorted(said.items(), key=_by_version)
        if found.get("listed") or found.get("gap")
    ]
    if not any(row[1] for row in rows):
        return f"Nothing was found for ROCm {order[0]} to {order[-1]}; see the gaps below."
    return table(["system", "listed with ROCm", "not read"], rows)


def _by_version(item: tuple[tuple[str, str], Any]) -> tuple[int, list[int]]:
    system, version = item[0]
    return list(_SYSTEMS).index(system), [-int(part) for part in version.split(".")]


def _firmware(catalog: Catalog) -> str:
    head = ["product", "ROCm", "what", "this or newer", "or exactly", "status", "source"]
    rows = [
        [row["product"], row["rocm"], row["component"], row["least"], row["exact"], row["status"], row["source"]]
        for row in catalog.rows("firmware", "pairs")
    ]
    hosts = [[row["rocm"], row["version"], row["source"]] for row in catalog.rows("firmware", "host_drivers")]
    return "\n\n".join(
        [
            "## Board firmware",
            table(head, rows),
            "Driver of a host that gives virtual functions to guests (GIM):",
            table(["ROCm", "GIM", "source"], hosts),
        ]
    )


def _known_bad(catalog: Catalog) -> str:
    parts = ["## Known to fail"]
    for row in catalog.rows("known_bad", "known_bad"):
        when = "; ".join(f"{key} {' or '.join(wanted)}" for key, wanted in row["when"].items())
        parts.append(_row(row, {"when": when, "severity": row["severity"], "why": row["why"], "fix": row["fix"]}))
    return "\n\n".join(parts)


def _hops(catalog: Catalog) -> str:
    parts = ["## Ways that need more than an upgrade"]
    for row in catalog.rows("rocm_releases", "hops"):
        way = f"{' or '.join(row['from'])} to {' or '.join(row['to'])}"
        steps = "; ".join(row["steps"]) or "none"
        parts.append(
            _row(row, {"from": way, "move": row["move"], "steps": steps, "why": row["why"], "fix": row["fix"]})
        )
    return "\n\n".join(parts)


def _row(row: Mapping[str, Any], facts: Mapping[str, str]) -> str:
    said = {**facts, "status": row["status"], "source": row["source"]}
    return "\n\n".join([f"### `{row['id']}`", "\n".join(f"- {key}: {value}" for key, value in said.items())])


def _settings(catalog: Catalog) -> str:
    parts = ["## Settings"]
    titles = {"bios": "BIOS", "kernel": "Kernel command line", "os": "Operating system"}
    for section, title in titles.items():
        rows = [
            [
                row["key"],
                row["products"] or "all",
                row["cpu_vendor"] or "any",
                row.get("value") or row.get("need"),
                row["severity"],
                row.get("reads"),
                row["why"],
                row["status"],
                row["source"],
            ]
            for row in catalog.rows("settings", section)
        ]
        head = ["setting", "products", "processor", "AMD says", "severity", "shows in", "why", "status", "source"]
        parts += [f"### {title}", table(head, rows)]
    return "\n\n".join(parts)


def _gaps(catalog: Catalog) -> str:
    rows = [
        [name, row["id"], row["rocm"], row.get("products") or row.get("driver") or "all", row["why"], row["source"]]
        for name in FORMS
        if "gaps" in FORMS[name]
        for row in catalog.rows(name, "gaps")
    ]
    head = ["file", "row", "ROCm", "products or drivers", "why", "source"]
    return "\n\n".join(["## Gaps", "What the catalog knows that it does not know.", table(head, rows)])
