# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What earlier rollouts below the same fleet directory mean for a new plan."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils import rollout, states
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger

SETTLED = states.TERMINAL | {"planned", "failed"}


def is_spent(fleet_dir: str, plan_id: str) -> bool:
    """True where a rollout of this very plan exists and lost nodes: a new try needs a plan and a ledger of its own."""
    path = rollout.ledger_path(rollout.rollout_dir(fleet_dir, plan_id))
    return path.exists() and any(row["state"] in states.LOST for row in Ledger.open(path).nodes().values())


def refuse_unfinished(fleet_dir: str) -> None:
    """Refuse to plan around a rollout that was cut off: its nodes are neither old nor new.

    :raises FleetError: naming the rollout, the nodes under way and the two ways out.
    """
    for directory in rollout.all_rollouts(fleet_dir):
        under_way = [
            f"{node} {row['state']}"
            for node, row in Ledger.open(rollout.ledger_path(directory)).nodes().items()
            if row["state"] not in SETTLED
        ]
        if under_way:
            raise FleetError(
                str(directory),
                f"this rollout was cut off with nodes under way: {', '.join(under_way)}",
                "no node under way",
                f"go on with it (upgrade -e plan={rollout.plan_path(fleet_dir, directory.name)}) or roll it back "
                f"(rollback -e rollout={directory.name})",
            )
