# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The faults a node can be given: one row each in EFFECTS, with what it takes and where it acts.

A fault acts either on what a boot shows (`at="boot"`: computed anew at every boot and when the fault is given or
cleared), on a request made inside the node (`at="request"`), or as an act in the running node (`at="up"`: done when
the node has booted, and at once when the fault is given at run time).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from simfleet.errors import FleetFileError


@dataclass(frozen=True)
class Effect:
    """One kind of fault: when it acts, the parameters it needs and the defaults of those it may have."""

    at: str
    text: str
    needs: dict[str, tuple[type, ...]] = field(default_factory=dict)
    may: dict[str, Any] = field(default_factory=dict)


_INT, _NUM, _TEXT = (int,), (int, float), (str,)

EFFECTS: dict[str, Effect] = {
    "never_comes_back": Effect(
        "request",
        "a reboot stops the node and it stays down until its power is cycled; where it hangs it keeps its power",
        {},
        {"hangs": False},
    ),
    "boot_ignored": Effect("request", "a reboot or shutdown is accepted and nothing happens"),
    "double_reboot": Effect(
        "request", "a reboot boots twice: the first of the two answers ssh for so many seconds", {}, {"seconds": 6.0}
    ),
    "wrong_kernel": Effect("boot", "this kernel starts, whatever the boot loader's files say", {"kernel": _TEXT}),
    "host_key_changed": Effect("boot", "sshd has another host key"),
    "old_driver": Effect("request", "update-initramfs says it worked and leaves the old initramfs in place"),
    "gpu_missing": Effect(
        "boot", "the GPU does not train: it and its board switch are not on the bus", {"index": _INT}
    ),
    "link_speed": Effect(
        "boot",
        "both ends of one link on the path to a GPU run at a lower speed",
        {"index": _INT, "gts": _NUM},
        {"hop": "gpu"},
    ),
    "link_width": Effect(
        "boot",
        "both ends of one link on the path to a GPU run with fewer lanes",
        {"index": _INT, "width": _INT},
        {"hop": "gpu"},
    ),
    "sysfs_unreadable": Effect("boot", "reading the file of a GPU gives EIO", {"index": _INT, "file": _TEXT}),
    "sysfs_garbage": Effect("boot", "the file of a GPU holds this text", {"index": _INT, "file": _TEXT, "text": _TEXT}),
    "ras_errors": Effect("boot", "a RAS block counts errors", {"index": _INT, "block": _TEXT}, {"ue": 0, "ce": 0}),
    "aer_errors": Effect(
        "boot", "the GPU's AER counters are not zero", {"index": _INT}, {"correctable": 0, "nonfatal": 0, "fatal": 0}
    ),
    "bad_pages": Effect("boot", "the GPU has retired memory pages", {"index": _INT}, {"pages": 1}),
    "kernel_log": Effect("boot", "the kernel log holds this line, so many times", {"text": _TEXT}, {"count": 1}),
    "hot": Effect("boot", "the junction sensor of a GPU shows this temperature", {"index": _INT, "celsius": _NUM}),
    "ssh_flaps": Effect(
        "up", "after a boot sshd comes and goes: so many times, so long away and back", {}, {"times": 2, "seconds": 1.0}
    ),
    "package_manager_locked": Effect("up", "a process holds the dpkg front end lock", {}, {"seconds": 30}),
    "dkms_build_fails": Effect(
        "up", "the kernel headers do not fit this one module version: a real compile error", {"driver": _TEXT}
    ),
    "disk_full": Effect("up", "the root file system is filled", {}, {"leave_kb": 0}),
    "unreachable": Effect("up", "sshd is stopped; the node runs on"),
    "kfd_busy": Effect("up", "a process holds /dev/kfd open", {}, {"command": "train.py"}),
}
HOPS = ("gpu", "slot", "root")
CONDITIONS = ("driver", "boots")
_RESERVED = ("node", "effect", "when")


@dataclass(frozen=True)
class Fault:
    """A fault on one node, with its parameters and the condition under which it acts."""

    node: str
    effect: str
    args: dict[str, Any]
    when: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, as `status` shows it."""
        return asdict(self)


def _fail(where: str, text: str) -> FleetFileError:
    return FleetFileError(f"{where}: {text}")


def _check_args(where: str, effect: Effect, args: dict[str, Any]) -> dict[str, Any]:
    for key, kinds in effect.needs.items():
        if key not in args:
            raise _fail(where, f"{key} is missing")
        if isinstance(args[key], bool) or not isinstance(args[key], kinds):
            raise _fail(f"{where}.{key}", f"saw {args[key]!r}; wanted {' or '.join(kind.__name__ for kind in kinds)}")
    for key, value in args.items():
        if key not in effect.needs and key not in effect.may:
            allowed = ", ".join((*effect.needs, *effect.may, *_RESERVED))
            raise _fail(f"{where}.{key}", f"unknown key; allowed are {allowed}")
        if key in effect.may and isinstance(effect.may[key], (int, float)) and not isinstance(value, (int, float)):
            raise _fail(f"{where}.{key}", f"saw {value!r}; wanted a number")
    return {**effect.may, **args}


def _check_places(where: str, args: dict[str, Any], gpus: int) -> None:
    if "index" in args and not 0 <= args["index"] < gpus:
        raise _fail(f"{where}.index", f"saw {args['index']}; the node has GPUs 0 to {gpus - 1}")
    if "hop" in args and args["hop"] not in HOPS:
        raise _fail(f"{where}.hop", f"saw {args['hop']!r}; allowed are {', '.join(HOPS)}")


def _check_when(where: str, when: Any) -> dict[str, Any]:
    if not isinstance(when, dict):
        raise _fail(f"{where}.when", f"saw {when!r}; wanted a mapping with keys of {', '.join(CONDITIONS)}")
    for key, value in when.items():
        if key not in CONDITIONS:
            raise _fail(f"{where}.when.{key}", f"unknown condition; allowed are {', '.join(CONDITIONS)}")
        if not isinstance(value, str if key == "driver" else int):
            raise _fail(f"{where}.when.{key}", f"saw {value!r}; wanted a {'text' if key == 'driver' else 'number'}")
    return dict(when)


def parse_fault(where: str, row: Any, gpus: dict[str, int]) -> Fault:
    """Check one row of `faults`; `gpus` maps each node of the fleet to its number of GPUs. Raises FleetFileError."""
    if not isinstance(row, dict):
        raise _fail(where, f"saw {row!r}; wanted a mapping with node and effect")
    node, name = row.get("node"), row.get("effect")
    if node not in gpus:
        raise _fail(f"{where}.node", f"saw {node!r}; the fleet has {', '.join(gpus)}")
    if name not in EFFECTS:
        raise _fail(f"{where}.effect", f"saw {name!r}; known are {', '.join(EFFECTS)}")
    args = {key: value for key, value in row.items() if key not in _RESERVED}
    args = _check_args(where, EFFECTS[name], args)
    _check_places(where, args, gpus[node])
    return Fault(node, name, args, _check_when(where, row.get("when", {})))


def active(faults: list[Fault], driver: str | None, boots: int) -> list[Fault]:
    """The faults whose condition holds: this module version is loaded and the node is in its Nth boot or later."""
    chosen = []
    for fault in faults:
        if "driver" in fault.when and fault.when["driver"] != driver:
            continue
        if boots < fault.when.get("boots", 0):
            continue
        chosen.append(fault)
    return chosen
