# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A laboratory for each test that asks for one, over one collection with doubles for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.tests.integration.waves import playbook_lab


@pytest.fixture(scope="session")
def doubled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path of collections in which the modules that run on a node are doubles."""
    return playbook_lab.install(tmp_path_factory.mktemp("collections"))


@pytest.fixture
def lab(tmp_path: Path, doubled: Path) -> playbook_lab.Lab:
    """A fresh fleet of folders."""
    return playbook_lab.Lab(tmp_path, doubled)
