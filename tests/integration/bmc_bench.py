# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator with a play of his own over simulated nodes and their BMCs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

TESTS = Path(__file__).resolve().parents[1]


class Bench:
    """The operator's fleet with the credentials of its BMCs in the inventory."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.credentials = yaml.safe_load((operator.state / "bmc-credentials.yml").read_text(encoding="ascii"))
        self.inventory = operator.folder / "bmc.yml"
        hosts = yaml.safe_load((operator.state / "inventory.yml").read_text(encoding="utf-8"))
        hosts["fleet"]["vars"] |= {f"fleet_bmc_{key}": value for key, value in self.credentials.items()}
        hosts["fleet"]["vars"]["fleet_bmc_ca"] = str(operator.state / "bmc-ca.pem")
        self.inventory.write_text(yaml.safe_dump(hosts), encoding="utf-8")

    def command(self, play: dict[str, Any], words: tuple[str, ...], variables: dict[str, Any]) -> dict[str, Any]:
        """How a play is run, for ``subprocess``."""
        path = self.operator.folder / "play.yml"
        path.write_text(yaml.safe_dump([play]), encoding="utf-8")
        made = self.operator._prepared("own", words, {"inventory": self.inventory, **variables})
        made["args"][1] = str(path)
        return made

    def bmc(self, node: str) -> dict[str, Any]:
        """What the simulator knows of a BMC."""
        return json.loads(self.operator.simfleet("bmc", node))
