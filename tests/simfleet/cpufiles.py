# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a node shows of its processors and NUMA nodes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfleet.sysfs import View
    from simfleet.tree import Tree

CPUS = 4
_IDLE = (("POLL", "CPUIDLE CORE POLL IDLE", 0), ("C1", "ACPI FFH MWAIT 0x0", 1), ("C2", "ACPI IOPORT 0x814", 800))


def _idle_states(view: View) -> tuple[tuple[str, str, int], ...]:
    limits = [word.partition("=")[2] for word in view.cmdline if word.startswith("processor.max_cstate=")]
    shallow = view.is_off("global_cstate") or bool(limits and limits[-1] in ("0", "1"))
    return _IDLE[: 2 if shallow else 3]


def cpuinfo() -> str:
    """/proc/cpuinfo of a server with AMD's processors, whatever the fleet runs on."""
    fields = {
        "vendor_id": "AuthenticAMD",
        "cpu family": "25",
        "model": "17",
        "model name": "AMD EPYC 9654 96-Core Processor",
        "flags": "fpu vme msr pae cx8 apic sep mtrr pge mca cmov pat sse sse2 ht syscall nx lm avx avx2 svm",
    }
    rows = [[("processor", str(cpu)), *fields.items()] for cpu in range(CPUS)]
    return "".join("".join(f"{name}\t: {value}\n" for name, value in row) + "\n" for row in rows)


def add_cpus(tree: Tree, view: View) -> None:
    """The processors below /sys/devices/system/cpu, as BIOS and command line leave them."""
    base = "devices/system/cpu"
    span = f"0-{CPUS - 1}"
    tree.put(base, {"online": span, "present": span, "possible": span, "offline": ""})
    # Without BIOS settings to tell otherwise, SMT is off, as AMD wants it for these machines.
    smt = "off" in view.firmware and not view.is_off("smt")
    tree.put(base, {"smt/active": int(smt), "smt/control": "on" if smt else "off"})
    tree.put(base, {"cpufreq/boost": 0 if view.is_off("boost") else 1})
    tree.put(base, {"cpuidle/current_driver": "acpi_idle", "cpuidle/current_governor": "menu"})
    for cpu in range(CPUS):
        tree.put(f"{base}/cpufreq/policy{cpu}", {"scaling_governor": "schedutil"})
        tree.put(
            f"{base}/cpu{cpu}",
            {"online": 1, "cpufreq/scaling_governor": "schedutil", "cpufreq/scaling_driver": "acpi-cpufreq"},
        )
        tree.put(
            f"{base}/cpu{cpu}/topology", {"physical_package_id": cpu // 2, "core_id": cpu, "thread_siblings_list": cpu}
        )
        for number, (name, text, latency) in enumerate(_idle_states(view)):
            values = {"name": name, "desc": text, "latency": latency, "disable": 0, "usage": 0, "time": 0}
            tree.put(f"{base}/cpu{cpu}/cpuidle/state{number}", values)


def add_nodes(tree: Tree) -> None:
    """The two NUMA nodes."""
    base = "devices/system/node"
    tree.put(base, {"online": "0-1", "possible": "0-1", "has_cpu": "0-1"})
    for node in (0, 1):
        cpulist = f"{node * CPUS // 2}-{(node + 1) * CPUS // 2 - 1}"
        tree.put(f"{base}/node{node}", {"cpulist": cpulist, "distance": "10 32" if node == 0 else "32 10"})
