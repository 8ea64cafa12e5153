# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with an apt that keeps its books in a RecordedHost: enough of it to install, hold, fail and go back."""

from __future__ import annotations

import re

from ansible_collections.fleetops.instinct.plugins.module_utils._dkms import TREE
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Completed
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import dpkg_packages
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import module_of_driver_package
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

KERNEL = "6.1.0-40-amd64"
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"
MIRROR = "http://mirror.example"
LINK = f"{TREE}/kernel-{KERNEL}-x86_64"
MODULE = f"/lib/modules/{KERNEL}/updates/dkms/amdgpu.ko"
OLD = {
    "rocm": "6.4.4.60404-129~22.04",
    "rocm-core": "6.4.4.60404-129~22.04",
    "amdgpu-dkms": "1:6.12.12.60404-2202139.22.04",
    "amdgpu-dkms-firmware": "1:6.12.12.60404-2202139.22.04",
}
NEW = {
    "rocm": "7.0.2.70002-56~22.04",
    "rocm-core": "7.0.2.70002-56~22.04",
    "amdgpu-dkms": "1:6.14.14.30100200-2226257.22.04",
    "amdgpu-dkms-firmware": "30.10.2.0.30100200-2226257.22.04",
}
DEPENDS = {"rocm": ["rocm-core"], "amdgpu-dkms": ["amdgpu-dkms-firmware"]}
REPOSITORIES = {
    f"{MIRROR}/{path}": {name: v for name, v in versions.items() if ("amdgpu" in name) == ("amdgpu" in path)}
    for path, versions in [
        ("rocm/apt/6.4.4", OLD),
        ("amdgpu/6.4.4/ubuntu", OLD),
        ("rocm/apt/7.0.2", NEW),
        ("amdgpu/30.10.2/ubuntu", NEW),
    ]
}
DKMS_FAILS = (
    "Error! Bad return status for module build on kernel: {kernel} (x86_64)\n"
    "Consult /var/lib/dkms/amdgpu/{module}/build/make.log for more information.\n"
    "dpkg: error processing package amdgpu-dkms (--configure):\n"
    " installed amdgpu-dkms package post-installation script subprocess returned error exit status 10\n"
)
SIZES = "Need to get 1,000 kB of archives.\nAfter this operation, 5,000 kB of additional disk space will be used.\n"


def parameters(release="7.0.2", driver="30.10.2", **more):
    """Options of rocm_release for one of the two releases."""
    where = {"rocm": f"{MIRROR}/rocm/apt/{release}", "driver": f"{MIRROR}/amdgpu/{driver}/ubuntu", "suite": "jammy"}
    return {"release": release, "driver": driver, "repository": where, "key": KEY, **more}


class Room:
    """Stands in for the temporary folder of a rehearsal."""

    path = "/room"

    def __init__(self, host):
        self.host = host

    def __enter__(self):
        return self

    def __exit__(self, *_ignored):
        self.host.remove_tree(self.path)

    def link(self, target, path):
        self.host.files[path] = self.host.files[target]


class FakeApt(RecordedHost):
    """``answers`` maps a word of a command line to the (rc, output) that is given instead of doing it."""

    def __init__(self, installed=None, hold=True, free=10**12):
        boot = {"/proc/sys/kernel/random/boot_id": "boot-1\n", "/proc/sys/kernel/osrelease": f"{KERNEL}\n"}
        super().__init__({"files": boot, "free_bytes": {"/": free}})
        self.answers: dict = {}
        self.repositories = {address: dict(offered) for address, offered in REPOSITORIES.items()}
        self.packages = {name: [version, "installed", hold] for name, version in (installed or {}).items()}
        self.auto: set = set()
        self._keep_books()

    def run(self, argv, timeout=60.0, stdin="", env=None):
        self.ran.append(argv)
        for word, answer in self.answers.items():
            if word in argv and "-s" not in argv and "--print-uris" not in argv:
                return Completed(*answer(self, argv) if callable(answer) else (answer[0], answer[1], ""))
        act = {"apt-mark": self._mark, "dpkg": self._dpkg, "dkms": self._dkms}.get(argv[0], self._apt_get)
        answer = act(argv)
        self._keep_books()
        return Completed(*answer)

    def set_package(self, name, version, state="installed", hold=False):
        """Put a package on the node, or in another state."""
        self.packages[name] = [version, state, hold]
        self._keep_books()

    def fail_to_build(self, version):
        """From now on, the driver of this package version does not build."""
        module = "-".join(module_of_driver_package(version))

        def install(host, argv):
            host._install(argv)
            if host.packages.get("amdgpu-dkms", [""])[0] != version:
                return 0, "", ""
            host.packages["amdgpu-dkms"][1] = "half-configured"
            host._keep_books()
            return 100, "", DKMS_FAILS.format(kernel=KERNEL, module=module)

        self.answers["install"] = install

    def _apt_get(self, argv):
        if "update" in argv:
            return self._update(argv)
        if "-s" in argv:
            return 0, self._simulated(argv), ""
        if "--print-uris" in argv:
            return 0, SIZES, ""
        self._install(argv)
        return 0, "", ""

    def _update(self, argv):
        room = "/room" if "/room/apt.conf" in argv else ""
        source = next(word.split("=", 1)[1] for word in argv if word.startswith("Dir::Etc::sourcelist="))
        for address in re.findall(r"http\S+", self.read(source)):
            if address not in self.repositories:
                return 100, f"Err:1 {address} jammy Release\n  404  Not Found\n", ""
            rows = [f"Package: {name}\nVersion: {version}\n" for name, version in self.repositories[address].items()]
            name = f"{address[7:].replace('/', '_')}_dists_jammy_main_binary-amd64_Packages"
            self.files[f"{room or ''}{'/lists' if room else '/var/lib/apt/lists'}/{name}"] = "\n".join(rows)
        return 0, "", ""

    def _asked(self, argv):
        words = argv[argv.index("install") + 1 :]
        wanted = dict(word.split("=", 1) for word in words if "=" in word)
        offered = {n: v for rows in self.repositories.values() for n, v in rows.items() if v in wanted.values()}
        depends = {need: offered[need] for name in wanted for need in DEPENDS.get(name, []) if need in offered}
        return {**depends, **wanted}, [word[:-1] for word in words if word.endswith("-")]

    def _simulated(self, argv):
        wanted, gone = self._asked(argv)
        lines = [f"Remv {name} [1]\n" for name in gone]
        for name, version in wanted.items():
            old = self.packages.get(name, [None])[0]
            if old != version:
                lines.append(f"Inst {name} {f'[{old}] ' if old else ''}({version} repo.radeon.com:jammy [amd64])\n")
        return "".join(lines)

    def _install(self, argv):
        wanted, gone = self._asked(argv)
        for name in gone:
            self.packages.pop(name, None)
        for name, version in wanted.items():
            if self.packages.get(name, [None])[:2] != [version, "installed"]:
                self.packages[name] = [version, "installed", False]
        if "amdgpu-dkms" in wanted:
            self.build("-".join(module_of_driver_package(wanted["amdgpu-dkms"])))
        self._keep_books()

    def build(self, module):
        """Leave what dkms leaves of a driver that is installed for the kernel."""
        last = self.links.get(LINK, "/").split("/")[0]
        if last and last != module:
            self.remove_tree(f"{TREE}/{last}")
        self.links[LINK] = f"{module}/{KERNEL}/x86_64"
        for path in (f"{TREE}/{module}/source/dkms.conf", f"{TREE}/{module}/{KERNEL}/x86_64/module/amdgpu.ko", MODULE):
            self.files[path] = ""

    def _mark(self, argv):
        if argv[1] == "auto":
            self.auto.update(argv[2:])
        for name in argv[2:] if argv[1] != "auto" else []:
            self.packages[name][2] = argv[1] == "hold"
        return 0, "", ""

    def _dpkg(self, argv):
        if "--remove" in argv:
            self.packages.pop(argv[-1])
        return 0, "", ""

    def _dkms(self, argv):
        if LINK not in self.links or "--force" in argv:
            self.build(argv[2].split("/")[1])
        return 0, "", ""

    def _keep_books(self):
        self.files["/var/lib/dpkg/status"] = "\n".join(
            f"Package: {name}\nStatus: {'hold' if hold else 'install'} ok {state}\nVersion: {version}\n"
            for name, (version, state, hold) in self.packages.items()
        )


def settled_node(release=OLD, driver="6.4.4", rocm="6.4.4"):
    """A node on one release, as rocm_release leaves it, booted with its driver."""
    from ansible_collections.fleetops.instinct.plugins.module_utils._release import release_goal

    host = FakeApt(release)
    goal = release_goal({**parameters(rocm, driver), "packages": ["rocm", "amdgpu-dkms"], "hold": True})
    host.files.update(goal.files())
    host._apt_get(["apt-get", "-o", "Dir::Etc::sourcelist=/etc/apt/sources.list.d/rocm.list", "update"])
    host.build("-".join(module_of_driver_package(release["amdgpu-dkms"])))
    host.files["/sys/module/amdgpu/version"] = module_of_driver_package(release["amdgpu-dkms"])[0] + "\n"
    host.files["/proc/cmdline"] = "ro quiet\n"
    return host


def versions(host):
    """What is installed, by name."""
    return {name: package.version for name, package in dpkg_packages(host).items() if package.state == "installed"}
