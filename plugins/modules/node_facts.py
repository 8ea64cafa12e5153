#!/usr/bin/python
# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts
short_description: Read everything about a node's AMD Instinct GPUs in one pass
version_added: 0.1.0
description:
  - Reads a node's GPUs, their PCI Express path hop by hop, the driver, the ROCm user space, package state and the
    kernel settings that bear on them, in one task and without starting another program, but for C(rpm) where that keeps
    the packages.
  - A value that cannot be read is V(null) and has a row in RV(ansible_facts.instinct.problems).
    It is never zero and never taken for a pass.
options:
  gather_subset:
    description:
      - Parts to gather, V(all), or V(all) without those named after a V(!).
      - V(node) (boot, kernel, operating system, free space), V(platform) (maker, board, BIOS, processor), V(gpu)
        (identity, driver, partition), V(link) (each PCI Express hop with its AER counters), V(firmware) (blocks and
        VBIOS), V(driver) (packages, dkms, next boot), V(rocm) (releases, packages, repositories, pins), V(settings)
        (kernel settings), V(ras) (memory errors, retired pages, heat), V(activity) (processes that have a GPU open)
        and V(log) (what the kernel log says about GPUs, their paths and their host).
      - V(lspci) starts C(lspci) and fills what V(link) left open, with a row in RV(ansible_facts.instinct.problems)
        where the two disagree. It is slow, so V(all) leaves it out; ask for it by name, with V(link).
      - V(smi) starts C(amd-smi), or C(rocm-smi) where that gives nothing, as a second source beside the kernel's files,
        for the board's firmware bundle, and for whether too many pages are bad. It is slow, so V(all) leaves it out.
      - V(initramfs) unpacks the initramfs of the next boot and tells in V(driver), which it brings along, whether the
        driver is in it. It is slow, so V(all) leaves it out.
      - V(previous_log) reads the kernel log of the boot before from the journal. It is slow, so V(all) leaves it out.
    type: list
    elements: str
    default: [all]
  as_text:
    description:
      - Return the facts as one text, RV(facts), in place of RV(ansible_facts). The audit asks for it, since Ansible
        goes over every value of a result several times.
    type: bool
    default: false
    version_added: 0.2.0
extends_documentation_fragment:
  - fleetops.instinct._attributes.reads
  - fleetops.instinct._attributes.facts
notes:
  - Run it as root. Files of other users' processes and some files of the GPUs cannot be read otherwise.
author:
  - fleetops.instinct contributors (@fleetops)
"""

EXAMPLES = r"""
- name: Read everything
  fleetops.instinct.node_facts:

- name: Look only at the driver and the packages, or at all but who has the GPUs open ("!activity")
  fleetops.instinct.node_facts:
    gather_subset: [driver, rocm]

- name: Stop where a GPU is on the bus and the driver did not start it
  ansible.builtin.assert:
    that: ansible_facts.instinct.gpus | rejectattr('initialised') | length == 0
"""

RETURN = r"""
facts:
  description: RV(ansible_facts.instinct) as JSON.
  returned: with O(as_text=true)
  type: str
ansible_facts:
  description: The facts of the node; parts that were not asked for are left out.
  returned: without O(as_text=true)
  type: dict
  contains:
    instinct:
      description: All of it.
      returned: success
      type: dict
      contains:
        schema:
          description: Version of this shape.
          returned: success
          type: int
          sample: 1
        node:
          description: Name, boot id, uptime in seconds, running and next kernel with both command lines, entries of
            the boot loader, operating system, state of Secure Boot, and free bytes by folder.
          returned: with subset C(node)
          type: dict
          sample: {"host": "g01", "kernel": {"running": "6.1.0-40-amd64", "next_boot": "6.1.0-40-amd64"}}
        platform:
          description: Maker, product, board and BIOS of the machine.
          returned: with subset C(platform)
          type: dict
          sample: {"vendor": "Supermicro", "bios_version": "3.2"}
        gpus:
          description: One row per GPU on the PCI bus, whether or not a driver owns it; V(null) where the bus cannot
            be read.
          returned: with subset C(gpu), C(link), C(firmware), C(ras) or C(log)
          type: list
          elements: dict
          contains:
            bdf:
              description: PCI address, the key of the row.
              returned: success
              type: str
              sample: "0000:63:00.0"
            device_id:
              description: PCI device id; RV(ansible_facts.instinct.gpus[].bdf) and this are known without a driver.
              returned: with subset C(gpu)
              type: str
              sample: 74a1
            kind:
              description: C(pf), C(vf), or C(unknown) where a virtual machine does not show it.
              returned: with subset C(gpu)
              type: str
              sample: pf
            initialised:
              description: Whether amdgpu is bound to the GPU and has made it available for work.
              returned: with subset C(gpu)
              type: bool
              sample: true
            init_error:
              description: The line of the kernel log that says why the driver does not serve the GPU.
              returned: with subset C(log)
              type: str
              sample: null
            firmware:
              description: Versions of the firmware blocks the GPU has, by the kernel's name of the block. C(scheme)
                tells how versions of the block compare, C(value) is the version in its one form, and C(sources) is
                what each source wrote.
              returned: with subset C(firmware)
              type: dict
              sample: {"sos": {"scheme": "hex_bytes", "value": "00.36.02.56", "sources": {"sysfs": "0x00360256"}}}
            smi:
              description: What C(amd-smi) or C(rocm-smi) says about the GPU; V(null) where it does not know the GPU.
                Its firmware is in C(firmware) as well, and what disagrees with the kernel's files is told in
                RV(ansible_facts.instinct.problems).
              returned: with subset C(smi)
              type: dict
              sample: {"tool": "amd-smi 26.0.2", "device_id": "74a1", "bad_page_threshold_exceeded": false}
            partition:
              description: Compute and memory partition modes.
              returned: with subset C(gpu)
              type: dict
              sample: {"compute": "SPX", "memory": "NPS1"}
            link:
              description: Hops from the GPU up to the root port with speed in GT/s and width in lanes, what each could
                do, all readings of the speed, ASPM, AER counters, sticky error bits and whether the device answers.
                C(role) is C(gpu), C(board_switch), C(switch) or C(root_port).
              returned: with subset C(link)
              type: list
              elements: dict
              sample: [{"bdf": "0000:63:00.0", "role": "gpu", "speed_gts": 32.0, "width": 16}]
            aer:
              description: Totals of the correctable, nonfatal and fatal PCI Express errors since boot.
              returned: with subset C(link)
              type: dict
              sample: {"correctable": 0, "nonfatal": 0, "fatal": 0}
            busy_percent:
              description: Load of the GPU; with C(link_levels), the speeds and widths its power management uses, it
                tells whether an idle GPU explains a slow link.
              returned: with subset C(link)
              type: int
              sample: 0
            ras:
              description: Uncorrectable, correctable and deferred errors by block since the driver was loaded.
              returned: with subset C(ras)
              type: dict
              sample: {"umc": {"ue": 0, "ce": 0}}
            bad_pages:
              description: Number of memory pages that are retired or about to be; by state in C(bad_pages_by_state).
              returned: with subset C(ras)
              type: int
              sample: 0
            temperatures:
              description: Degrees Celsius by sensor, with the limits the device itself has; C(power) is in watts.
              returned: with subset C(ras)
              type: dict
              sample: {"junction": {"celsius": 41.0, "critical": 100.0, "emergency": 105.0}}
        driver:
          description: What is loaded and from where, what is installed and whether that is it, builds of dkms per
            kernel, leftovers of old versions, firmware files, what the next boot loads and what would keep it out, and
            whether headers, a compiler and a trusted key for a build are there.
          returned: with subset C(driver)
          type: dict
          sample: {"loaded": true, "version": "6.14.14", "origin": "dkms", "ready_for_next_boot": true}
        rocm:
          description: The active release, those installed side by side and what is left of others, the package manager
            and who holds its lock, AMD's packages and those of the distribution under its names, repositories, pins,
            holds, what installs updates by itself, and whether the package lists still offer what is installed.
          returned: with subset C(rocm)
          type: dict
          sample: {"active": "7.0.2", "installed": ["7.0.2"], "holds": ["rocm-core"], "obtainable": {"rocm-core": true}}
        settings:
          description: ASPM, IOMMU, idle states over all processors, governors, boost, NUMA balancing, huge pages, SMT,
            SR-IOV, module options and parameters, and sysctl values as they are now; and for some of them what each
            layer (running kernel, command line, next boot, files) says.
          returned: with subset C(settings)
          type: dict
          sample: {"aspm": {"policy": "default", "cmdline_off": false}, "thp": "madvise"}
        holders:
          description: Processes that have a GPU open; V(null) where that cannot be told.
          returned: with subset C(activity)
          type: list
          elements: dict
          sample: [{"pid": 812, "command": "python3", "device": "/dev/kfd", "container": null}]
        log:
          description: Signatures found in the kernel log of this boot, counted by PCI function, and in C(previous) of
            the boot before; V(null) where it cannot be read. See the reference of log signatures.
          returned: with subset C(log) or C(previous_log)
          type: dict
          sample: {"source": "kmsg", "complete": true, "lines": 2481, "signatures": [], "previous": null}
        problems:
          description: What could not be read or understood, and why.
          returned: success
          type: list
          elements: dict
          sample: [{"subset": "link", "subject": "0000:63:00.0 current_link_speed", "reason": "OSError: I/O error"}]
"""

from typing import TYPE_CHECKING

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import select
from ansible_collections.fleetops.instinct.plugins.module_utils._facts_module import run_facts_module
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

if TYPE_CHECKING:
    # So that Ansible ships what the slow subsets need: it reads the text for imports.
    from ansible_collections.fleetops.instinct.plugins.module_utils._collect import initramfs, lspci, reconcile, smi  # noqa: F401


def main():
    """Entry point."""
    run_facts_module(Host(), select)


if __name__ == "__main__":
    main()
