# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The linters, each one check; they look at the copy, so that what git ignores is not looked at."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tally import Tally

ROOT = Path(__file__).resolve().parents[2]
TYPED = ("plugins/module_utils", "plugins/plugin_utils")


def run(tally: Tally, bin_folder: Path, here: Path, environment: Mapping[str, str]) -> None:
    """Run every linter over the copy, also after one has failed."""
    collections = str(here.parents[2])
    ansible = {
        **environment,
        "ANSIBLE_COLLECTIONS_PATH": collections,
        "ANSIBLE_HOME": str(ROOT / ".cache" / "ansible"),
        "ANSIBLE_INVENTORY": str(here / "tests" / "tools" / "lint_inventory.yml"),
        "NO_COLOR": "1",
    }
    tally.run("ruff", [bin_folder / "ruff", "check", "."], here, environment)
    tally.run("yamllint", [bin_folder / "yamllint", "--strict", "."], here, environment)
    tally.run("ansible-lint", [bin_folder / "ansible-lint", "--offline"], here, ansible)
    tally.run("mypy", mypy(bin_folder, here), here, {**environment, "MYPYPATH": collections})
    packages = regular_packages(here)
    imports = {**environment, "PYTHONPATH": str(packages)}
    command = [bin_folder / "lint-imports", "--no-logo", "--no-cache", here / ".importlinter"]
    tally.run("import-linter", command, packages, imports)
    tally.run("shellcheck", ["shellcheck", *sorted(here.glob("**/*.sh")), ".ci/run"], here, environment)
    docs = [bin_folder / "python", here / "tests" / "tools" / "make_docs.py", "--check"]
    tally.run("docs", docs, here, {**ansible, "PYTHONPATH": collections})
    tally.run("antsibull-changelog", [bin_folder / "antsibull-changelog", "lint"], here, ansible)


def mypy(bin_folder: Path, here: Path) -> list[str | Path]:
    """Command for mypy over the typed folders, by module name: the tree has no __init__.py files."""
    base = "ansible_collections.fleetops.instinct"
    names = [f"{base}.{folder.replace('/', '.')}" for folder in TYPED if (here / folder).is_dir()]
    return [
        bin_folder / "mypy",
        "--config-file",
        here / "pyproject.toml",
        *(word for name in names for word in ("-p", name)),
    ]


def regular_packages(here: Path) -> Path:
    """A copy of plugins/ with __init__.py files: the import graph wants regular packages, in a namespace package."""
    root = ROOT / ".cache" / "packages"
    shutil.rmtree(root, ignore_errors=True)
    plugins = root / "ansible_collections" / "fleetops" / "instinct" / "plugins"
    shutil.copytree(here / "plugins", plugins, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [plugins, *(path for path in plugins.rglob("*") if path.is_dir())]:
        (folder / "__init__.py").touch()
    return root
