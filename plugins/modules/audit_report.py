# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: audit_report
short_description: Tell what the fleet is fit for
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
extends_documentation_fragment:
  - fleetops.instinct._attributes.fleet_dir
description:
  - Shows the records of this run as a table by node and a summary of the fleet, and writes them as C(audit.json) and
    C(audit.html), under check mode as well.
  - A node that gave no record in this run counts as unreachable.
  - Fails unless the fleet is clean. Why is told by RV(code), which RV(msg) begins with. Runs on the controller alone.
options:
  nodes:
    description:
      - The nodes to report on. With O(facts_from), one without a file of its name counts as unreachable, a file of none
        of the hosts in the inventory is told as a warning, and every file is a node where none is given.
    type: list
    elements: str
    default: []
  facts_from:
    description:
      - A folder of files C(NAME.json) to judge first, as if the nodes had been asked; nothing is connected to.
      - A file holds the facts of M(fleetops.instinct.node_facts), as the audit keeps them in C(facts) of O(fleet_dir)
        or as a task returned them, or a machine that M(fleetops.instinct.record_node) wrote, whose facts are gathered
        here.
      - A file that cannot be used makes its node unknown, with the reason. It never ends the task.
    type: path
  target:
    description: The target file, for its name, and for what is judged by it with O(facts_from).
    type: path
  policy:
    description: The policy, as a dict or the path of a file, for O(facts_from).
    type: raw
  catalog:
    description: What a site lays over the catalog, a YAML file or a folder of them.
    type: path
  forms:
    description:
      - Where to write the result as a page for the browser, as JUnit XML and as Markdown. The page goes to
        C(audit.html) below O(fleet_dir) where it is not given, the others only to where a path is given.
    type: dict
    suboptions:
      html:
        description: One file that needs nothing else.
        type: path
      junit:
        description: Test cases for a CI system.
        type: path
      markdown:
        description: A text for a ticket.
        type: path
"""

EXAMPLES = r"""
- name: Tell what the fleet is fit for
  fleetops.instinct.audit_report:
    nodes: "{{ ansible_play_hosts_all }}"
  run_once: true
  delegate_to: localhost

- name: Judge what was sent from elsewhere
  fleetops.instinct.audit_report:
    facts_from: from-site-b
    target: target.yml
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
summary:
  description: How many nodes are at target, may move, are blocked, unknown or unhealthy.
  returned: always
  type: dict
code:
  description:
    - V(clean), or the worst of V(bad_input), V(unreachable), V(unknown), V(unhealthy), V(blocked) and V(waiver_expired)
      that applies, in this order.
  returned: always
  type: str
codes:
  description: How many nodes each code applies to.
  returned: always
  type: dict
  sample: {"unreachable": 1, "blocked": 3}
msg:
  description: The codes with their nodes; the last line that an operator sees.
  returned: always
  type: str
files:
  description: The path of each form that was written.
  returned: always
  type: dict
path:
  description: The file with every finding.
  returned: always
  type: str
"""
