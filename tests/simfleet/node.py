# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One node: its boots, its power, its faults."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

from simfleet import acts, boot, disk, space
from simfleet.disk import SSH_PORT, Places
from simfleet.errors import SimfleetError
from simfleet.faults import EFFECTS, Fault, active
from simfleet.fleetfile import FleetSpec, NodeSpec
from simfleet.hwctl import Requests
from simfleet.presence import Boot, Presence

if TYPE_CHECKING:
    from simfleet.bmc.link import Link

GRACE_SECONDS = 0.5  # between the answer to `shutdown -r` and the end of the node: the caller still gets its answer


class Node:
    """A node with its power button. All public methods may be called from any thread."""

    def __init__(self, spec: NodeSpec, fleet: FleetSpec, places: Places, bmcs: Link | None = None) -> None:
        self.spec, self.fleet, self.places, self.bmcs = spec, fleet, places, bmcs
        self.root = places.root
        self.faults = [fault for fault in fleet.faults if fault.node == spec.name]
        self.boots = 0
        self.boot: Boot | None = None
        self.world: space.World | None = None
        self.helpers: list[subprocess.Popen[bytes]] = []
        self.lock = threading.RLock()
        self._presence = Presence(spec, places.room)
        self._pending: threading.Timer | None = None
        self._kept_power = False  # the next boot is a warm one

    def create(self) -> None:
        """Make the disk and listen to what the node will ask. Nothing runs yet."""
        disk.create(self.spec, self.fleet, self.places)
        Requests(self, self.places.room / "hw").start()

    # -- boots --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Boot: what the node shows is computed from what is on its disk now."""
        with self.lock:
            if self.world is not None:
                return
            entry, driver = boot.next_boot(self.root)
            self.boots += 1
            faults = active(self.faults, driver.version if driver else None, self.boots)
            effects = {fault.effect: fault for fault in faults}
            if "wrong_kernel" in effects:
                entry, driver = boot.another_kernel(self.root, entry, effects["wrong_kernel"].args["kernel"])
            disk.host_key(self.places, "host_key_changed" in effects)
            self.boot = Boot(entry, driver, faults, self._firmware())
            self._presence.lay_out(self.boot)
            files, log = self.places.room / "proc", self.places.keep / "console.log"
            self.world = space.World(self.root, files, self.spec.name, ["/usr/libexec/node/rc"], log)
            self.wait_for_ssh(30)
            for fault in self.boot.faults:
                if EFFECTS[fault.effect].at == "up":
                    acts.begin(self, fault)

    def _firmware(self) -> dict[str, Any]:
        """Tell the BMC of the boot; what it then says of the firmware is what the node shows."""
        kind, self._kept_power = "warm" if self._kept_power else "dc", False
        return self.bmcs.boots(self.spec.name, kind) if self.bmcs else {}

    def refresh(self) -> None:
        """Recompute what the running boot shows: a fault came or went, the driver was loaded or unloaded."""
        with self.lock:
            if self.boot is not None and self.world is not None:
                version = self.boot.driver.version if self.boot.driver else None
                self.boot.faults = active(self.faults, version, self.boots)
                self._presence.renew(self.boot)

    def answers_ssh(self) -> bool:
        """Whether sshd shows its banner now."""
        try:
            with socket.create_connection((self.fleet.address(self.spec), SSH_PORT), timeout=1) as link:
                link.settimeout(5)
                return link.recv(4) == b"SSH-"
        except OSError:
            return False

    def wait_for_ssh(self, seconds: float) -> bool:
        """Wait until sshd answers; False when it does not in time, or the node has died."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.answers_ssh():
                return True
            if not self.runs():
                return False
            time.sleep(0.03)
        return False

    def runs(self) -> bool:
        """Whether the node has power and its pid 1 is alive."""
        return self.world is not None and self.world.process.poll() is None

    # -- power --------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Cut the power."""
        with self.lock:
            if self.world is not None:
                self.world.stop()
                self.world = None
            for helper in self.helpers:
                helper.kill()
                helper.wait()
            self.helpers.clear()

    def power(self, what: str) -> None:
        """What a BMC does: `on`, `off`, `cycle`, `restart`, where no fault of a reboot stands in the way; or asks for.

        `reboot` and `shutdown` are what it asks the node for, as somebody logged in would.
        """
        if what in ("reboot", "shutdown") and self.runs():
            self.ask_power(what == "reboot", 0)
            return
        if what not in ("on", "off", "cycle", "restart", "reboot", "shutdown"):
            raise SimfleetError(f"power: saw {what!r}; allowed are on, off, cycle, restart, reboot, shutdown")
        with self.lock:
            self._kept_power = what == "restart" and self.runs()
            if what in ("off", "cycle", "restart"):
                self.stop()
            if what in ("off", "cycle"):
                self._tell_off()
        if what not in ("off", "shutdown"):
            self.start()

    def _tell_off(self) -> None:
        if self.bmcs:
            self.bmcs.is_off(self.spec.name)

    def ask_power(self, again: bool, delay: float) -> None:
        """What `shutdown` in the node asks for: down in `delay` seconds and the grace, and up again when `again`."""
        if self.has("boot_ignored"):
            return
        self._pending = threading.Timer(delay + GRACE_SECONDS, self._go_down, args=(again,))
        self._pending.daemon = True
        self._pending.start()

    def cancel_power(self) -> None:
        """`shutdown -c`."""
        if self._pending:
            self._pending.cancel()

    def _go_down(self, again: bool) -> None:
        with self.lock:
            lost, between = self._never_back(), self._between_two_boots()
            self.stop()
            self._kept_power = again
        if not again or lost:
            if not (again and lost and lost.args.get("hangs")):
                self._tell_off()
            return
        time.sleep(self.spec.boot_seconds)
        self.start()
        first = self.world
        if between is not None:
            time.sleep(between)
            with self.lock:
                if self.world is not first:
                    return
                self.stop()
                self._kept_power = True
            time.sleep(self.spec.boot_seconds)
            self.start()

    def _between_two_boots(self) -> float | None:
        """How long the first boot of a reboot is up where it boots twice, None where it boots once."""
        twice = [fault for fault in (self.boot.faults if self.boot else []) if fault.effect == "double_reboot"]
        return float(twice[0].args["seconds"]) if twice else None

    def _never_back(self) -> Fault | None:
        """The fault of the boot that would come now, where it is one that never comes back."""
        try:
            _, driver = boot.next_boot(self.root)
        except (SimfleetError, OSError):
            return Fault(self.spec.name, "never_comes_back", {})
        coming = active(self.faults, driver.version if driver else None, self.boots + 1)
        return next((fault for fault in coming if fault.effect == "never_comes_back"), None)

    # -- the driver ---------------------------------------------------------------------------------------------

    def load(self, options: dict[str, str]) -> None:
        """`modprobe amdgpu`: what is on the disk, not what is in the initramfs."""
        with self.lock:
            if self.boot is None or self.boot.driver is not None:
                return
            kernel = self.boot.entry.kernel
            driver = boot.load_now(self.root, kernel, self.boot.entry.cmdline)
            if driver is None:
                raise SimfleetError(f"FATAL: Module amdgpu not found in directory /lib/modules/{kernel}")
            driver.parameters.update(options)
            self.boot.driver = driver
            self.refresh()

    def unload(self) -> None:
        """`modprobe -r amdgpu`: refused while a process has a GPU open."""
        with self.lock:
            if self._holders():
                raise SimfleetError("FATAL: Module amdgpu is in use.")
            if self.boot is not None:
                self.boot.driver = None
            self.refresh()

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

    def has(self, effect: str) -> bool:
        """Whether a fault of this effect acts in the present boot."""
        return any(fault.effect == effect for fault in (self.boot.faults if self.boot else []))

    def give(self, fault: Fault) -> None:
        """Add a fault; it acts at once where its condition holds."""
        with self.lock:
            self.faults.append(fault)
            self.refresh()
            if self.boot and self.runs() and fault in self.boot.faults and EFFECTS[fault.effect].at == "up":
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
        """AMD's packages on the node's disk, with version and dpkg state (`installed`, `half-configured`...)."""
        text = (self.root / "var/lib/dpkg/status").read_text(encoding="utf-8")
        found = {}
        for stanza in text.split("\n\n"):
            fields = dict(line.partition(": ")[::2] for line in stanza.splitlines() if not line.startswith(" "))
            state = fields.get("Status", "").rpartition(" ")[2]
            if "AMD" in fields.get("Maintainer", "") and state not in ("not-installed", "config-files"):
                found[fields["Package"]] = f"{fields['Version']} {state}"
        return found

    def status(self) -> dict[str, Any]:
        """The node as `status --json` shows it."""
        now = self.boot
        return {
            "state": "up" if self.runs() else "down",
            "ssh": self.runs() and self.answers_ssh(),
            "address": self.fleet.address(self.spec),
            "rack": self.spec.rack,
            "product": self.spec.product,
            "boots": self.boots,
            "boot_id": now.boot_id if now else None,
            "driver": None if now is None or now.driver is None else now.driver.version or "in-tree",
            "kernel": now.entry.kernel if now else None,
            "cmdline": " ".join(now.entry.cmdline) if now else None,
            "packages": self.packages(),
            "faults": [{**fault.as_dict(), "active": bool(now and fault in now.faults)} for fault in self.faults],
        }
