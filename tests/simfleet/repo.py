# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A package repository in AMD's form: small real .debs in signed apt repositories, built once and cached."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from simfleet.image import HERE, cache_dir, digest, locked, run
from simfleet.packages import RELEASES, Release

RECIPE = "1"
SUITE = "jammy"
MAINTAINER = "Advanced Micro Devices (AMD) <gpudriverdevsupport@amd.com>"


@dataclass
class Deb:
    """One binary package: control fields, files by path, maintainer scripts by name."""

    name: str
    version: str
    text: str
    depends: list[str] = field(default_factory=list)
    arch: str = "amd64"
    files: dict[str, str | bytes] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)

    def control(self) -> str:
        """The text of DEBIAN/control."""
        rows = {"Package": self.name, "Version": self.version, "Architecture": self.arch, "Maintainer": MAINTAINER}
        rows |= {"Section": "devel", "Priority": "optional"}
        if self.depends:
            rows["Depends"] = ", ".join(self.depends)
        rows |= {**self.fields, "Description": self.text}
        return "".join(f"{key}: {value}\n" for key, value in rows.items())


_CORE_POSTINST = """#!/bin/sh
set -e
if [ "$1" = configure ]; then
    update-alternatives --quiet --install /opt/rocm rocm /opt/rocm-{rocm} {priority}
    echo /opt/rocm/lib > /etc/ld.so.conf.d/10-rocm-opencl.conf
fi
"""
_CORE_PRERM = """#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = upgrade ]; then
    update-alternatives --quiet --remove rocm /opt/rocm-{rocm}
    rm -f /etc/ld.so.conf.d/10-rocm-opencl.conf
fi
"""
_DKMS_POSTINST = """#!/bin/sh
# Add, build and install the module for the running kernel (and every other one that has headers).
set -e
[ "$1" = configure ] || exit 0
name=amdgpu version={dkms}
echo "Loading new $name-$version DKMS files..."
if ! dkms status -m $name -v $version | grep -q .; then
    dkms add -m $name -v $version >/dev/null
fi
for headers in /lib/modules/*/build; do
    [ -e "$headers" ] || continue
    kernel=${{headers%/build}} kernel=${{kernel##*/}}
    echo "Building for $kernel"
    echo "Building for architecture $(uname -m)"
    echo "Building initial module for $kernel"
    dkms build -m $name -v $version -k $kernel || exit 10
    dkms install -m $name -v $version -k $kernel --force || exit 11
done
update-initramfs -u -k all
"""
_DKMS_PRERM = """#!/bin/sh
# The module of this version goes with the package; the next boot must not find it in the initramfs either.
set -e
case "$1" in
    remove|upgrade|deconfigure)
        dkms status -m amdgpu -v {dkms} | grep -q . && dkms remove -m amdgpu -v {dkms} --all || true ;;
esac
"""
_DKMS_POSTRM = """#!/bin/sh
set -e
if [ "$1" = remove ]; then
    update-initramfs -u -k all
fi
"""
_DKMS_CONF = """PACKAGE_NAME="amdgpu"
PACKAGE_VERSION="{dkms}"
AUTOINSTALL="yes"
MAKE[0]="make KERNELRELEASE=$kernelver -C $kernel_source_dir M=$dkms_tree/$PACKAGE_NAME/$PACKAGE_VERSION/build modules"
CLEAN="true"
BUILT_MODULE_NAME[0]="amdgpu"
BUILT_MODULE_LOCATION[0]="."
DEST_MODULE_LOCATION[0]="/kernel/drivers/gpu/drm/amd/amdgpu"
BUILT_MODULE_NAME[1]="amdttm"
BUILT_MODULE_LOCATION[1]="."
DEST_MODULE_LOCATION[1]="/kernel/drivers/gpu/drm/ttm"
BUILT_MODULE_NAME[2]="amdkcl"
BUILT_MODULE_LOCATION[2]="."
DEST_MODULE_LOCATION[2]="/kernel/drivers/gpu/drm/amd/amdkcl"
"""
_KBUILD = """obj-m := amdgpu.o amdttm.o amdkcl.o
ccflags-y := -DDRIVER_VERSION_TEXT='"{module}"' -DAMDGPU_RELEASE_{define}
"""


def rocm_debs(release: Release) -> list[Deb]:
    """ROCm's user space of one release: a core package, components, and meta packages with exact versions."""
    prefix = f"opt/rocm-{release.rocm}"
    numbers = {"rocm": release.rocm, "priority": str(int(release.code))}
    core = Deb(
        "rocm-core", release.rocm_version, "Radeon Open Compute (ROCm) Runtime software stack",
        files={
            f"{prefix}/.info/version": f"{release.rocm}-{release.rocm_build}\n",
            f"{prefix}/lib/librocm-core.so.1": f"rocm-core {release.rocm}\n",
            f"{prefix}/include/rocm-core/rocm_version.h": f'#define ROCM_BUILD_INFO "{release.rocm}.0-{release.rocm_build}"\n',
        },
        scripts={"postinst": _CORE_POSTINST.format(**numbers), "prerm": _CORE_PRERM.format(**numbers)},
    )  # fmt: skip
    parts = []
    for name, own in release.components:
        files: dict[str, str | bytes] = {f"{prefix}/share/doc/{name}/version": f"{own}\n"}
        parts.append(Deb(name, own + release.component_suffix, f"ROCm component {name}", [f"rocm-core (= {release.rocm_version})"], files=files))
    exact = [f"{part.name} (= {part.version})" for part in parts]
    runtime = Deb("rocm-hip-runtime", release.rocm_version, core.text, [f"rocm-core (= {release.rocm_version})", *exact])
    meta_depends = [f"{name} (= {release.rocm_version})" for name in ("rocm-core", "rocm-hip-runtime")]
    meta = Deb("rocm", release.rocm_version, "Radeon Open Compute (ROCm) software stack meta package", meta_depends)
    return [core, *parts, runtime, meta]


def driver_debs(release: Release) -> list[Deb]:
    """The kernel driver of one release: module source for dkms, and the firmware files."""
    numbers = {"dkms": release.dkms_version, "module": release.module, "define": release.module.replace(".", "_")}
    source = HERE / "node" / "src"
    base = f"usr/src/amdgpu-{release.dkms_version}"
    helper = (source / "helper.c").read_text(encoding="ascii")
    files: dict[str, str | bytes] = {
        f"{base}/dkms.conf": _DKMS_CONF.format(**numbers), f"{base}/Makefile": _KBUILD.format(**numbers),
        f"{base}/amdgpu.c": (source / "amdgpu.c").read_text(encoding="ascii"), f"{base}/amdttm.c": helper, f"{base}/amdkcl.c": helper,
    }  # fmt: skip
    scripts = {"postinst": _DKMS_POSTINST, "prerm": _DKMS_PRERM}
    scripts = {name: text.format(**numbers) for name, text in scripts.items()} | {"postrm": _DKMS_POSTRM}
    firmware = {f"lib/firmware/updates/amdgpu/{name}.bin": f"{name} {release.firmware_version}\n"
                for name in ("gc_9_4_3_mec", "gc_9_4_3_rlc", "sdma_4_4_2", "psp_13_0_6_ta", "psp_13_0_6_sos", "aldebaran_mec", "vcn_4_0_3")}  # fmt: skip
    return [
        Deb("amdgpu-dkms", release.driver_version, "amdgpu driver in DKMS format.", ["dkms (>= 1.95)", "amdgpu-dkms-firmware (= " + release.firmware_version + ")"],
            arch="all", files=files, scripts=scripts, fields={"Section": "misc"}),
        Deb("amdgpu-dkms-firmware", release.firmware_version, "firmware blobs used by amdgpu driver in DKMS format",
            arch="all", files=dict(firmware), fields={"Section": "misc"}),
    ]  # fmt: skip


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
    run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", str(tree), str(pool / f"{deb.name}_{version}_{deb.arch}.deb")])
    shutil.rmtree(tree)


def _gpg(home: Path, *words: str) -> None:
    run(["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", *words])


def publish(archive: Path, description: str, home: Path) -> None:
    """Write Packages, Release and InRelease of an archive whose pool is filled."""
    index = archive / f"dists/{SUITE}/main/binary-amd64"
    index.mkdir(parents=True)
    listed = subprocess.run(["apt-ftparchive", "packages", "pool"], cwd=archive, capture_output=True, text=True, check=True)
    (index / "Packages").write_text(listed.stdout, encoding="utf-8")
    run(["gzip", "-k", "-n", str(index / "Packages")])
    facts = {"Origin": "repo.radeon.com", "Label": "repo.radeon.com", "Suite": SUITE, "Codename": SUITE, "Architectures": "amd64",
             "Components": "main", "Description": description}  # fmt: skip
    options = [word for key, value in facts.items() for word in ("-o", f"APT::FTPArchive::Release::{key}={value}")]
    release = run(["apt-ftparchive", *options, "release", str(archive / f"dists/{SUITE}")]).stdout
    place = archive / f"dists/{SUITE}"
    (place / "Release").write_text(release, encoding="utf-8")
    _gpg(home, "--clearsign", "-o", str(place / "InRelease"), str(place / "Release"))
    _gpg(home, "--detach-sign", "--armor", "-o", str(place / "Release.gpg"), str(place / "Release"))


def _build(target: Path) -> None:
    home, room, www = target / "gnupg", target / "room", target / "www"
    home.mkdir(mode=0o700, parents=True)
    _gpg(home, "--quick-generate-key", "ROCm Package Signing (simulated) <rocm@mirror.example>", "rsa2048", "sign", "never")
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
    sources = [path.read_bytes() for path in (HERE / "repo.py", HERE / "packages.py", *sorted((HERE / "node/src").iterdir()))]
    target = cache_dir() / f"repo-{digest(RECIPE, *sources)}"
    with locked("repo"):
        if target.is_dir():
            return target
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        _build(partial)
        os.rename(partial, target)
    return target
