# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection where Ansible wants it: a real copy of the checkout, and the built collection installed from it."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / ".cache" / "tree"
COPY = TREE / "ansible_collections" / "fleetops" / "instinct"
INSTALLED = ROOT / ".cache" / "collections"


def copy_checkout() -> Path:
    """Bring the copy up to date with what git tracks or would track, and return its path.

    A copy, not a link: ansible-test refuses links. It carries a .git of its own, because ansible-test asks the nearest
    repository which files count, and for the one around it everything in the cache is ignored.
    """
    names = _listed(ROOT)
    COPY.mkdir(parents=True, exist_ok=True)
    if not (COPY / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(COPY)], check=True)
    for stale in _present() - names:
        (COPY / stale).unlink()
    for name in names:
        _copy(ROOT / name, COPY / name)
    _drop_empty_folders()
    return COPY


def install(bin_folder: Path) -> Path:
    """Build the collection from the copy and install it, as a user would get it; returns the collections path."""
    galaxy = [str(bin_folder / "ansible-galaxy"), "collection"]
    built = ROOT / ".cache" / "build"
    shutil.rmtree(built, ignore_errors=True)
    subprocess.run([*galaxy, "build", "--output-path", str(built)], cwd=COPY, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(INSTALLED, ignore_errors=True)
    archive = next(built.glob("*.tar.gz"))
    command = [*galaxy, "install", "--offline", "--force", "--no-deps", "-p", str(INSTALLED), str(archive)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(INSTALLED)}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return INSTALLED


def _listed(root: Path) -> set[str]:
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in names if name and (root / name).is_file()}


def _present() -> set[str]:
    found = (path for path in COPY.rglob("*") if path.is_file() or path.is_symlink())
    return {str(path.relative_to(COPY)) for path in found if ".git" not in path.relative_to(COPY).parts}


def _copy(source: Path, target: Path) -> None:
    if (
        target.exists()
        and filecmp.cmp(source, target, shallow=False)
        and source.stat().st_mode == target.stat().st_mode
    ):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _drop_empty_folders() -> None:
    for folder in sorted((path for path in COPY.rglob("*") if path.is_dir()), reverse=True):
        if ".git" not in folder.relative_to(COPY).parts and not any(folder.iterdir()):
            folder.rmdir()
