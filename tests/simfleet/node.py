# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One node: its disk, its boots, its power, and what it asks of the machine it believes to be."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simfleet import acts, boot, space, sysfs
from simfleet.errors import SimfleetError
from simfleet.faults import EFFECTS, Fault, active
from simfleet.fleetfile import FleetSpec, NodeSpec
from simfleet.kernellog import boot_log
from simfleet.machines import PRODUCTS
from simfleet.pci import apply_faults, build_bus

GRACE_SECONDS = 0.5  # between the answer to `shutdown -r` and the end of the node: the caller still gets its answer


@dataclass
class Boot:
    """What the present boot shows."""

    boot_id: str
    entry: boot.Entry
    driver: sysfs.Driver | None
    started: float
    faults: list[Fault] = field(default_factory=list)
    tree: sysfs.Tree = field(default_factory=sysfs.Tree)


@dataclass(frozen=True)
class Places:
    """Where a node's things are: `room` inside the supervisor's own mounts, `keep` in the state directory."""

    room: Path
    keep: Path
    lower: tuple[Path, ...]
    authorized_key: str


class Node:
    """A node with its power button. All public methods may be called from any thread."""

    def __init__(self, spec: NodeSpec, fleet: FleetSpec, places: Places) -> None:
        self.spec, self.fleet, self.places = spec, fleet, places
        self.faults = [fault for fault in fleet.faults if fault.node == spec.name]
        self.boots = 0
        self.boot: Boot | None = None
        self.world: space.World | None = None
        self.lock = threading.RLock()
        self.root = places.room / "root"
        self.helpers: list[subprocess.Popen[bytes]] = []
        self._pending: threading.Timer | None = None

    # -- the disk -----------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Make the disk and what makes this node itself: name, keys, command line. Nothing runs yet."""
        room = self.places.room
        self.places.keep.mkdir(parents=True, exist_ok=True)
        disk = space.fresh_tmpfs(room / "disk", f"{self.spec.disk_mb}m")
        space.overlay(self.root, list(self.places.lower), disk / "upper", disk / "work")
        self._identity()
        self._sshd()
        extra = f'GRUB_CMDLINE_LINUX="{self.spec.cmdline}"\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_TIMEOUT=5\n'
        (self.root / "etc/default/grub").write_text(extra, encoding="utf-8")
        done = subprocess.run(["chroot", str(self.root), "update-grub"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SimfleetError(f"{self.spec.name}: update-grub: {done.stderr}")
        (room / "hw").mkdir(exist_ok=True)
        threading.Thread(target=self._serve, args=(self._listen(),), daemon=True).start()

    def _identity(self) -> None:
        name = self.spec.name
        files = {
            "etc/hostname": f"{name}\n",
            "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {name}\n{self.fleet.mirror} mirror.example\n",
            "etc/machine-id": sysfs.stable_hex(name, "machine-id", digits=32) + "\n",
            "etc/resolv.conf": "",
        }
        for path, text in files.items():
            (self.root / path).write_text(text, encoding="utf-8")

    def _sshd(self) -> None:
        key = self.places.keep / "ssh_host_ed25519_key"
        if not key.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.spec.name, "-f", str(key)], check=True)
        for path in (key, key.with_suffix(".pub")):
            shutil.copy(path, self.root / "etc/ssh" / path.name)
        config = (
            f"Port {SSH_PORT}\nListenAddress {self.fleet.address(self.spec)}\nHostKey /etc/ssh/ssh_host_ed25519_key\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\nUsePAM no\nUseDNS no\nPrintMotd no\n"
            "MaxStartups 100\nMaxSessions 100\nAcceptEnv LANG LC_*\nSubsystem sftp internal-sftp\n"
        )
        (self.root / "etc/ssh/sshd_config").write_text(config, encoding="ascii")
        folder = self.root / "root/.ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "authorized_keys").write_text(self.places.authorized_key, encoding="ascii")

    # -- boots --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Boot: what the node shows is computed from what is on its disk now."""
        with self.lock:
            if self.world is not None:
                return
            entry, driver = boot.next_boot(self.root)
            self.boots += 1
            self.boot = Boot(str(uuid.uuid4()), entry, driver, time.time())
            self.boot.faults = active(self.faults, driver.version if driver else None, self.boots)
            self._lay_out()
            self.world = space.World(
                self.root, self.places.room / "proc", self.spec.name, ["/usr/libexec/node/rc"], self.places.keep / "console.log"
            )
            self.wait_for_ssh(30)
            for fault in self.boot.faults:
                if EFFECTS[fault.effect].at == "up":
                    acts.begin(self, fault)

    def _view(self) -> sysfs.View:
        assert self.boot is not None
        product = PRODUCTS[self.spec.product]
        bus = build_bus(product, self.spec.gpus)
        apply_faults(bus, self.boot.faults)
        cmdline = self.boot.entry.cmdline
        return sysfs.View(self.spec.name, product, bus, self.boot.driver, cmdline, self.boot.faults, self.spec.bios_version)

    def _lay_out(self) -> None:
        """Everything a boot makes anew: /run, /dev, /sys and the files over /proc."""
        assert self.boot is not None
        run = space.fresh_tmpfs(self.root / "run", "64m")
        (run / "hwctl").mkdir()
        space.mount(str(self.places.room / "hw"), run / "hwctl", None, flags=space.MS_BIND)
        space.fill_dev(space.fresh_tmpfs(self.root / "dev", "4m"))
        view = self._view()
        self.boot.tree = sysfs.build_tree(view)
        sysfs.write(self.boot.tree, space.fresh_tmpfs(self.root / "sys", "64m"))
        self._proc_files()
        self._devices()
        (run / "kmsg").write_text(boot_log(view, self.boot.entry.kernel), encoding="utf-8")

    def _proc_files(self) -> None:
        assert self.boot is not None
        kernel = self.boot.entry.kernel
        files = self.places.room / "proc"
        numa = "0" if "numa_balancing=disable" in self.boot.entry.words else "1"
        build = "#1 SMP PREEMPT_DYNAMIC Debian"
        own = {
            "kernel/random/boot_id": self.boot.boot_id, "kernel/osrelease": kernel, "kernel/hostname": self.spec.name,
            "kernel/version": build, "kernel/numa_balancing": numa, "kernel/tainted": "12288" if self.boot.driver else "0",
        }  # fmt: skip
        space.fill_proc_sys(files / "sys", own)
        (files / "cmdline").write_text(" ".join(self.boot.entry.cmdline) + "\n", encoding="utf-8")
        (files / "version").write_text(f"Linux version {kernel} (debian-kernel@lists.debian.org) (gcc-12) {build}\n", encoding="ascii")
        self._modules()

    def _modules(self) -> None:
        assert self.boot is not None
        rows = []
        for name, size, users, taint in sysfs.loaded_modules(self.boot.driver):
            mark = f" ({taint})" if taint else ""
            rows.append(f"{name} {size} {users.count(',')} {users or '-'} Live 0x0000000000000000{mark}")
        # The same inode stays: it is bound over /proc/modules of the running node (or read in its place, see release.c).
        for folder in ("proc", "hw"):
            (self.places.room / folder / "modules").write_text("\n".join(rows) + "\n", encoding="ascii")

    def _devices(self) -> None:
        assert self.boot is not None
        dev = self.root / "dev"
        shutil.rmtree(dev / "dri", ignore_errors=True)
        (dev / "kfd").unlink(missing_ok=True)
        if self.boot.driver is None:
            return
        # The numbers of /dev/null: they can be opened and held, and there is no GPU behind them to reach.
        space.make_device(dev / "kfd", 1, 3)
        for path in self.boot.tree.links:
            if path.startswith("class/drm/"):
                space.make_device(dev / "dri" / path.rpartition("/")[2], 1, 3)

    def refresh(self) -> None:
        """Recompute what the running boot shows (a fault came or went, the driver was loaded or unloaded)."""
        with self.lock:
            if self.boot is None or self.world is None:
                return
            self.boot.faults = active(self.faults, self.boot.driver.version if self.boot.driver else None, self.boots)
            new = sysfs.build_tree(self._view())
            sysfs.change(self.boot.tree, new, self.root / "sys")
            self.boot.tree = new
            self._modules()
            self._devices()

    def wait_for_ssh(self, seconds: float) -> bool:
        """Wait until sshd answers with its banner."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with socket.create_connection((self.fleet.address(self.spec), SSH_PORT), timeout=1) as link:
                    link.settimeout(5)
                    if link.recv(4) == b"SSH-":
                        return True
            except OSError:
                pass
            if self.world is None or self.world.process.poll() is not None:
                return False
            time.sleep(0.03)
        return False

    # -- power --------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Cut the power."""
        with self.lock:
            if self.world is not None:
                self.world.stop()
                self.world = None
            for helper in self.helpers:
                helper.poll() is None and helper.kill()
                helper.wait()
            self.helpers.clear()

    def power(self, what: str) -> None:
        """`on`, `off` or `cycle`, as a BMC does it: no fault of a reboot stands in the way."""
        if what not in ("on", "off", "cycle"):
            raise SimfleetError(f"power: saw {what!r}; allowed are on, off, cycle")
        if what in ("off", "cycle"):
            self.stop()
        if what in ("on", "cycle"):
            self.start()

    def _has(self, effect: str) -> bool:
        return any(fault.effect == effect for fault in (self.boot.faults if self.boot else []))

    def _stays_down(self) -> bool:
        """Whether the boot that would come now is one that never comes back."""
        try:
            _, driver = boot.next_boot(self.root)
        except SimfleetError:
            return True
        coming = active(self.faults, driver.version if driver else None, self.boots + 1)
        return any(fault.effect == "never_comes_back" for fault in coming)

    def _go_down(self, again: bool) -> None:
        with self.lock:
            stays = not again or self._stays_down()
            self.stop()
        if not stays:
            time.sleep(self.spec.boot_seconds)
            self.start()

    # -- what the node asks -------------------------------------------------------------------------------------

    def _listen(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        path = self.places.room / "hw" / "sock"
        path.unlink(missing_ok=True)
        server.bind(str(path))
        server.listen(16)
        return server

    def _serve(self, server: socket.socket) -> None:
        while True:
            link, _ = server.accept()
            threading.Thread(target=self._answer, args=(link,), daemon=True).start()

    def _answer(self, link: socket.socket) -> None:
        with link:
            try:
                request = json.loads(link.makefile().readline())
                answer = self.request(request)
            except SimfleetError as error:
                answer = {"error": str(error)}
            except (OSError, ValueError):
                return
            link.sendall(json.dumps(answer).encode() + b"\n")

    def request(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request of a program inside the node."""
        op = request.get("op")
        if op in ("reboot", "poweroff"):
            return self._ask_power(op == "reboot", float(request.get("delay") or 0))
        if op == "cancel":
            if self._pending:
                self._pending.cancel()
            return {}
        if op == "initramfs":
            return {"skip": self._has("old_driver")}
        if op in ("load", "unload"):
            return self._ask_module(op, str(request.get("module")), dict(request.get("options") or {}))
        return {"error": "not understood"}

    def _ask_power(self, again: bool, delay: float) -> dict[str, Any]:
        if not self._has("boot_ignored"):
            self._pending = threading.Timer(delay + GRACE_SECONDS, self._go_down, args=(again,))
            self._pending.daemon = True
            self._pending.start()
        return {}

    def _ask_module(self, op: str, module: str, options: dict[str, str]) -> dict[str, Any]:
        with self.lock:
            assert self.boot is not None
            if module != "amdgpu":
                return {}
            if op == "unload" and self.boot.driver is not None:
                if self._holders():
                    return {"error": "FATAL: Module amdgpu is in use."}
                self.boot.driver = None
            if op == "load" and self.boot.driver is None:
                driver = boot.load_now(self.root, self.boot.entry.kernel, self.boot.entry.cmdline)
                if driver is None:
                    return {"error": f"FATAL: Module amdgpu not found in directory /lib/modules/{self.boot.entry.kernel}"}
                self.boot.driver = sysfs.Driver(driver.version, driver.srcversion, {**driver.parameters, **options})
            self.refresh()
        return {}

    def _holders(self) -> list[int]:
        found = []
        for pid, _ in self.world.pids() if self.world else []:
            try:
                names = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                continue
            if any(name == "/dev/kfd" or name.startswith("/dev/dri/") for name in names):
                found.append(pid)
        return found

    # -- faults and status --------------------------------------------------------------------------------------

    def give(self, fault: Fault) -> None:
        """Add a fault; it acts at once where its condition holds."""
        with self.lock:
            self.faults.append(fault)
            self.refresh()
            if self.boot and fault in self.boot.faults and EFFECTS[fault.effect].at == "up":
                acts.begin(self, fault)

    def clear(self, effect: str | None) -> int:
        """Take away all faults, or those of one effect; returns how many."""
        with self.lock:
            gone = [fault for fault in self.faults if effect in (None, fault.effect)]
            self.faults = [fault for fault in self.faults if fault not in gone]
            for fault in gone:
                if EFFECTS[fault.effect].at == "up":
                    acts.end(self, fault)
            self.refresh()
        return len(gone)

    def packages(self) -> dict[str, str]:
        """AMD's packages on the node's disk that are not merely removed, with version and dpkg state."""
        text = (self.root / "var/lib/dpkg/status").read_text(encoding="utf-8")
        found = {}
        for stanza in text.split("\n\n"):
            fields = dict(line.partition(": ")[::2] for line in stanza.splitlines() if not line.startswith(" "))
            if "AMD" in fields.get("Maintainer", "") and not fields.get("Status", "").endswith(("not-installed", "config-files")):
                found[fields["Package"]] = f"{fields['Version']} {fields['Status'].rpartition(' ')[2]}"
        return found

    def status(self) -> dict[str, Any]:
        """The node as `status --json` shows it."""
        running = self.world is not None and self.world.process.poll() is None
        now = self.boot
        return {
            "state": "up" if running else "down",
            "address": self.fleet.address(self.spec), "rack": self.spec.rack, "product": self.spec.product,
            "boots": self.boots, "boot_id": now.boot_id if now else None,
            "driver": None if now is None or now.driver is None else now.driver.version or "in-tree",
            "kernel": now.entry.kernel if now else None,
            "cmdline": " ".join(now.entry.cmdline) if now else None,
            "packages": self.packages(),
            "faults": [{**fault.as_dict(), "active": bool(now and fault in now.faults)} for fault in self.faults],
        }  # fmt: skip


SSH_PORT = 2222
