# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the unit tests."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is not a failure: no time limit per example.
settings.register_profile("fleetops", deadline=None)
settings.load_profile("fleetops")
