# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A package repository in AMD's form: small real .debs in signed apt repositories, built once and cached."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from simfleet.debs import Deb, driver_debs, rocm_debs
from simfleet.image import HERE, cache_dir, digest, locked, run
from simfleet.packages import RELEASES

RECIPE = "1"
SUITE = "jammy"


def write_deb(deb: Deb, room: Path, pool: Path) -> None:
    """Build one .deb into `pool`."""
    tree = room / f"{deb.name}_{deb.version}"
    for path, content in deb.files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content.encode() if isinstance(content, str) else content)
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(deb.control(), encoding="ascii")
    for name, text in deb.scripts.items():
        (tree / "DEBIAN" / name).write_text(text, encoding="ascii")
        os.chmod(tree / "DEBIAN" / name, 0o755)
    pool.mkdir(parents=True, exist_ok=True)
    version = deb.version.partition(":")[2] or deb.version
    run(
        [
            "dpkg-deb",
            "-Zgzip",
            "-z1",
            "--root-owner-group",
            "--build",
            str(tree),
            str(pool / f"{deb.name}_{version}_{deb.arch}.deb"),
        ]
    )
    shutil.rmtree(tree)


def _gpg(home: Path, *words: str) -> None:
    run(
        ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", *words]
    )


def publish(archive: Path, description: str, home: Path) -> None:
    """Write Packages, Release and InRelease of an archive whose pool is filled."""
    index = archive / f"dists/{SUITE}/main/binary-amd64"
    index.mkdir(parents=True)
    listed = subprocess.run(
        ["apt-ftparchive", "packages", "pool"], cwd=archive, capture_output=True, text=True, check=True
    )
    (index / "Packages").write_text(listed.stdout, encoding="utf-8")
    run(["gzip", "-k", "-n", str(index / "Packages")])
    facts = {
        "Origin": "repo.radeon.com", "Label": "repo.radeon.com", "Suite": SUITE, "Codename": SUITE,
        "Architectures": "amd64", "Components": "main", "Description": description,
    }  # fmt: skip
    options = [word for key, value in facts.items() for word in ("-o", f"APT::FTPArchive::Release::{key}={value}")]
    release = run(["apt-ftparchive", *options, "release", str(archive / f"dists/{SUITE}")]).stdout
    place = archive / f"dists/{SUITE}"
    (place / "Release").write_text(release, encoding="utf-8")
    _gpg(home, "--clearsign", "-o", str(place / "InRelease"), str(place / "Release"))
    _gpg(home, "--detach-sign", "--armor", "-o", str(place / "Release.gpg"), str(place / "Release"))


def _build(target: Path) -> None:
    home, room, www = target / "gnupg", target / "room", target / "www"
    home.mkdir(mode=0o700, parents=True)
    _gpg(
        home,
        "--quick-generate-key",
        "ROCm Package Signing (simulated) <rocm@mirror.example>",
        "rsa2048",
        "sign",
        "never",
    )
    for release in RELEASES:
        for archive, debs, text in (
            (www / f"rocm/apt/{release.rocm}", rocm_debs(release), "ROCm Ubuntu jammy repository"),
            (www / f"amdgpu/{release.driver}/ubuntu", driver_debs(release), "AMDGPU Ubuntu jammy repository"),
        ):
            for deb in debs:
                write_deb(deb, room, archive / "pool/main" / deb.name[0] / deb.name)
            publish(archive, text, home)
    _gpg(home, "--armor", "--export", "-o", str(www / "rocm/rocm.gpg.key"))
    _gpg(home, "--export", "-o", str(target / "rocm.gpg"))
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
    shutil.rmtree(room, ignore_errors=True)
    for path in [home, *home.rglob("*")]:
        if path.is_socket():
            path.unlink()


def ensure_repo() -> Path:
    """The cached repository: `www/` to serve, `rocm.gpg` the key for keyrings."""
    sources = [
        path.read_bytes()
        for path in (HERE / "repo.py", HERE / "debs.py", HERE / "packages.py", *sorted((HERE / "node/src").iterdir()))
    ]
    target = cache_dir() / f"repo-{digest(RECIPE, *sources)}"
    with locked("repo"):
        if target.is_dir():
            return target
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        _build(partial)
        os.rename(partial, target)
    return target
