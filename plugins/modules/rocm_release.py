#!/usr/bin/python
# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rocm_release
short_description: Bring a node's ROCm and driver packages to one release, or back to a snapshot
version_added: 0.1.0
author:
  - fleetops.instinct contributors (@fleetops)
description:
  - The declared set is AMD's repositories, the key that signs them, a pin, every installed package of AMD at the wanted
    release, and a hold on each.
  - A node that has all of that is told from its files alone, without a process being started.
  - A change is rehearsed first. The lists are fetched beside the node's own configuration and apt simulates the
    transaction, so that an address that cannot be reached, a wrong key, a missing version, a package from another
    repository, unmet dependencies and a full disk are found before anything is touched. In check mode the rehearsal is
    the answer.
  - Other source files that name AMD's repositories, and pins on them, are taken out, since they would compete.
  - Only nodes with apt can be changed. On others the module fails and changes nothing.
options:
  release:
    description: The ROCm release, such as V(7.0.2).
    type: str
  driver:
    description: The driver release, such as V(30.10.2). Up to ROCm 6.4 it is the ROCm release.
    type: str
  packages:
    description: Packages that must be installed. Whatever else of AMD's is installed comes to the release with them.
    type: list
    elements: str
    default: [rocm, amdgpu-dkms]
  repository:
    description: Addresses of AMD's repositories, complete.
    type: dict
    suboptions:
      rocm:
        description:
          - Address of the repository of ROCm, without user and password. Those belong on the nodes, into
            C(/etc/apt/auth.conf.d).
        type: str
        required: true
      driver:
        description: Address of the repository of the driver.
        type: str
        required: true
      suite:
        description: Suite in both, such as V(jammy).
        type: str
        required: true
      component:
        description: Component in both.
        type: str
        default: main
      origin:
        description: What the Release files of both give as their Origin. The pin goes by it.
        type: str
        default: repo.radeon.com
  key:
    description: The armored public key that signs both repositories.
    type: str
  hold:
    description: Hold AMD's packages, so that no other run of apt moves them.
    type: bool
    default: true
  snapshot:
    description:
      - Go back to exactly what M(fleetops.instinct.node_snapshot) recorded - repository files, pins, keyrings,
        versions and holds. Packages of AMD that the snapshot does not have are removed.
      - A file that was withheld for its credentials is read from the node's own file. Where that is gone, or is another
        one, the module fails and changes nothing.
    type: dict
  lock_timeout:
    description: Seconds to wait for another process that holds the package manager's lock.
    type: int
    default: 300
  install_timeout:
    description: Seconds that the transaction may take, the build of the driver included.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Predicts the change by fetching the lists and simulating it in a temporary folder.
    support: full
  diff_mode:
    description: Shows apt's files and AMD's packages before and after.
    support: full
  platform:
    description: Debian and Ubuntu.
    support: full
    platforms: debian
seealso:
  - module: fleetops.instinct.node_snapshot
  - module: fleetops.instinct.kernel_settings
"""

EXAMPLES = r"""
- name: Bring the node to ROCm 7.0.2 with driver 30.10.2
  fleetops.instinct.rocm_release:
    release: 7.0.2
    driver: 30.10.2
    repository:
      rocm: https://mirror.example/rocm/apt/7.0.2
      driver: https://mirror.example/amdgpu/30.10.2/ubuntu
      suite: jammy
    key: "{{ lookup('ansible.builtin.file', 'rocm.gpg.asc') }}"

- name: Go back
  fleetops.instinct.rocm_release:
    snapshot: "{{ snapshot_result.snapshot }}"
"""

RETURN = r"""
release:
  description: What was changed, or in check mode would be.
  returned: success
  type: dict
  contains:
    packages:
      description: By name, each package that differs, C(before) and C(after), null where it is not installed.
      type: dict
    files:
      description: Files of apt's configuration that differ.
      type: list
      elements: str
    leftovers:
      description: Folders below C(/var/lib/dkms/amdgpu) whose source is gone, which are removed.
      type: list
      elements: str
reboot_required:
  description: Whether the loaded driver is another than the installed one.
  returned: success
  type: bool
next_boot_kernel:
  description: Release of the kernel that boots next, as the boot loader's files tell it; null where they do not.
  returned: success
  type: str
kind:
  description:
    - The cause of a failure - package_manager_locked, dkms_build_failed, disk_full, file_conflict,
      repository_unreachable, repository_untrusted, version_unavailable, unmet_dependencies or unknown.
  returned: when a change failed
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fleetops.instinct.plugins.module_utils._boot_entries import next_boot_kernel
from ansible_collections.fleetops.instinct.plugins.module_utils._converge import converge, result, shown
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._module import run_module
from ansible_collections.fleetops.instinct.plugins.module_utils._release import release_goal, snapshot_goal
from ansible_collections.fleetops.instinct.plugins.module_utils._snapshot import complete
from ansible_collections.fleetops.instinct.plugins.module_utils._transaction import Limits

REPOSITORY = {
    "rocm": {"type": "str", "required": True},
    "driver": {"type": "str", "required": True},
    "suite": {"type": "str", "required": True},
    "component": {"type": "str", "default": "main"},
    "origin": {"type": "str", "default": "repo.radeon.com"},
}
SPEC = {
    "release": {"type": "str"},
    "driver": {"type": "str"},
    "packages": {"type": "list", "elements": "str", "default": ["rocm", "amdgpu-dkms"]},
    "repository": {"type": "dict", "options": REPOSITORY},
    "key": {"type": "str", "no_log": False},
    "hold": {"type": "bool", "default": True},
    "snapshot": {"type": "dict"},
    "lock_timeout": {"type": "int", "default": 300},
    "install_timeout": {"type": "int", "default": 3600},
}


def body(module: AnsibleModule) -> dict:
    host, params = Host(), module.params
    snapshot = params["snapshot"]
    goal = snapshot_goal(complete(host, snapshot)) if snapshot is not None else release_goal(params)
    limits = Limits(params["lock_timeout"], params["install_timeout"])
    outcome = converge(host, goal, limits, module.check_mode)
    told = {**result(outcome), "next_boot_kernel": next_boot_kernel(host)}
    if module._diff:
        told["diff"] = {"before": shown(outcome.before, outcome.after), "after": shown(outcome.after, outcome.before)}
    return told


def main() -> None:
    run_module(
        SPEC,
        body,
        required_one_of=[("release", "snapshot")],
        mutually_exclusive=[("release", "snapshot"), ("driver", "snapshot"), ("repository", "snapshot")],
        required_together=[("release", "driver", "repository", "key")],
    )


if __name__ == "__main__":
    main()
