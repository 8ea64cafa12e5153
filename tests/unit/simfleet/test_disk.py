# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host key of a node: the same over its boots, unless a fault gives it another one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from simfleet.disk import Places, host_key


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="keys are made by ssh-keygen")
def test_a_node_has_one_host_key_and_another_one_while_a_fault_says_so(tmp_path: Path) -> None:
    (tmp_path / "room/root/etc/ssh").mkdir(parents=True)
    places = Places(tmp_path / "room", tmp_path, (), "")
    seen = []
    for another in (False, True, False, True):
        host_key(places, another)
        seen.append((places.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text())
    assert seen[0] == seen[2] != seen[1] == seen[3]
