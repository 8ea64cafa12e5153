#!/usr/bin/python
# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_settings
short_description: Kernel command line, module options and sysctl of a GPU node as one declared set
version_added: 0.1.0
author:
  - fleetops.instinct contributors (@fleetops)
description:
  - What is not named is not set by this collection; an empty set takes its drop-ins away again.
  - Arguments go into C(/etc/default/grub.d/99-fleetops.cfg), as far as no other file gives them already, and the
    generated C(/boot/grub/grub.cfg) is read back to see that the next boot carries every one of them.
  - A file that is read after the drop-in and undoes it makes the module fail before anything is changed, and is named.
  - Module options go into C(/etc/modprobe.d/fleetops-instinct.conf), with a new initramfs, since some distributions
    read them only from there.
  - Sysctl settings go into C(/etc/sysctl.d/90-fleetops.conf) and are set live. One that is taken out again before the
    next boot gets the value back that it had.
options:
  cmdline:
    description: Arguments that the command line must carry, such as V(iommu=pt).
    type: list
    elements: str
  module_options:
    description: By module, its parameters and their values.
    type: dict
  sysctl:
    description: By key, the value.
    type: dict
  snapshot:
    description: Put back the drop-ins, or their absence, as M(fleetops.instinct.node_snapshot) recorded them.
    type: dict
attributes:
  check_mode:
    description: Predicts the change from files alone.
    support: full
  diff_mode:
    description: Shows the drop-ins and the live values before and after.
    support: full
  platform:
    description: Debian and Ubuntu. The command line can be changed where the node boots by grub.
    support: full
    platforms: debian
seealso:
  - module: fleetops.instinct.node_snapshot
  - module: fleetops.instinct.rocm_release
"""

EXAMPLES = r"""
- name: Set what AMD asks for on a bare-metal MI300X node
  fleetops.instinct.kernel_settings:
    cmdline: [pci=realloc=off, iommu=pt]
    sysctl:
      kernel.numa_balancing: 0
  register: settings

- name: Say whether the node has to be rebooted
  ansible.builtin.debug:
    var: settings.reboot_required
"""

RETURN = r"""
settings:
  description: What was changed, or in check mode would be.
  returned: success
  type: dict
  contains:
    files:
      description: Drop-ins that differ.
      type: list
      elements: str
    live:
      description: Sysctl values that differ, by key.
      type: dict
    grub:
      description: Whether grub.cfg is made anew.
      type: bool
    initramfs:
      description: Whether the initramfs is made anew.
      type: bool
reboot_required:
  description:
    - Whether the running kernel lacks a wanted argument, still has one that was taken out, or runs with other module
      options.
  returned: success
  type: bool
next_boot_kernel:
  description: Release of the kernel that boots next, as the boot loader's files tell it; null where they do not.
  returned: success
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import next_boot_kernel
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._module import run_module
from ansible_collections.fleetops.instinct.plugins.module_utils._settings import settle, shown
from ansible_collections.fleetops.instinct.plugins.module_utils._snapshot import complete

SPEC = {
    "cmdline": {"type": "list", "elements": "str"},
    "module_options": {"type": "dict"},
    "sysctl": {"type": "dict"},
    "snapshot": {"type": "dict"},
}


def body(module: AnsibleModule) -> dict:
    host, snapshot = Host(), module.params["snapshot"]
    params = {**module.params, "snapshot": None if snapshot is None else complete(host, snapshot)}
    outcome = settle(host, params, module.check_mode)
    change = outcome.change
    told = {
        "changed": bool(change),
        "reboot_required": outcome.reboot_required,
        "next_boot_kernel": next_boot_kernel(host),
        "settings": {
            "files": sorted(change.files),
            "live": change.live,
            "grub": change.grub,
            "initramfs": change.initramfs,
        },
    }
    if module._diff:
        told["diff"] = {"before": shown(outcome, after=False), "after": shown(outcome, after=True)}
    return told


def main() -> None:
    run_module(SPEC, body, mutually_exclusive=[("snapshot", name) for name in ("cmdline", "module_options", "sysctl")])


if __name__ == "__main__":
    main()
