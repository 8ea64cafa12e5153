# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The process of a fleet's BMCs, or BMCs alone without nodes, for measurements: `python -m simfleet.bmc --help`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import yaml

from simfleet import sockets
from simfleet.bmc.fleet import Bmcs, address_of
from simfleet.bmc.link import FleetHost
from simfleet.bmc.profile import PROFILES, BmcSpec, parse_bmc
from simfleet.errors import SimfleetError


def _given() -> list[tuple[BmcSpec, str]]:
    return [(BmcSpec(**fields), address) for fields, address in json.loads(sys.stdin.readline())]


def _alone(args: argparse.Namespace) -> list[tuple[BmcSpec, str]]:
    """So many BMCs by the names n001, n002 and so on, the makers in turn unless one is named; with an inventory."""
    rows, hosts = [], {}
    for number in range(args.first, args.first + args.count):
        name = f"n{number:03d}"
        profile = args.profile or PROFILES[number % len(PROFILES)]
        address = address_of(args.base, number)
        rows.append((parse_bmc(name, {"profile": profile, "latency": args.latency}, name), address))
        hosts[name] = {"fleet_bmc_address": address}
    args.state.mkdir(parents=True, exist_ok=True)
    (args.state / "inventory.yml").write_text(yaml.safe_dump({"fleet": {"hosts": hosts}}), encoding="ascii")
    return rows


def main() -> int:
    """Serve until the process is ended; `ready` on standard output says that every BMC takes connections."""
    parser = argparse.ArgumentParser(prog="simfleet.bmc", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="credentials, CA, logs and control socket go here")
    parser.add_argument("--for-fleet", action="store_true", help="the supervisor of a fleet gives the BMCs as JSON")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--first", type=int, default=1, help="the number of the first")
    parser.add_argument("--base", type=int, default=41, help="addresses 127.1.BASE.N")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--profile", choices=PROFILES)
    args = parser.parse_args()
    try:
        specs = _given() if args.for_fleet else _alone(args)
        bmcs = Bmcs(args.state, FleetHost(args.state) if args.for_fleet else None)
        bmcs.serve(specs)
        server = sockets.listen(args.state / "bmc")
    except SimfleetError as error:
        print(error, flush=True)
        return 1
    print("ready", flush=True)
    sockets.serve(server, bmcs.answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
