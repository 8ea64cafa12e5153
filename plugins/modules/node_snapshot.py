#!/usr/bin/python
# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_snapshot
short_description: Record on the node what a way back needs
version_added: 0.1.0
author:
  - fleetops.instinct contributors (@fleetops)
description:
  - Records AMD's packages with their exact versions, states and holds, the source, pin and keyring files that name
    AMD's repositories, this collection's kernel settings, both command lines, the loaded driver, and whether each
    package can still be had.
  - The first snapshot of a rollout stays. A later run returns it and changes nothing, so that a resumed rollout does
    not record a node that is half changed.
  - The file is readable by root only. A source file with credentials in its addresses is recorded there and nowhere
    else. The result says that it was withheld, in which file it is, and its digest, so that a way back restores it on
    this node and it never comes to the controller.
options:
  rollout:
    description: Name of the rollout, such as its plan id.
    type: str
    required: true
  path:
    description: Folder of the snapshots.
    type: path
    default: /var/lib/fleetops/snapshots
attributes:
  check_mode:
    description: Returns what would be recorded.
    support: full
  diff_mode:
    description: A snapshot is new or untouched. There is nothing to compare.
    support: none
  platform:
    description: Debian and Ubuntu.
    support: full
    platforms: debian
seealso:
  - module: fleetops.instinct.rocm_release
  - module: fleetops.instinct.kernel_settings
"""

EXAMPLES = r"""
- name: Record the node before the rollout changes it
  fleetops.instinct.node_snapshot:
    rollout: 3f9a0c12d4e5
  register: recorded

- name: Stop where there is no way back
  ansible.builtin.assert:
    that: recorded.snapshot.rollback.ready
    fail_msg: "{{ recorded.snapshot.rollback.why | join('; ') }}"
"""

RETURN = r"""
snapshot:
  description: The snapshot, as it is in the file but for files with credentials.
  returned: success
  type: dict
  contains:
    packages:
      description: By name, C(version), C(state) and C(hold) of each package of AMD.
      type: dict
    obtainable:
      description: By name, whether the repositories offer the installed version; null where that cannot be told.
      type: dict
    rollback:
      description: C(ready), and C(why) it is not.
      type: dict
    apt_files:
      description:
        - By path, C(text) or C(base64) and C(mode) of the files that name AMD's repositories; null for no file.
        - For a file with credentials, C(withheld) is a digest and C(kept_in) the file on the node that has the text.
      type: dict
    kernel_settings:
      description: The drop-ins of M(fleetops.instinct.kernel_settings), in C(files) as in C(apt_files).
      type: dict
file:
  description: File of the snapshot on the node.
  returned: success
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._module import run_module
from ansible_collections.fleetops.instinct.plugins.module_utils._snapshot import (
    FOLDER,
    keep,
    load,
    path_of,
    public,
    take,
)

SPEC = {"rollout": {"type": "str", "required": True}, "path": {"type": "path", "default": FOLDER}}


def body(module: AnsibleModule) -> dict:
    host, rollout = Host(), module.params["rollout"]
    path = path_of(module.params["path"], rollout)
    kept = load(host, path, rollout)
    snapshot = kept or take(host, rollout)
    if kept is None and not module.check_mode:
        keep(host, path, snapshot)
    return {"changed": kept is None, "snapshot": public(snapshot, path), "file": path}


def main() -> None:
    run_module(SPEC, body)


if __name__ == "__main__":
    main()
