# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a boot of a node shows to whoever logs in: /sys, /dev, /run and the files laid over /proc."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simfleet import cpufiles, space, sysfs, tree
from simfleet.boot import Entry
from simfleet.faults import Fault
from simfleet.fleetfile import NodeSpec
from simfleet.kernellog import as_records, boot_log
from simfleet.machines import PRODUCTS
from simfleet.pci import apply_faults, build_bus

BUILD = "#1 SMP PREEMPT_DYNAMIC Debian"


@dataclass
class Boot:
    """One boot: what was started, the driver that is loaded now, the faults that act and the firmware that runs."""

    entry: Entry
    driver: sysfs.Driver | None
    faults: list[Fault] = field(default_factory=list)
    firmware: dict[str, Any] = field(default_factory=dict)  # as the BMC tells of it
    boot_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    shown: tree.Tree = field(default_factory=tree.Tree)


class Presence:
    """Lays a boot out below the node's root and keeps it true while the node runs."""

    def __init__(self, spec: NodeSpec, room: Path) -> None:
        self.spec, self.room, self.root = spec, room, room / "root"

    def _view(self, boot: Boot) -> sysfs.View:
        product = PRODUCTS[self.spec.product]
        bus = build_bus(product, self.spec.gpus)
        apply_faults(bus, boot.faults)
        firmware = {"bios_version": self.spec.bios_version, **boot.firmware}
        return sysfs.View(self.spec.name, product, bus, boot.driver, boot.entry.cmdline, boot.faults, firmware)

    def lay_out(self, boot: Boot) -> None:
        """Make anew what does not outlive a boot."""
        run = space.fresh_tmpfs(self.root / "run", "64m")
        (run / "hwctl").mkdir()
        space.mount(str(self.room / "hw"), run / "hwctl", None, flags=space.MS_BIND)
        space.fill_dev(space.fresh_tmpfs(self.root / "dev", "4m"))
        view = self._view(boot)
        boot.shown = sysfs.build_tree(view)
        tree.write(boot.shown, space.fresh_tmpfs(self.root / "sys", "64m"))
        self._log(boot, view)
        self._proc(boot)
        self._modules(boot)
        self._devices(boot)

    def renew(self, boot: Boot) -> None:
        """Bring /sys, /dev and the module list of the running node to what the boot is now."""
        view = self._view(boot)
        new = sysfs.build_tree(view)
        self._log(boot, view)
        tree.change(boot.shown, new, self.root / "sys")
        boot.shown = new
        self._modules(boot)
        self._devices(boot)

    def _log(self, boot: Boot, view: sysfs.View) -> None:
        log = boot_log(view, boot.entry.kernel)
        (self.root / "run" / "kmsg").write_text(log, encoding="utf-8")
        (self.root / "dev" / "kmsg").write_text(as_records(log), encoding="utf-8")
        (self.root / "dev" / "kmsg").chmod(0o600)

    def _proc(self, boot: Boot) -> None:
        kernel = boot.entry.kernel
        files = self.room / "proc"
        own = {
            "kernel/random/boot_id": boot.boot_id,
            "kernel/osrelease": kernel,
            "kernel/hostname": self.spec.name,
            "kernel/version": BUILD,
            "kernel/numa_balancing": "0" if "numa_balancing=disable" in boot.entry.words else "1",
            "kernel/tainted": "12288" if boot.driver and boot.driver.version else "0",
        }
        space.fill_proc_sys(files / "sys", own)
        (files / "cmdline").write_text(" ".join(boot.entry.cmdline) + "\n", encoding="utf-8")
        version = f"Linux version {kernel} (debian-kernel@lists.debian.org) (gcc-12) {BUILD}\n"
        (files / "version").write_text(version, encoding="ascii")
        (files / "cpuinfo").write_text(cpufiles.cpuinfo(), encoding="ascii")

    def _modules(self, boot: Boot) -> None:
        rows = []
        for name, size, users, taint in sysfs.loaded_modules(boot.driver):
            mark = f" ({taint})" if taint else ""
            rows.append(f"{name} {size} {users.count(',')} {users or '-'} Live 0x0000000000000000{mark}\n")
        # The same inode stays: it is bound over /proc/modules of the running node (or read in its place: release.c).
        for folder in ("proc", "hw"):
            (self.room / folder / "modules").write_text("".join(rows), encoding="ascii")

    def _devices(self, boot: Boot) -> None:
        dev = self.root / "dev"
        wanted = {"kfd"} if boot.driver else set()
        wanted |= {f"dri/{path.rpartition('/')[2]}" for path in boot.shown.links if path.startswith("class/drm/")}
        for path in [dev / "kfd", *(dev / "dri").glob("*")]:
            if path.relative_to(dev).as_posix() not in wanted:
                path.unlink(missing_ok=True)
        for name in sorted(wanted):
            # The numbers of /dev/null: they can be opened and held, and there is no GPU behind them to reach.
            if not (dev / name).exists():
                space.make_device(dev / name, 1, 3)
        if not boot.driver:
            shutil.rmtree(dev / "dri", ignore_errors=True)
