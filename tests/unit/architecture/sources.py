# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the collection, by layer, and what their syntax trees say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "plugins"

# The only files of module_utils and plugin_utils that may touch the machine or Ansible, and what each may touch.
SEAMS = {
    "module_utils/_host.py": {"subprocess", "os.environ", "time.sleep"},
    "module_utils/_module.py": {"ansible"},
    "plugin_utils/recovery.py": {"subprocess"},
    "plugin_utils/action.py": {"ansible", "os.environ"},
    # The alert gates of a policy are asked on the controller: core's own HTTPS client, and the operator's command.
    "plugin_utils/alerts.py": {"ansible", "subprocess"},
    "plugin_utils/documents.py": {"ansible"},
    "plugin_utils/redfish/task.py": {"time.sleep"},
}
WATCHED = {"ansible", "subprocess", "os.environ", "os.getenv", "os.putenv", "os.system", "os.popen", "time.sleep"}


def python_files(*folders: str) -> list[Path]:
    """Python files below folders of plugins/."""
    return sorted(path for folder in folders for path in (PLUGINS / folder).rglob("*.py"))


def yaml_files(*patterns: str) -> list[Path]:
    """YAML files of the repository that match glob patterns."""
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def name_of(path: Path) -> str:
    """Path relative to the repository, as a test's name."""
    return str(path.relative_to(ROOT))


def imports(source: str) -> Iterator[str]:
    """Dotted names that a source imports, "a.b" for `from a import b`, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def touches(source: str) -> set[str]:
    """What of WATCHED a source imports or uses."""
    used = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return {
        watched for watched in WATCHED for name in {*imports(source), *used} if f"{name}.".startswith(f"{watched}.")
    }


def allowed(path: Path) -> set[str]:
    """What a file may touch."""
    return SEAMS.get(str(path.relative_to(PLUGINS)), set())
