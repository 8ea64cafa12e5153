#!/usr/bin/python
# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_record
short_description: Record what is read of a node, without what identifies it
version_added: 0.2.0
description:
  - Gathers the facts as M(fleetops.instinct.node_facts) does and returns all that was read for them, as one JSON map of
    files, links and answers of programs. Facts are gathered from such a map as from the node, so it is a test, and the
    way to show a machine to somebody who cannot reach it.
  - Serial numbers, unique ids, UUIDs, MAC addresses, container ids, mail addresses, names of hosts, addresses and
    credentials are replaced, the same value by the same replacement. The result is searched for the originals, and the
    module fails where one is left. Look it through before you send it all the same.
  - Of processes only those that hold a GPU are kept, of packages only those that concern ROCm, the driver and the
    kernel, of the kernel log only lines about PCI Express, memory errors and the GPUs.
options:
  gather_subset:
    description: Parts to record, as for M(fleetops.instinct.node_facts).
    type: list
    elements: str
    default: [all]
extends_documentation_fragment:
  - fleetops.instinct._attributes.reads
seealso:
  - module: fleetops.instinct.node_facts
author:
  - fleetops.instinct contributors (@fleetops)
"""

EXAMPLES = r"""
- name: Record a node
  fleetops.instinct.node_record:
  register: recorded

- name: Record a node with what amd-smi and the log of the previous boot say
  fleetops.instinct.node_record:
    gather_subset: [all, smi, previous_log]
  register: recorded
"""

RETURN = r"""
machine:
  description: The map. Its key C(expect) is what node_facts makes of it, to be corrected where that is wrong.
  returned: success
  type: dict
  sample: {"schema": 1, "files": {"/proc/uptime": "812.40 51000.12"}, "links": {}, "expect": {"gpus": 8}}
"""

import secrets

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import select
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host
from ansible_collections.fleetops.instinct.plugins.module_utils._module import run_module
from ansible_collections.fleetops.instinct.plugins.module_utils._record import record


def recorded(module) -> dict:
    """What the module returns."""
    subsets = select(module.params["gather_subset"])
    return {"changed": False, "machine": record(Host(), subsets, secrets.token_hex(16))}


def main():
    """Entry point."""
    spec = {"gather_subset": {"type": "list", "elements": "str", "default": ["all"]}}
    run_module(spec, recorded, supports_check_mode=True)


if __name__ == "__main__":
    main()
