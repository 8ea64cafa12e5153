# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A last look at the ledger right before a node is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils import rollout
from ansible_collections.fleetops.instinct.plugins.plugin_utils.ledger import Ledger


def still_ours(here: Mapping[str, Any] | None) -> None:
    """Pass if the controller of this rollout may act now.

    The ledger refuses what a controller writes that was taken over. It cannot refuse what it does: one that was frozen
    after its intent was written, and wakes up hours later, would go on with the act. So an action asks here last.

    :param here: the fact fleet_rollout; None, or one without a ledger or an epoch (a rehearsal), asks nothing.
    :raises StaleController: another controller took over.
    """
    if here and here.get("dir") and here.get("epoch") is not None:
        Ledger.at(rollout.ledger_path(here["dir"])).still_ours(here["epoch"])
