# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sections of each file of the catalog, and the fields of their rows."""

from __future__ import annotations

from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._kinds import Form, form, kind_of

_STATUS = "verified|unverified"
_SCHEMES = "integer|hex_bytes|dotted|pi|ifwi|part_number"

FORMS: dict[str, dict[str, Form]] = {
    "products": {
        "products": form(
            "name",
            name="name",
            ids="[ids]",
            pci_class="text",
            generation="text",
            link="map",
            host_link="pcie|internal",
            full_speed_at_idle="bool~",
            gpus_per_node="[int]",
            functions_per_node="[int]",
            partitions="map",
            min_rocm="version?",
            min_driver="version?",
            accept_rocm="version?",
            narrow_bridges="[list]~",
            unverified="[name]",
            status=_STATUS,
        ),
        "announced": form("name", name="name", status=_STATUS),
        "retired": form("name", name="name", ids="[device]", status=_STATUS),
    },
    "rocm_releases": {
        "releases": form(
            "rocm",
            rocm="version",
            date="date?",
            kind="production|preview",
            packaging="legacy|new",
            driver="version?",
            amdsmi="version?",
            status=_STATUS,
        ),
        "drivers": form("driver", driver="version", date="date?", kind="production|preview", status=_STATUS),
        "modules": form("series", series="version", module="version", status=_STATUS),
        "by_driver": form("driver", driver="version", rocm="[version]", status=_STATUS),
        "by_rocm": form("rocm status", rocm="version", drivers="[version]", status=_STATUS),
        "apart": form("from", **{"from": "version"}, days="int", status=_STATUS),
        "gaps": form("id", id="name", rocm="[spec]", driver="[spec]", why="text", status="gap"),
        "hops": form(
            "id",
            id="name",
            **{"from": "[spec]"},
            to="[spec]",
            move="manual|blocked",
            steps="[text]",
            why="text",
            fix="text",
            status=_STATUS,
        ),
    },
    "systems": {
        "support": form(
            "id",
            id="name",
            rocm="[spec]",
            system="name",
            versions="[version]",
            products="[product]",
            **{"except": "[product]"},
            status=_STATUS,
        ),
        "kernels": form(
            "id", id="name", system="name", versions="[spec]", rocm="[spec]", kernels="[spec]", status=_STATUS
        ),
        "gaps": form("id", id="name", rocm="[spec]", products="[product]", systems="[name]", why="text", status="gap"),
    },
    "firmware": {
        "pairs": form(
            "product rocm component",
            product="product",
            rocm="[spec]",
            component="name",
            scheme=_SCHEMES,
            least="text?",
            exact="[text]",
            status=_STATUS,
        ),
        "gaps": form("id", id="name", products="[product]", rocm="[spec]", why="text", status="gap"),
        "bundles": form("product bundle", product="product", bundle="version", date="date", status=_STATUS),
        "host_drivers": form("rocm", rocm="[spec]", version="text", status=_STATUS),
    },
    "known_bad": {
        "known_bad": form("id", id="name", when="when", severity="fail|warn", why="text", fix="text", status=_STATUS),
    },
    "settings": {
        "bios": form(
            "id",
            id="name",
            key="name",
            products="[product]",
            cpu_vendor="name?",
            value="text",
            severity="fail|warn|info",
            reads="name?",
            why="text",
            status=_STATUS,
        ),
        "kernel": form(
            "id",
            id="name",
            key="text",
            products="[product]",
            cpu_vendor="name?",
            need="required|optional|not_needed",
            severity="fail|warn|info",
            why="text",
            status=_STATUS,
        ),
        "os": form(
            "id",
            id="name",
            key="name",
            products="[product]",
            cpu_vendor="name?",
            value="text",
            severity="fail|warn|info",
            reads="name?",
            why="text",
            status=_STATUS,
        ),
        "cmdline": form("match", match="text", advice="text", status=_STATUS),
        "aspm": form("token", layer="name", token="text", note="text", status=_STATUS),
        "idle": form("name", name="name", shallow="[name]", note="text", status=_STATUS),
        "space": form("path", path="text", least="int", beside="name~", comfortable="int", status=_STATUS),
        "typical_seconds": form("step", step="name", seconds="int", status=_STATUS),
    },
    "log_signatures": {
        "signatures": form(
            "id",
            id="name",
            severity="fail|warn|info",
            scope="gpu|path|host",
            until_reset="bool~",
            per_minute="int~",
            example="text",
            meaning="text",
            action="text",
        ),
    },
    "redfish": {
        "components": form(
            "id",
            id="name",
            maker="name",
            component="name",
            field="id|name|software_id|description",
            pattern="pattern",
            scheme=f"maker|{_SCHEMES}",
            status=_STATUS,
        ),
        "banks": form(
            "id",
            id="name",
            maker="name",
            bank="spare|previous|staged|absent|driver",
            field="id|name|software_id|description",
            pattern="pattern",
            status=_STATUS,
        ),
        "oem_parts": form("maker component", maker="name", component="name", part="text", status=_STATUS),
    },
    "bios_attributes": {
        "attributes": form(
            "id",
            id="name",
            key="name",
            maker="name",
            field="name|display",
            pattern="pattern",
            matches="one|all",
            status=_STATUS,
        ),
        "values": form("key maker value", key="name", maker="name", value="text", writes="[text]", status=_STATUS),
    },
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a file of the catalog."""
    sections = {section: _section_schema(shape) for section, shape in FORMS[name].items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"catalog-{name}.json",
        "title": f"plugins/plugin_utils/catalog/{name}.yml",
        "type": "object",
        "additionalProperties": False,
        "required": ["schema", "sources", *sections],
        "properties": {"schema": {"const": 1}, "sources": _SOURCES, "columns": {"type": "object"}, **sections},
    }


_SOURCES = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["words", "as_of"],
                "properties": {
                    "words": {"type": "string"},
                    "as_of": {"type": "string", "pattern": "^[0-9]{4}(-[0-9]{2}){1,2}$"},
                },
            },
        ]
    },
}


def _section_schema(shape: Form) -> dict[str, Any]:
    properties = {}
    for name, field in shape.fields.items():
        schema: dict[str, Any] = dict(kind_of(field).schema)
        schema = {"type": "array", "items": schema} if field.many else schema
        properties[name] = {"anyOf": [schema, {"type": "null"}]} if field.null else schema
    required = [name for name, field in shape.fields.items() if not field.optional]
    row = {"type": "object", "additionalProperties": False, "required": required, "properties": properties}
    return {"type": "array", "items": row}
