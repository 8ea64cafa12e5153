# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps the driver from being loaded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._modprobe import blacklisting, blacklists, keeping_out
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost


@pytest.mark.parametrize(
    "text, lines",
    [
        ("blacklist amdgpu\n", ["blacklist amdgpu"]),
        ("  blacklist\tamdgpu   # by the operator\n", ["blacklist amdgpu"]),
        ("install amdgpu /bin/false\n", ["install amdgpu /bin/false"]),
        ("install amdgpu \\\n  /bin/true\n", ["install amdgpu /bin/true"]),
        ("install amdgpu /sbin/modprobe --ignore-install amdgpu && /usr/bin/settle\n", []),
        ("# blacklist amdgpu\nblacklist radeon\nblacklist amdgpu_top\noptions amdgpu noretry=0\nblacklist\n", []),
    ],
)
def test_lines_that_keep_the_driver_out(text, lines):
    assert blacklisting(text, "amdgpu") == lines


def test_a_blacklist_that_waits_for_the_next_initramfs_is_told_with_its_file_a23():
    line, folder = "blacklist amdgpu\n", "/etc/modprobe.d"
    files = {f"{folder}/blacklist-amdgpu.conf": line, f"{folder}/notes": line}
    assert blacklists(RecordedHost({"files": files}), "amdgpu") == [
        ("/etc/modprobe.d/blacklist-amdgpu.conf", "blacklist amdgpu")
    ]


def test_a_file_hides_that_of_the_same_name_in_a_later_folder():
    files = {"/etc/modprobe.d/gpu.conf": "# emptied: amdgpu\n", "/usr/lib/modprobe.d/gpu.conf": "blacklist amdgpu\n"}
    assert blacklists(RecordedHost({"files": files}), "amdgpu") == []
    del files["/etc/modprobe.d/gpu.conf"]
    assert [line.file for line in blacklists(RecordedHost({"files": files}), "amdgpu")] == [
        "/usr/lib/modprobe.d/gpu.conf"
    ]


@pytest.mark.parametrize(
    "cmdline, kept",
    [
        ("ro nomodeset quiet", ["nomodeset"]),
        ("ro modprobe.blacklist=nouveau,amdgpu", ["modprobe.blacklist=nouveau,amdgpu"]),
        (
            "module_blacklist=amdgpu rd.driver.blacklist=amdgpu",
            ["module_blacklist=amdgpu", "rd.driver.blacklist=amdgpu"],
        ),
        ("modprobe.blacklist=radeon amdgpu.noretry=0 nomodeset.x=1 iommu=pt", []),
    ],
)
def test_arguments_that_keep_the_driver_out(cmdline, kept):
    assert keeping_out(cmdline.split(), "amdgpu") == kept


@given(st.text(max_size=200))
def test_no_text_upsets_the_reader(text):
    assert len(blacklisting(text, "amdgpu")) <= text.count("amdgpu")
    assert set(keeping_out(text.split(), "amdgpu")) <= set(text.split())
