# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the unit tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A busy machine is not a failure: no time limit per example. HYPOTHESIS_EXAMPLES=5000 looks harder.
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "100"))
settings.register_profile(
    "fleetops", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fleetops")
