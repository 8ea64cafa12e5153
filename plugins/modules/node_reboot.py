# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node_reboot
short_description: Reboot a node and prove it
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
description:
  - Orders the reboot once and waits until the node answers with another boot id, an uptime younger than the order
    and, where asked, the wanted kernel.
  - A node that ignores the order, or does not come back in time, fails. A time-out never counts as done.
options:
  timeout:
    description: Seconds from the order until the node must have answered with a new boot id.
    type: float
    default: 1800
  kernel:
    description: The kernel release that must be running afterwards.
    type: str
  command:
    description: The command that orders the reboot.
    type: str
    default: shutdown -r now
  poll:
    description: Seconds between two looks.
    type: float
    default: 2
  answers:
    description: So many answers of the new boot in a row are wanted, since sshd may go once more while the node starts.
    type: int
    default: 5
  rollout:
    description:
      - The fact C(fleet_rollout) of M(fleetops.instinct.rollout_start). With it the reboot is ordered only while the
        lease of the rollout is still in the hands of this controller, even where it stood still since its intent.
    type: dict
"""

EXAMPLES = r"""
- name: Reboot
  fleetops.instinct.node_reboot:
    timeout: 1200
    rollout: "{{ fleet_rollout }}"
"""

RETURN = r"""
rebooted:
  description: Whether the node was rebooted; false in check mode.
  returned: success
  type: bool
boot_id_before:
  description: The boot id before the order.
  returned: success
  type: str
boot_id:
  description: The boot id after it.
  returned: when the node was rebooted
  type: str
kernel:
  description: The kernel release after it.
  returned: when the node was rebooted
  type: str
elapsed_seconds:
  description: Seconds from the order to the answer.
  returned: when the node was rebooted
  type: float
"""
