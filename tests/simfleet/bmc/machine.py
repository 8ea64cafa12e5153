# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One BMC: its parts, its restarts, the power of its host, and the log of what it was asked."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import IO, Any, Protocol

from simfleet.bmc import firmware
from simfleet.bmc.agenda import Agenda
from simfleet.bmc.bios import Bios
from simfleet.bmc.messages import message
from simfleet.bmc.profile import BmcSpec, load_profile
from simfleet.bmc.sessions import Account, Gate
from simfleet.bmc.tasks import Tasks, stamp
from simfleet.bmc.update import Flow

RESETS = {
    "On": "on", "ForceOn": "on", "ForceOff": "off", "GracefulShutdown": "shutdown", "ForceRestart": "restart",
    "GracefulRestart": "reboot", "PowerCycle": "cycle",
}  # fmt: skip


class Host(Protocol):
    """The machine behind a BMC. `switch` returns at once; what became of it is told by `host_boots` and `host_off`."""

    def switch(self, bmc: Bmc, what: str) -> None:
        """`on`, `off`, `cycle`, `restart` (without asking it), `shutdown` and `reboot` (asking it)."""


class NoHost:
    """A machine that is none: it boots when it is told to. For tests of the protocol and for measurements."""

    def switch(self, bmc: Bmc, what: str) -> None:
        """Off and on again, as told."""
        if what in ("off", "shutdown", "cycle"):
            bmc.later(0, bmc.host_off)
        if what in ("on", "cycle", "restart", "reboot"):
            kind = "warm" if what in ("restart", "reboot") and bmc.host_power == "On" else "dc"
            bmc.later(0, lambda: bmc.host_boots(kind))


class Bmc:
    """Everything of one BMC; `lock` is held by whoever looks or changes."""

    def __init__(self, spec: BmcSpec, agenda: Agenda, host: Host, user: str, password: str) -> None:
        self.spec, self.agenda, self.host = spec, agenda, host
        self.profile = load_profile(spec.profile)
        self.quirks = {name: dict(values) for name, values in spec.quirks.items()}
        self.lock = threading.RLock()
        self.gate = Gate(self.profile["session_limit"], {"1": Account(user, password)})
        self.tasks = Tasks(self.profile["tasks"]["ids"])
        self.components = firmware.components_of(spec)
        self.bios = Bios(self.profile["bios"], self.quirks)
        self.flow: Flow | None = None
        self.at_boot: dict[str, Flow] = {}
        self.host_power, self.booted_at, self.boots = "On", -1e9, 0
        self.boot_override = {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}
        self.push_targets: list[str] = []
        self.push_apply_time: str | None = None  # what a PATCH of HttpPushUriOptions asked for
        self.reachable, self.last_reset, self.restarts = True, stamp(), 0
        self.on_change: Callable[[Bmc], None] = lambda bmc: None
        self.exchanges: list[tuple[str, str, int]] = []
        self.log: IO[str] | None = None

    # -- small things -----------------------------------------------------------------------------------------------

    def later(self, seconds: float, act: Callable[[], Any]) -> None:
        """Do this in so many seconds, with the lock."""

        def locked() -> None:
            with self.lock:
                act()

        self.agenda.after(seconds, locked)

    def serial(self, word: str) -> str:
        """A number that is this machine's for ever."""
        return hashlib.sha256(f"{self.spec.node}/{word}".encode()).hexdigest()[:12].upper()

    def uri(self, kind: str) -> str:
        """The URI of the `system`, `chassis` or `manager`."""
        folder = {"system": "Systems", "chassis": "Chassis", "manager": "Managers"}[kind]
        return f"/redfish/v1/{folder}/{self.profile['ids'][kind]}"

    def inventory_uri(self, component: firmware.Component) -> str:
        """Where the component stands in the inventory."""
        identity = component.data["id"].format(version=component.version)
        return f"/redfish/v1/UpdateService/FirmwareInventory/{identity}"

    def max_bytes(self) -> int:
        """The largest image that is taken."""
        push_only = self.quirks.get("http_push_only")
        return int(push_only["max_bytes"] if push_only else self.profile["update"]["max_bytes"])

    def exchanged(self, method: str, path: str, status: int) -> None:
        """Note an exchange; 0 stands for an answer that was lost with its connection."""
        with self.lock:
            self.exchanges.append((method, path, status))
            if self.log:
                self.log.write(f"{len(self.exchanges)} {method} {path} {status}\n")
                self.log.flush()

    # -- the host ---------------------------------------------------------------------------------------------------

    def power(self, reset: str) -> None:
        """Carry out a ResetType."""
        if reset == "FullPowerCycle":
            self.ac_cycle()
        elif reset == "PushPowerButton":
            self.host.switch(self, "shutdown" if self.host_power == "On" else "on")
        elif reset in RESETS:
            self.host.switch(self, RESETS[reset])

    def host_off(self) -> None:
        """The host has lost its power."""
        self.host_power = "Off"

    def host_boots(self, kind: str) -> dict[str, Any]:
        """The host boots (`warm`, or `dc` after its power was off): the firmware view that this boot shows."""
        self.host_power, self.booted_at = "On", self.agenda.clock()
        self.boots += 1
        if self.boot_override["BootSourceOverrideEnabled"] == "Once":
            self.boot_override = {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}
        self.became(firmware.activate(self.components, kind))
        for flow in list(self.at_boot.values()):
            flow.at_boot()
        self.at_boot.clear()
        jobs = self.tasks.scheduled("bios")
        if jobs or not self.profile["bios"]["job"]:
            self.bios.at_boot()
        for job in jobs:
            job.state, job.job_state, job.percent = "Running", "Running", 34
        self.later(self.spec.post_seconds, lambda: self._post_ends(jobs))
        return self.view()

    def _post_ends(self, jobs: list[Any]) -> None:
        good = self.bios.job_ends()
        for job in jobs:
            if job.id in self.tasks.all and good:
                job.end("Completed", "OK", message("SimBmc.1.0.JobCompleted", text="Job completed successfully."))
            elif job.id in self.tasks.all:
                job.end("Exception", "Critical", message("SimBmc.1.0.JobFailed", text="Unable to complete the job."))

    def in_post(self) -> bool:
        """Whether the host still tests itself."""
        return self.agenda.clock() - self.booted_at < self.spec.post_seconds

    def became(self, keys: list[str]) -> None:
        """These components run another version now."""
        if "bios" in keys:
            self.bios.flashed()

    def vbios(self) -> str:
        """The part number of the VBIOS that the GPUs run."""
        if "oem_part_number" in self.quirks:
            return str(self.quirks["oem_part_number"]["vbios"])
        gpu = self.components.get("gpu")
        if gpu is None:
            return self.spec.vbios
        return str(gpu.header.get("vbios") or (gpu.version if gpu.version.startswith("113-") else self.spec.vbios))

    def view(self) -> dict[str, Any]:
        """What the node shows of its firmware: null stands for what the machine was shipped with."""
        bios, gpu = self.components["bios"], self.components.get("gpu")
        bundle = gpu.version if gpu and gpu.version != self.spec.bundle else None
        return {
            "bios_version": bios.version, "bios_date": bios.header.get("bios_date"), "vbios": self.vbios(),
            "bundle": bundle, "off": self.bios.switched_off(),
        }  # fmt: skip

    # -- the BMC's own life -----------------------------------------------------------------------------------------

    def restart(self, keep_tasks: bool = False, keep_flow: bool = False) -> None:
        """Go away and come back: sessions are gone, tasks too unless the maker keeps them."""
        self._away(keep_flow)
        if not (keep_tasks or self.profile["tasks"]["survive"]):
            self.tasks.lose()
        self.later(self.spec.restart_seconds, self._back)

    def _away(self, keep_flow: bool = False) -> None:
        if self.flow is not None and not keep_flow:
            task = self.flow.task
            self.flow.stop()
            task.end("Interrupted", "Critical", message("SimBmc.1.0.Interrupted", text="The BMC restarted."), percent=0)
        self.reachable = False
        self.gate.sessions.clear()
        self.on_change(self)

    def _back(self, event: str = "bmc") -> None:
        self.became(firmware.activate(self.components, event))
        self.restarts += 1
        self.last_reset = stamp(after=self.last_reset)
        if "flapping_after_restart" in self.quirks:
            self.quirks["flapping_after_restart"]["left"] = self.quirks["flapping_after_restart"]["times"]
        self.reachable = True
        self.on_change(self)

    def die(self) -> None:
        """Go away and stay away until the power is cut."""
        self._away()
        self.tasks.lose()

    def ac_cycle(self) -> None:
        """Cut the power of everything: BMC and host come back, and whatever was staged runs."""
        self._away()
        if not self.profile["tasks"]["survive"]:
            self.tasks.lose()
        self.host.switch(self, "off")
        self.later(self.spec.restart_seconds, lambda: (self._back("ac"), self.host.switch(self, "on")))

    # -- the control command ----------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """What a test asks of a BMC."""
        counts: dict[str, int] = {}
        for method, _, _ in self.exchanges:
            counts[method] = counts.get(method, 0) + 1
        return {
            "node": self.spec.node, "profile": self.spec.profile, "quirks": self.quirks, "reachable": self.reachable,
            "restarts": self.restarts, "host": self.host_power, "boots": self.boots,
            "components": {key: item.as_dict() for key, item in self.components.items()},
            "sessions": {"open": len(self.gate.sessions), "most": self.gate.most, "opened": self.gate.opened},
            "tasks": {key: [task.state, task.status, task.percent] for key, task in self.tasks.all.items()},
            "bios": {"applied": self.bios.applied, "pending": self.bios.pending, "stagings": self.bios.stagings},
            "boot_order": self.bios.boot_order, "updating": self.flow is not None,
            "exchanges": {"count": len(self.exchanges), "methods": counts},
        }  # fmt: skip
