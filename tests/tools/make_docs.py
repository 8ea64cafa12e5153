# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The generated part of the documentation: docs/reference/*.md from plugin docs and the catalog, docs/states.md, and
the schemas of the catalog's files.

    python tests/tools/make_docs.py [--check]

With --check nothing is written; a page that is not as it would be made is named, and the exit status is 1.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from rules_page import rules_page

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._forms import FORMS, json_schema
from ansible_collections.fleetops.instinct.plugins.plugin_utils.states import render_table
from ansible_collections.fleetops.instinct.tests.tools.catalog_page import catalog_page

COPY = Path(__file__).resolve().parents[2]
DOCS = Path(os.environ.get("FLEETOPS_DOCS", COPY / "docs"))
COLLECTION = "fleetops.instinct"
MARKUP = re.compile(r"\b(?:RV|[BCEFILMOPUV])\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
KINDS = {"module": "Modules and actions", "filter": "Filters", "test": "Tests", "callback": "Callbacks"}


def ansible_doc(kind: str) -> dict[str, dict]:
    """Documentation of every plugin of a kind in the collection, by name; one without any is named and left out."""
    found = {}
    for name in sorted(_json(["--list", COLLECTION], kind)):
        try:
            found.update(_json([name], kind))
        except subprocess.CalledProcessError as error:
            print(f"not documented: {kind} {name}: {error.stderr.strip()}", file=sys.stderr)
    return found


def _json(words: list[str], kind: str) -> dict:
    command = [str(Path(sys.executable).parent / "ansible-doc"), "-t", kind, "--json", *words]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def prose(text: str | list[str] | None) -> str:
    """Description as one Markdown paragraph, Ansible's markup turned to code."""
    joined = " ".join(text) if isinstance(text, list) else text or ""
    return MARKUP.sub(r"`\1`", " ".join(joined.split()))


def options_table(options: dict[str, dict], prefix: str = "") -> list[str]:
    """Rows of a table, suboptions below their option."""
    rows = []
    for name, option in sorted(options.items()):
        kind = option.get("type", "str") + (f" of {option['elements']}" if option.get("elements") else "")
        default = "required" if option.get("required") else f"`{json.dumps(option.get('default'))}`"
        choices = "".join(f" `{choice}`" for choice in option.get("choices") or [])
        text = prose(option.get("description")) + (f" One of{choices}." if choices else "")
        rows.append(f"| `{prefix}{name}` | {kind} | {default} | {text.replace('|', chr(92) + '|')} |")
        rows += options_table(option.get("options") or {}, f"{prefix}{name}.")
    return rows


def section(title: str, short: str, description: str, options: dict[str, dict], examples: str = "") -> str:
    """One plugin or role."""
    parts = [f"## {title}", prose(short).rstrip(".") + ".", description]
    if options:
        parts.append("\n".join(["| option | type | default | |", "|---|---|---|---|", *options_table(options)]))
    if examples.strip():
        parts.append(f"```yaml\n{examples.strip()}\n```")
    return "\n\n".join(part for part in parts if part)


def plugin_page(kind: str) -> str:
    """Every plugin of a kind; nothing where there is none."""
    documented = ansible_doc(kind)
    if not documented:
        return ""
    parts = [f"# {KINDS[kind]}", "Made by `make docs`; the source is the documentation in each plugin."]
    for name, row in sorted(documented.items()):
        doc = row["doc"]
        parts.append(
            section(
                name,
                doc["short_description"],
                prose(doc.get("description")),
                doc.get("options") or {},
                row.get("examples") or "",
            )
        )
    return "\n\n".join(parts) + "\n"


def role_page() -> str:
    """Every role's entry points."""
    parts = ["# Roles", "Made by `make docs`; the source is each role's `meta/argument_specs.yml`."]
    for name, row in sorted(ansible_doc("role").items()):
        for entry, spec in sorted(row["entry_points"].items()):
            title = name if entry == "main" else f"{name}, entry point {entry}"
            parts.append(
                section(
                    title, spec.get("short_description", ""), prose(spec.get("description")), spec.get("options") or {}
                )
            )
    return "\n\n".join(parts) + "\n"


def signature_page() -> str:
    """Every signature of the kernel log, in the order of the catalog."""
    parts = [
        "# Log signatures",
        "Made by `make docs`; the source is `plugins/plugin_utils/catalog/log_signatures.yml`.",
        "Lines of the kernel log that `node_facts` counts (subset `log`) and the audit judges. The example is one "
        "spelling of several. **fail** makes the node unhealthy, **warn** is told, **info** is counted only.",
    ]
    for name, row in load_catalog().signatures.items():
        about = {"gpu": "the GPU", "path": "a GPU's path or the GPU", "host": "the node"}[row["scope"]]
        severity = f"**{row['severity']}**, about {about}"
        if row.get("until_reset"):
            severity += "; warn once a reset or start of the GPU went well"
        if row.get("per_minute"):
            severity += f"; fail from {row['per_minute']} a minute"
        facts = [
            f"- severity: {severity}",
            f"- means: {row['meaning']}",
            f"- do: {row['action']}",
            f"- source: {row['source']}",
        ]
        parts.append("\n\n".join([f"## `{name}`", f"```text\n{row['example']}\n```", "\n".join(facts)]))
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/; a kind of which there is no plugin has none."""
    made = {f"reference/{kind}s.md": page for kind in KINDS if (page := plugin_page(kind))}
    made["reference/log-signatures.md"] = signature_page()
    made["reference/catalog.md"] = catalog_page()
    made.update({f"schemas/catalog-{name}.json": json.dumps(json_schema(name), indent=2) + "\n" for name in FORMS})
    made["reference/rules.md"] = rules_page()
    return {**made, "reference/roles.md": role_page(), "states.md": render_table()}


def main() -> None:
    """Write the pages, or name those that are not as they would be made."""
    made = pages()
    stale = [
        name for name, text in made.items() if not (DOCS / name).exists() or (DOCS / name).read_text("utf-8") != text
    ]
    if "--check" in sys.argv:
        sys.exit(f"not up to date, run `make docs`: {', '.join(stale)}" if stale else 0)
    for name in stale:
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(made[name], encoding="utf-8")
    print(f"{len(stale)} pages written anew: {', '.join(stale) or 'none'}")


if __name__ == "__main__":
    main()
