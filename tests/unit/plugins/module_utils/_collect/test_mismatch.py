# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repositories that are made for another release of the distribution than the node runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.mismatch import mismatch

UBUNTU = 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="{}"\nVERSION_CODENAME={}\nUBUNTU_CODENAME={}\n'
JAMMY, NOBLE = UBUNTU.format("22.04", "jammy", "jammy"), UBUNTU.format("24.04", "noble", "noble")
ROCKY9 = 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n'
SLES15 = 'ID="sles"\nID_LIKE="suse"\nVERSION_ID="15.6"\n'
DEBIAN = 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n'
MINT = 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="21"\nVERSION_CODENAME=vanessa\nUBUNTU_CODENAME=jammy\n'
APT = "deb [arch=amd64 signed-by=/k.gpg] https://repo.radeon.com/rocm/apt/5.3 {} main"
NEW = "deb https://stable.repo.amd.com/rocm/core/packages/ubuntu{}/ stable main"
EL = "[rocm] https://repo.radeon.com/rocm/el{}/6.4.1/main"


@pytest.mark.parametrize(
    "line, node, told",
    [
        (APT.format("focal"), JAMMY, "focal, the node runs jammy"),
        (NEW.format("2404"), JAMMY, "24.04, the node runs 22.04"),
        (EL.format("8"), ROCKY9, "8, the node runs 9"),
        ("[amdgpu] https://repo.radeon.com/amdgpu/6.4/rhel/8.10/main/x86_64", ROCKY9, "8, the node runs 9"),
        ("[amdgpu] https://repo.radeon.com/amdgpu/6.4/sle/16.0/main/x86_64", SLES15, "16, the node runs 15"),
        (APT.format("noble"), MINT, "noble, the node runs jammy"),
    ],
)
def test_a_repository_for_another_release_is_told(line, node, told):
    assert mismatch(line, node) == told


@pytest.mark.parametrize(
    "line, node",
    [
        (APT.format("jammy"), JAMMY),
        (APT.format("jammy"), MINT),
        (APT.format("noble"), NOBLE),
        (NEW.format("2404"), NOBLE),
        (EL.format("9"), ROCKY9),
        (EL.format("/9.2").replace("el/", "el/"), ROCKY9),
        ("[rocm] https://repo.radeon.com/rocm/zyp/6.4/main", SLES15),
        ("[rocm] https://repo.radeon.com/rocm/el$releasever/6.4/main", ROCKY9),
        (APT.format("jammy"), DEBIAN),
        (APT.format("jammy"), ""),
        ("deb https://mirror.example/rocm/apt/7.0.2 ./", JAMMY),
    ],
)
def test_a_repository_that_fits_or_does_not_tell_is_none(line, node):
    assert mismatch(line, node) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_upsets_the_comparison(line, node):
    for text in (line, f"deb http://x/rocm/apt/1 {line}", f"[x] http://x/el{line}/"):
        mismatch(text, node)
        mismatch(text, JAMMY + node)
