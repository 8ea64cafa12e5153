# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which attempt a new plan is: a plan made again after its rollout ended badly must not share that rollout's ledger."""

from __future__ import annotations

import os
from pathlib import Path


def next_attempt(fleet_dir: str) -> int:
    """1 + the number of rollouts below ``fleet_dir`` whose ledger says that the rollout is over and was not clean."""
    return 1 + len(list((Path(os.path.abspath(fleet_dir)) / "rollouts").glob("*/ended")))
