# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: redfish_firmware
short_description: Bring a node's firmware to wanted versions through its BMC
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._redfish
  - fleetops.instinct._redfish.patterns
  - fleetops.instinct._redfish.follow
  - fleetops.instinct._attributes
  - fleetops.instinct._attributes.fleet_dir
description:
  - Asks the BMC from the controller, in one session that is closed at the end; the node itself is not contacted.
  - Each component is compared first, and one that runs the wanted version is never flashed. The others are flashed in
    the order of O(components), one at a time, and each is proven by the version that is read back; what a task says of
    itself proves nothing.
  - What waits for its activation is known as staged, and is not flashed again. Every image that is sent has its intent
    in C(firmware/NODE.jsonl) below O(fleet_dir) first, so that a run after a killed one looks before it sends.
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  components:
    description: The wanted firmware, in the order in which it is to be brought in.
    type: list
    elements: dict
    required: true
    suboptions:
      component:
        description: The component, as M(fleetops.instinct.redfish_firmware_info) names it.
        type: str
        required: true
      version:
        description: The wanted version.
        type: str
        required: true
      shown_as:
        description: The same version as the BMC writes it, where that is another text.
        type: str
      scheme:
        description: How versions compare, where it is not as the component's pattern says.
        type: str
        choices: [maker, dotted, integer, hex_bytes, pi, ifwi, part_number]
      image:
        description: The image on the controller, for a push.
        type: str
      image_uri:
        description: The address from which the BMC fetches the image, for SimpleUpdate.
        type: str
      sha256:
        description: The SHA-256 of the image; needed with O(components[].image).
        type: str
      signature:
        description:
          - A program and its arguments that ends with 0 where the signature of the image holds.
          - C({image}) and C({node}) in them are replaced. It is run without a shell, before anything is sent.
        type: list
        elements: str
        default: []
      minimum_from:
        description: The oldest version that the image may be put over.
        type: str
      blocked:
        description: Versions that must never be brought in.
        type: list
        elements: str
        default: []
      product:
        description: The product that the image is for, as system's model or catalog's name; another one is refused.
        type: str
      part_number:
        description: The part that the image is for, compared with the VBIOS of the GPUs; another one is refused.
        type: str
      allow_downgrade:
        description: Whether an older version may be brought in. The BMC's lowest version is kept to all the same.
        type: bool
        default: false
      allow_unordered:
        description: Whether to flash where it cannot be told which of two versions is newer.
        type: bool
        default: false
      several:
        description: Whether one image is for all of several entries that are this component.
        type: bool
        default: false
      method:
        description:
          - How the image goes to the BMC. V(auto) is the first of the others that is offered.
          - A push URI outside of C(/redfish) is the maker's own, and is taken with V(http_push) alone.
        type: str
        choices: [auto, multipart, http_push, simple_update]
        default: auto
      targets:
        description: What to name as targets of the update; by default the component's entries, nothing where empty.
        type: list
        elements: str
      apply_time:
        description: The apply time to ask for, such as V(OnReset). None is sent where it is not given.
        type: str
      oem_part:
        description: What the maker wants as OemParameters beside the image, in place of what the catalog knows.
        type: dict
      activation:
        description:
          - What makes the flashed version the running one.
          - V(bmc_reset), V(power_cycle) (of the host) and V(ac_cycle) are done through the BMC; V(reboot) and
            V(driver_reload) are the caller's, see RV(activation).
        type: str
        choices: [none, driver_reload, bmc_reset, reboot, power_cycle, ac_cycle]
        default: none
      with_next:
        description: Whether the next component is flashed before this one is activated, by one activation for both.
        type: bool
        default: false
      driver_away:
        description: Whether the driver of the GPUs has to be unloaded for the flash; see RV(driver_away).
        type: bool
        default: false
  activated:
    description: What the caller has done since the last run for what was staged then; it is not asked for again.
    type: str
    choices: [none, driver_reload, bmc_reset, reboot, power_cycle, ac_cycle]
    default: none
  activate:
    description:
      - V(later) leaves an activation that takes the host down for another run, where nothing is to be flashed after it.
        So one boot of the node can stand for several reasons. See RV(deferred).
    type: str
    choices: [now, later]
    default: now
  ac_cycle_command:
    description:
      - A program and its arguments that cuts and restores the power of the node, used for V(ac_cycle) in place of the
        BMC's own.
      - C({node}) in them is replaced. It is run without a shell; it has to end with 0 within five minutes.
    type: list
    elements: str
    default: []
  images:
    description: The folder in which the images lie whose paths are relative.
    type: path
    default: .
  policy:
    description: The policy of the rollout, for C(max_reboots_per_node). A cut of the power counts as a reboot.
    type: dict
  rollout:
    description:
      - The fact C(fleet_rollout) of M(fleetops.instinct.rollout_start). With it every event is in the ledger as well,
        and nothing is sent once another controller has taken the rollout over.
    type: dict
"""

EXAMPLES = r"""
- name: Bring the bundle of the GPU board in
  fleetops.instinct.redfish_firmware:
    components:
      - component: gpu_bundle
        version: "01.26.00.04"
        image: images/AMD_MI300X_01.26.00.04.pldm
        sha256: 5c1f7d0b8a5b4f0c9e6e7a2d3b1c4f5a6978877665544332211000ffeeddccbb
        product: MI300X
        activation: ac_cycle
  throttle: 8
"""

RETURN = r"""
components:
  description: What became of each row.
  returned: success
  type: list
  elements: dict
  contains:
    component:
      description: The component.
      type: str
    outcome:
      description: V(unchanged), V(updated), V(staged), or in check mode V(would_update) or V(would_activate).
      type: str
    before:
      description: The version that ran before.
      type: str
    after:
      description: The version that runs now, or would in check mode.
      type: str
    wanted:
      description: The wanted version.
      type: str
    why:
      description: What it rests on.
      type: str
activation:
  description:
    - What the caller has to do before it runs this again with O(activated); V(none) where all is done.
    - In check mode the strongest of the activations that would be needed.
  returned: success
  type: str
deferred:
  description: Whether RV(activation) is all that is left, and was left for later by O(activate).
  returned: success
  type: bool
cycled:
  description: Whether the host lost its power on the way.
  returned: success
  type: bool
driver_away:
  description: In check mode, whether something would be flashed that wants the driver out of its way.
  returned: success
  type: bool
maker:
  description: Who made the BMC's service.
  returned: success
  type: str
problems:
  description: What could not be read.
  returned: success
  type: list
  elements: str
code:
  description: A stable word for why it was refused or failed; see the guide on firmware.
  returned: failure
  type: str
diagnosis:
  description: V(firmware_unproven) where nobody can say what became of an update, so that a person has to look.
  returned: failure
  type: str
"""
