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
    and, where it is known, the planned kernel.
  - What became of a reboot that is not proven is told by one stable word, RV(diagnosis). The task then fails, also
    where the node cannot be reached any more, so that a C(rescue) runs. A time-out never counts as done, and a node is
    not called lost before one more look over a connection of its own.
  - The machine that the controller runs on is refused, also over SSH, by its boot id.
  - A node that stays silent is recovered once where the policy says so, by a command of the site or by one reset
    through its BMC, and then gets the time once more. One that answers in whatever way, with another host key or for
    a moment only, is never touched.
  - The BMC is found by the host variables C(fleet_bmc_address), C(fleet_bmc_user), C(fleet_bmc_password) and the other
    options of M(fleetops.instinct.redfish_firmware) with C(fleet_bmc_) in front.
options:
  timeout:
    description: Seconds from the order until the node must have answered with a new boot id.
    type: float
    default: 1800
  kernel:
    description:
      - The kernel release that must be running afterwards, as from
        RV(fleetops.instinct.rocm_release#module:next_boot_kernel).
      - Where it is not given or empty, nothing is claimed of the kernel.
    type: str
  order:
    description:
      - With V(false) nothing is ordered. The task waits until a node that may be in the middle of a reboot, since its
        controller died, has answered O(answers) times in a row in one boot, whichever. One that stays silent is
        recovered only where the ledger holds a reboot whose end nobody saw, and no recovery for it.
    type: bool
    default: true
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
  policy:
    description:
      - The policy of the rollout, of which C(max_reboots_per_node), C(reboot_recovery), C(reboot_recovery_command) and
        C(reboot_recovery_reset) are read.
    type: dict
  rollout:
    description:
      - The fact C(fleet_rollout) of M(fleetops.instinct.rollout_start). With it the reboot is ordered only while the
        lease of the rollout is still in the hands of this controller, even where it stood still since its intent. Each
        order is counted in the ledger, and the one after the last that the policy allows is refused.
    type: dict
"""

EXAMPLES = r"""
- name: Reboot
  fleetops.instinct.node_reboot:
    timeout: 1200
    rollout: "{{ fleet_rollout }}"
"""

RETURN = r"""
diagnosis:
  description:
    - What became of the reboot.
    - V(rebooted) is a new boot that held, younger than the order, on the planned kernel where that is known.
    - V(refused) is a node that said no, or that is the controller itself. V(loop) is one that was rebooted as often as
      the policy allows. V(no_answer) is one that could not be read before the order. None of them was rebooted.
    - V(ignored) still runs the boot of before. V(doubled) booted more often than it was ordered to. V(wrong_kernel)
      runs another kernel than the planned one. V(not_younger) is up for longer than the order is old.
    - V(flapping) answered in a new boot and never long enough. V(host_key_changed) answers with another host key.
      V(never_back) is silent to the end.
  returned: failure, and when the node was rebooted
  type: str
evidence:
  description: What a diagnosis other than V(rebooted) rests on.
  returned: failure
  type: dict
  contains:
    port_answers:
      description: Whether the SSH port takes a connection from the controller; null where that cannot be told.
      type: bool
    boots:
      description: The new boot ids that were seen since the order.
      type: list
      elements: str
    last_error:
      description: What the last look met instead of an answer.
      type: str
    recovery:
      description: What its recovery did, or why that failed; not there where none was tried.
      type: str
kernel_planned:
  description: The kernel that was to boot; null where it is not known.
  returned: when the node was rebooted
  type: str
recovered:
  description: Whether the node came back only after its recovery.
  returned: when the node was rebooted, or waited for
  type: bool
rebooted:
  description: Whether the node was rebooted; false in check mode, and where nothing was ordered.
  returned: success
  type: bool
boot_id_before:
  description: The boot id before the order.
  returned: when a reboot was ordered, or would be
  type: str
boot_id:
  description: The boot id after it.
  returned: success, but not in check mode
  type: str
kernel:
  description: The kernel release after it.
  returned: success, but not in check mode
  type: str
elapsed_seconds:
  description: Seconds from the order to the answer.
  returned: when the node was rebooted
  type: float
"""
