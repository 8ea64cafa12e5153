# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Command line of the simulated fleet."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from simfleet import control
from simfleet.bmc.quirks import QUIRKS
from simfleet.errors import SimfleetError
from simfleet.faults import EFFECTS
from simfleet.fleetfile import load_fleet


def _say(line: str) -> None:
    print(f"simfleet: {line}", file=sys.stderr, flush=True)


def _up(args: argparse.Namespace) -> int:
    fleet = load_fleet(args.fleet, args.base)
    control.up(args.state, fleet, args.fleet.resolve(), _say, args.foreground)
    _say(f"{len(fleet.nodes)} nodes; inventory {args.state}/inventory.yml")
    return 0


def _down(args: argparse.Namespace) -> int:
    _say("down" if control.down(args.state) else "nothing was up")
    return 0


def _row(node: str, facts: dict[str, Any]) -> str:
    faults = ", ".join(fault["effect"] for fault in facts["faults"]) or "-"
    rocm = facts["packages"].get("rocm-core", "-").split()[0]
    place = f"{node:8} {facts['state']:5} {facts['address']:14} {facts['rack']:5}"
    return f"{place} boots {facts['boots']:<3} driver {facts['driver'] or '-':9} rocm {rocm:22} {faults}"


def _status(args: argparse.Namespace) -> int:
    nodes = control.ask(args.state, {"op": "status"})["nodes"]
    print(json.dumps(nodes, indent=1) if args.json else "\n".join(_row(*item) for item in nodes.items()))
    return 0


def _value(text: str) -> Any:
    return yaml.safe_load(text)


def _fault(args: argparse.Namespace) -> int:
    row: dict[str, Any] = {"node": args.node, "effect": args.effect}
    for word in args.settings:
        key, equals, value = word.partition("=")
        if not equals:
            raise SimfleetError(f"{word!r}: wanted key=value, or when.driver=VERSION, when.boots=N")
        if key.startswith("when."):
            row.setdefault("when", {})[key[5:]] = value if key == "when.driver" else _value(value)
        else:
            row[key] = value if key in ("driver", "text", "file") else _value(value)
    control.ask(args.state, {"op": "fault", "row": row})
    return 0


def _clear(args: argparse.Namespace) -> int:
    answer = control.ask(args.state, {"op": "clear", "node": args.node, "effect": args.effect})
    _say(f"{answer['cleared']} cleared")
    return 0


def _power(args: argparse.Namespace) -> int:
    control.ask(args.state, {"op": "power", "node": args.node, "what": args.what})
    return 0


def _settings(words: list[str]) -> dict[str, Any]:
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise SimfleetError(f"{word!r}: wanted key=value")
        settings[key] = _value(value)
    return settings


def _bmc(args: argparse.Namespace) -> int:
    if args.what == "log":
        print((args.state / f"bmc/{args.node}.log").read_text(encoding="utf-8"), end="")
        return 0
    ask = {"on": "quirk", "off": "clear_quirk", "status": "status"}[args.what]
    request = {"op": "bmc", "node": args.node, "ask": ask, "quirk": args.quirk, "with": _settings(args.settings)}
    answer = control.ask(args.state, request)
    if args.what == "status":
        print(json.dumps(answer, indent=1))
    return 0


def _ssh(args: argparse.Namespace) -> int:
    inventory = yaml.safe_load((args.state / "inventory.yml").read_text(encoding="utf-8"))["fleet"]
    if args.node not in inventory["hosts"]:
        raise SimfleetError(f"node: saw {args.node!r}; the fleet has {', '.join(inventory['hosts'])}")
    shared = inventory["vars"]
    options = shared["ansible_ssh_common_args"].split()
    options += ["-i", shared["ansible_ssh_private_key_file"], "-p", str(shared["ansible_port"])]
    address = inventory["hosts"][args.node]["ansible_host"]
    return subprocess.call(["ssh", "-F", "none", *options, f"root@{address}", *args.command])


def _inventory(args: argparse.Namespace) -> int:
    if control.running(args.state) is None:
        raise SimfleetError(f"no fleet is up in {args.state}; `up FLEET.yml` starts one")
    print(args.state / "inventory.yml")
    return 0


def _supervise(args: argparse.Namespace) -> int:
    from simfleet import supervisor

    return supervisor.main(args.state, load_fleet(args.fleet, args.base), os.fdopen(args.progress, "w"), args.lifeline)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simfleet", description=__doc__)
    default = os.environ.get("SIMFLEET_STATE", "/var/tmp/fleetops-simfleet")
    parser.add_argument("--state", type=Path, default=Path(default), help=f"state directory (now: {default})")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("up", help="start the fleet of a file; returns when every node answers ssh")
    verb.add_argument("fleet", type=Path)
    verb.add_argument(
        "--base", type=int, help="addresses 127.0.BASE.N in place of the file's own, to have two fleets at once"
    )
    verb.add_argument("--foreground", action="store_true", help="stay; the fleet ends with this process")
    verb.set_defaults(run=_up)
    verbs.add_parser("down", help="end the fleet and remove its state").set_defaults(run=_down)
    verb = verbs.add_parser("status", help="what every node is and shows")
    verb.add_argument("--json", action="store_true")
    verb.set_defaults(run=_status)
    verb = verbs.add_parser("fault", help=f"give a node a fault: {', '.join(EFFECTS)}")
    verb.add_argument("node")
    verb.add_argument("effect")
    verb.add_argument("settings", nargs="*", metavar="key=value")
    verb.set_defaults(run=_fault)
    verb = verbs.add_parser("clear", help="take faults away")
    verb.add_argument("node")
    verb.add_argument("effect", nargs="?")
    verb.set_defaults(run=_clear)
    verb = verbs.add_parser("power", help="the node's power, as its BMC would switch it")
    verb.add_argument("node")
    verb.add_argument("what", choices=("on", "off", "cycle", "restart", "reboot", "shutdown", "ac"))
    verb.set_defaults(run=_power)
    verb = verbs.add_parser("bmc", help="what a node's BMC is and was asked; switch its quirks on and off")
    verb.add_argument("node")
    verb.add_argument("what", nargs="?", choices=("status", "log", "on", "off"), default="status")
    verb.add_argument("quirk", nargs="?", help=f"one of {', '.join(QUIRKS).replace('%', '%%')}")
    verb.add_argument("settings", nargs="*", metavar="key=value")
    verb.set_defaults(run=_bmc)
    verb = verbs.add_parser("ssh", help="log in, or run a command")
    verb.add_argument("node")
    verb.add_argument("command", nargs=argparse.REMAINDER)
    verb.set_defaults(run=_ssh)
    verbs.add_parser("inventory", help="the path of the inventory").set_defaults(run=_inventory)
    verb = verbs.add_parser("supervise")
    verb.add_argument("fleet", type=Path)
    verb.add_argument("base", type=int)
    verb.add_argument("progress", type=int)
    verb.add_argument("lifeline", type=int)
    verb.set_defaults(run=_supervise)
    return parser


def main() -> int:
    """Parse, run, and say in one line what is wrong."""
    args = _parser().parse_args()
    args.state = args.state.absolute()
    try:
        return int(args.run(args))
    except SimfleetError as error:
        print(f"simfleet: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
