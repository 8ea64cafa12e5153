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
  - Shows the records of this run as a table by node and a summary of the fleet, and writes them as C(audit.json).
  - A node that gave no record in this run counts as unknown.
  - Fails when a node is blocked, unknown or unhealthy. Runs on the controller alone.
options:
  nodes:
    description: The nodes to report on.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Tell what the fleet is fit for
  fleetops.instinct.audit_report:
    nodes: "{{ ansible_play_hosts_all }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
summary:
  description: How many nodes are at target, may move, are blocked, unknown or unhealthy.
  returned: always
  type: dict
path:
  description: The file with every finding.
  returned: always
  type: str
"""
