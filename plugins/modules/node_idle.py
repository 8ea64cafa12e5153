# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name; nothing of it runs on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node_idle
short_description: Wait until no process holds a GPU of the node
version_added: 0.1.0
author: fleetops.instinct contributors (@fleetops)
description:
  - Looks at the open files of the node's processes until none of them is C(/dev/kfd) or a render node.
  - A node that stays busy fails with the names of the processes. Nothing is ever killed. In check mode it looks once
    and fails only where it cannot look, since the jobs of now say nothing about those of then.
options:
  timeout:
    description: Seconds to wait.
    type: float
    default: 3600
  poll:
    description: Seconds between two looks.
    type: float
    default: 5
"""

EXAMPLES = r"""
- name: Wait until no process holds a GPU
  fleetops.instinct.node_idle:
    timeout: 600
"""

RETURN = r"""
holders:
  description: Empty on success; in check mode, who holds a GPU now.
  returned: success
  type: list
  elements: dict
"""
