# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python interpreters of this machine and the virtual environments that the sessions share."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENVS = ROOT / ".cache" / "venvs"
REQUIREMENTS = ROOT / "requirements-dev"
PYENV = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))

# The controllers that are supported, each with the Pythons it may run on, best first.
CORES = {
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.13", "3.12", "3.14"),
}
NODE_PYTHON = "3.9"


def find_python(version: str) -> str | None:
    """Path of an interpreter "3.x" that works and can make environments, or None."""
    on_path = [found for folder in search_path() if (found := shutil.which(f"python{version}", path=folder))]
    installed = sorted(glob.glob(f"{PYENV}/versions/{version}.*/bin/python{version}"))
    return next((path for path in (*on_path, *installed) if _works(path, version)), None)


def search_path() -> list[str]:
    """Folders of PATH without pyenv's shims, which have a name for Pythons that they then refuse to start."""
    return [folder for folder in os.get_exec_path() if folder != f"{PYENV}/shims"]


def python_folders() -> list[str]:
    """Folders of every interpreter that a controller or a node may run on, as far as this machine has them."""
    found = (find_python(f"3.{minor}") for minor in range(8, 15))
    return [os.path.dirname(path) for path in found if path]


def _works(path: str, version: str) -> bool:
    probe = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", probe], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def python_for(core: str) -> str | None:
    """Interpreter for an ansible-core release, or None where this machine has none."""
    return next((path for version in CORES[core] if (path := find_python(version))), None)


def newest_core() -> str:
    """The newest supported ansible-core that this machine can run."""
    usable = [core for core in CORES if python_for(core)]
    if not usable:
        raise SystemExit(f"no Python for any supported ansible-core on PATH or in ~/.pyenv/versions: {CORES}")
    return usable[-1]


def venv(name: str, python: str, files: tuple[str, ...] = (), packages: tuple[str, ...] = ()) -> Path:
    """Folder of programs of an environment, made again only when what it holds changes.

    :param files: names in requirements-dev/.
    :param packages: requirements as pip takes them.
    """
    folder = VENVS / name
    requirements = [REQUIREMENTS / file for file in files]
    content = b"".join(path.read_bytes() for path in requirements) + repr((python, packages)).encode()
    wanted, stamp = hashlib.sha256(content).hexdigest(), folder / "content.sha256"
    if not (stamp.exists() and stamp.read_text() == wanted):
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
        options = [option for path in requirements for option in ("--requirement", str(path))]
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, *options, *packages], check=True)
        stamp.write_text(wanted)
    return folder / "bin"


def core_venv(core: str) -> Path | None:
    """Programs of the environment with ansible-core and the test runners, or None without a Python for it."""
    python = python_for(core)
    return venv(f"core-{core}", python, ("tests.txt",), (f"ansible-core=={core}.*",)) if python else None
