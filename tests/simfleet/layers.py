# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The layer between the image and a node's own disk: what is installed when the node is first seen.

It is made once per set, by the real package manager in a machine of its own, and cached.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from simfleet import space
from simfleet.errors import SimfleetError
from simfleet.image import HERE, cache_dir, digest, kernel_of, locked
from simfleet.packages import BY_DRIVER, BY_ROCM

_INSTALL = """
set -e
export DEBIAN_FRONTEND=noninteractive
update-initramfs -c -k all
if [ -n "$PACKAGES" ]; then
    apt-get -q update
    apt-get -q -y --no-install-recommends install $PACKAGES
    apt-get clean
fi
update-grub
rm -rf /tmp/* /run/* /var/log/apt /var/log/*.log
"""


def source_lists(rocm: str | None, driver: str | None) -> dict[str, str]:
    """The apt files of a node on these releases, as AMD's install pages write them."""
    signed = "[arch=amd64 signed-by=/etc/apt/keyrings/rocm.gpg]"
    files = {}
    if rocm:
        files["etc/apt/sources.list.d/rocm.list"] = f"deb {signed} http://mirror.example/rocm/apt/{rocm} jammy main\n"
    if driver:
        files["etc/apt/sources.list.d/amdgpu.list"] = (
            f"deb {signed} http://mirror.example/amdgpu/{driver}/ubuntu jammy main\n"
        )
    if files:
        files["etc/apt/preferences.d/rocm-pin-600"] = "Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
    return files


def wanted_packages(rocm: str | None, driver: str | None) -> list[str]:
    """Names with exact versions, as apt takes them."""
    names = []
    if rocm:
        names.append(f"rocm={BY_ROCM[rocm].rocm_version}")
    if driver:
        release = BY_DRIVER[driver]
        names += [f"amdgpu-dkms={release.driver_version}", f"amdgpu-dkms-firmware={release.firmware_version}"]
    return names


class Builder:
    """Makes layers; one per process, inside the supervisor's mounts."""

    def __init__(self, room: Path, programs: Path, image: Path, packages: str, mirror: str) -> None:
        self.room, self.programs, self.image = room / "build", programs, image
        self.packages, self.mirror = packages, mirror

    def _key(self, rocm: str | None, driver: str | None) -> str:
        programs = [path.read_bytes() for path in sorted((HERE / "node/bin").glob("update-*"))]
        return digest(self.image.name, self.packages, str(rocm), str(driver), _INSTALL, *programs)

    def ensure(self, rocm: str | None, driver: str | None, say: Callable[[str], None]) -> Path:
        """The layer for this set, built if need be."""
        target = cache_dir() / f"layer-{self._key(rocm, driver)}"
        with locked(target.name):
            if target.is_dir():
                return target
            say(f"installing ROCm {rocm}, driver {driver}")
            partial = target.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            try:
                self._build(partial, rocm, driver)
                os.rename(partial / "upper", target)
            finally:
                for place in ("root/sys", "root/dev", "root/run", "root"):
                    space.unmount(self.room / place)
                shutil.rmtree(partial, ignore_errors=True)
        return target

    def _build(self, partial: Path, rocm: str | None, driver: str | None) -> None:
        root = self.room / "root"
        space.overlay(root, [self.programs, self.image], partial / "upper", partial / "work")
        (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{self.mirror} mirror.example\n", encoding="ascii")
        (root / "etc/apt/keyrings").mkdir(exist_ok=True)
        key = cache_dir() / self.packages / "rocm.gpg"
        for path, text in source_lists(rocm, driver).items():
            (root / path).write_text(text, encoding="ascii")
        shutil.copy(key, root / "etc/apt/keyrings/rocm.gpg")
        space.fresh_tmpfs(root / "run", "64m")
        space.fill_dev(space.fresh_tmpfs(root / "dev", "4m"))
        space.fresh_tmpfs(root / "sys", "4m")
        files = self._files()
        script = f"PACKAGES='{' '.join(wanted_packages(rocm, driver))}'\n{_INSTALL}"
        log = partial / "build.log"
        world = space.World(root, files, "build", ["/bin/sh", "-c", script], log)
        if world.process.wait():
            raise SimfleetError(
                f"installing ROCm {rocm} and driver {driver} failed:\n{log.read_text(errors='replace')[-3000:]}"
            )

    def _files(self) -> Path:
        files = self.room / "proc"
        kernel = kernel_of(self.image)
        space.fill_proc_sys(
            files / "sys", {"kernel/osrelease": kernel, "kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian"}
        )
        for name, text in (("cmdline", ""), ("modules", ""), ("version", f"Linux version {kernel}\n")):
            (files / name).write_text(text, encoding="ascii")
        return files
