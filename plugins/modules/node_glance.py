#!/usr/bin/python
# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_glance
short_description: Read of a node what an audit asks by default
version_added: 0.2.0
description:
  - Returns what M(fleetops.instinct.node_facts) returns, without the subsets that are gathered by name only. It is what
    an audit runs on each node, since what is not sent need not be packed, sent and read.
  - Use M(fleetops.instinct.node_facts) in your own plays. This one is for the actions of this collection.
options:
  gather_subset:
    description:
      - As in M(fleetops.instinct.node_facts), without V(lspci), V(smi), V(initramfs) and V(previous_log).
    type: list
    elements: str
    default: [all]
  as_text:
    description:
      - Return the facts as one text, RV(facts), in place of RV(ansible_facts).
    type: bool
    default: false
extends_documentation_fragment:
  - fleetops.instinct._attributes.reads
  - fleetops.instinct._attributes.facts
seealso:
  - module: fleetops.instinct.node_facts
author:
  - fleetops.instinct contributors (@fleetops)
"""

EXAMPLES = r"""
- name: Read everything that is not slow
  fleetops.instinct.node_glance:
"""

RETURN = r"""
facts:
  description: RV(ansible_facts.instinct) as JSON.
  returned: with O(as_text=true)
  type: str
ansible_facts:
  description: The facts of the node, as M(fleetops.instinct.node_facts) describes them.
  returned: without O(as_text=true)
  type: dict
  contains:
    instinct:
      description: All of it.
      returned: success
      type: dict
"""

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.registry import default_only
from ansible_collections.fleetops.instinct.plugins.module_utils._facts_module import run_facts_module
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host


def main():
    """Entry point."""
    run_facts_module(Host(), default_only)


if __name__ == "__main__":
    main()
