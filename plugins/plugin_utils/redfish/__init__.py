# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmware through a node's BMC, over Redfish. ``client.py`` alone speaks to a BMC; the rest decides, and is pure."""

from __future__ import annotations
