# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a bare Debian or Ubuntu machine able to run the checks: distribution packages, then .venv with nox.

Runs on the distribution's own python3, standard library only. The list below is the one place that names packages.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "requirements-dev" / "nox.txt"
STAMP = VENV / "requirements.sha256"

# What proves that a package is there (a program on PATH, a file, or this Python module), and the package.
NEEDED = {
    "git": "git",
    "ssh": "openssh-client",
    "shellcheck": "shellcheck",
    "ensurepip": "python3-venv",
}
# What the simulated fleet needs on top; it wants root anyway.
NEEDED_AS_ROOT = {
    "/usr/sbin/sshd": "openssh-server",
    "mmdebstrap": "mmdebstrap",
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
    "unshare": "util-linux",
    "gpg": "gnupg",
    "openssl": "openssl",
    "dpkg-deb": "dpkg",
    "apt-ftparchive": "apt-utils",
}
# What some tests use, and are skipped without: a distribution may not have it (Ubuntu has no package of Chromium).
WANTED_AS_ROOT = {"chromium": "chromium"}


def present(proof: str) -> bool:
    """True where the program, file or module that proves a package is there."""
    if proof == "ensurepip":
        probe = [sys.executable, "-c", "import ensurepip, venv"]
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    return os.path.exists(proof) if proof.startswith("/") else shutil.which(proof) is not None


def missing_packages() -> list[str]:
    """Distribution packages whose proof is not there."""
    needed = {**NEEDED, **(NEEDED_AS_ROOT if os.geteuid() == 0 else {})}
    return sorted(package for proof, package in needed.items() if not present(proof))


def install_packages(packages: list[str]) -> None:
    """Install from the distribution as root; anyone else is told what to ask for."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"bootstrap: missing packages; as root: apt-get install {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-q", "-y", "--no-install-recommends"]
    subprocess.run([*apt, "update"], env=environment, check=True, stdin=subprocess.DEVNULL)
    subprocess.run([*apt, "install", *packages], env=environment, check=True, stdin=subprocess.DEVNULL)


def install_wanted() -> None:
    """Try what some tests use; where that fails, those tests say why they are skipped."""
    packages = [package for proof, package in WANTED_AS_ROOT.items() if not present(proof)]
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        try:
            install_packages(packages)
        except subprocess.CalledProcessError:
            print(f"bootstrap: not to be had here: {' '.join(packages)}", flush=True)


def make_venv() -> None:
    """.venv with nox, made again only when its requirements change."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", str(REQUIREMENTS)], check=True)
    STAMP.write_text(wanted)


def main() -> None:
    """Packages first: the venv module is one of them."""
    missing = missing_packages()
    if missing:
        install_packages(missing)
        if still := missing_packages():
            sys.exit(f"bootstrap: still missing after the installation: {' '.join(still)}")
    install_wanted()
    make_venv()


if __name__ == "__main__":
    main()
