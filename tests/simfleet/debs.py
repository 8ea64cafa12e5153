# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The packages in the repository: what is in each of them and what their maintainer scripts do. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from simfleet.packages import Release

SOURCE = Path(__file__).parent / "node" / "src"
MAINTAINER = "Advanced Micro Devices (AMD) <gpudriverdevsupport@amd.com>"
_STACK = "Radeon Open Compute (ROCm)"


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


def _core(release: Release) -> Deb:
    prefix = f"opt/rocm-{release.rocm}"
    build = f'#define ROCM_BUILD_INFO "{release.rocm}.0-{release.rocm_build}"\n'
    files: dict[str, str | bytes] = {
        f"{prefix}/.info/version": f"{release.rocm}-{release.rocm_build}\n",
        f"{prefix}/lib/librocm-core.so.1": f"rocm-core {release.rocm}\n",
        f"{prefix}/include/rocm-core/rocm_version.h": build,
    }
    numbers = {"rocm": release.rocm, "priority": str(int(release.code))}
    scripts = {"postinst": _CORE_POSTINST.format(**numbers), "prerm": _CORE_PRERM.format(**numbers)}
    return Deb("rocm-core", release.rocm_version, f"{_STACK} Runtime software stack", files=files, scripts=scripts)


def _component(release: Release, name: str, own: str) -> Deb:
    files: dict[str, str | bytes] = {f"opt/rocm-{release.rocm}/share/doc/{name}/version": f"{own}\n"}
    depends = [f"rocm-core (= {release.rocm_version})"]
    return Deb(name, own + release.component_suffix, f"{_STACK} {name}", depends, files=files)


def rocm_debs(release: Release) -> list[Deb]:
    """ROCm's user space of one release: a core package, components, and meta packages with exact versions."""
    parts = [_core(release), *(_component(release, name, own) for name, own in release.components)]
    exact = [f"{part.name} (= {part.version})" for part in parts]
    runtime = Deb("rocm-hip-runtime", release.rocm_version, f"{_STACK} Runtime software stack", exact)
    below = [f"{name} (= {release.rocm_version})" for name in ("rocm-core", "rocm-hip-runtime")]
    meta = Deb("rocm", release.rocm_version, f"{_STACK} software stack meta package", below)
    return [*parts, runtime, meta]


_FIRMWARE = (
    "gc_9_4_3_mec",
    "gc_9_4_3_rlc",
    "sdma_4_4_2",
    "psp_13_0_6_ta",
    "psp_13_0_6_sos",
    "aldebaran_mec",
    "vcn_4_0_3",
)


def _module(release: Release) -> Deb:
    base = f"usr/src/amdgpu-{release.dkms_version}"
    numbers = {"dkms": release.dkms_version, "module": release.module, "define": release.module.replace(".", "_")}
    helper = (SOURCE / "helper.c").read_text(encoding="ascii")
    files: dict[str, str | bytes] = {
        f"{base}/dkms.conf": _DKMS_CONF.format(**numbers),
        f"{base}/Makefile": _KBUILD.format(**numbers),
        f"{base}/amdgpu.c": (SOURCE / "amdgpu.c").read_text(encoding="ascii"),
        f"{base}/amdttm.c": helper,
        f"{base}/amdkcl.c": helper,
    }
    scripts = {"postinst": _DKMS_POSTINST.format(**numbers), "prerm": _DKMS_PRERM.format(**numbers)}
    scripts["postrm"] = _DKMS_POSTRM
    depends = ["dkms (>= 1.95)", f"amdgpu-dkms-firmware (= {release.firmware_version})"]
    text = "amdgpu driver in DKMS format."
    return Deb("amdgpu-dkms", release.driver_version, text, depends, "all", files, scripts, {"Section": "misc"})


def driver_debs(release: Release) -> list[Deb]:
    """The kernel driver of one release: module source for dkms, and the firmware files."""
    version = release.firmware_version
    files: dict[str, str | bytes] = {
        f"lib/firmware/updates/amdgpu/{name}.bin": f"{name} {version}\n" for name in _FIRMWARE
    }
    text = "firmware blobs used by amdgpu driver in DKMS format"
    firmware = Deb("amdgpu-dkms-firmware", version, text, arch="all", files=files, fields={"Section": "misc"})
    return [_module(release), firmware]
