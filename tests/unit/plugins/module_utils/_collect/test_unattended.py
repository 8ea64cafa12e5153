# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs that install updates by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.unattended import apt_settings, unattended
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

PARTS, TIMERS = "/etc/apt/apt.conf.d", "/etc/systemd/system/timers.target.wants"
AUTO = f"{PARTS}/20auto-upgrades"
ON = 'APT::Periodic::Update-Package-Lists "1";\nAPT::Periodic::Unattended-Upgrade "1";\n'
UPGRADES = f"{PARTS}/50unattended-upgrades"
UBUNTU = """// Automatically upgrade packages from these (origin:archive) pairs
Unattended-Upgrade::Allowed-Origins {
\t"${distro_id}:${distro_codename}-security";
//\t"${distro_id}:${distro_codename}-updates";
};
Unattended-Upgrade::Package-Blacklist {
    // The following matches all packages starting with linux-
    "linux-";  # the kernel stays
    "libc6$";
};
"""
APT = {"/usr/bin/unattended-upgrade": "", AUTO: ON, UPGRADES: UBUNTU}
DNF = "[commands]\nupgrade_type = security\napply_updates = {}\n[base]\nexcludepkgs = kernel*, rocm*\n"
AMD = "[rocm]\nbaseurl=https://repo.radeon.com/rocm/el9/7.0.2/main\nenabled=1\n"


def told(files, manager="apt", links=None):
    problems: list[dict] = []
    host = RecordedHost({"files": files, "links": links or {}})
    return unattended(Reading(host, problems, "rocm"), manager), problems


def test_unattended_upgrades_are_told_with_what_they_leave_alone():
    assert told(APT)[0] == [
        {"name": "unattended-upgrades", "file": AUTO, "excludes": ["linux-", "libc6$"], "amd": False}
    ]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {**APT, AUTO: ON.replace('Upgrade "1"', 'Upgrade "0"')},
        {**APT, f"{PARTS}/99off": 'APT::Periodic { Unattended-Upgrade "0"; };'},
        {**APT, "/etc/apt/apt.conf": 'APT { Periodic { Enable "0"; }; };'},
        {**APT, AUTO: f"/* {ON} */"},
        {AUTO: ON},
    ],
    ids=["nothing", "off", "a later file", "all of it off", "a comment", "not installed"],
)
def test_what_is_off_or_not_there_updates_nothing(files):
    assert told(files) == ([], [])


def test_a_masked_timer_starts_nothing():
    assert told(APT, links={"/etc/systemd/system/apt-daily-upgrade.timer": "/dev/null"})[0] == []


def test_files_that_apt_passes_over_count_for_nothing():
    assert told({**APT, f"{PARTS}/99off.disabled": 'APT::Periodic::Unattended-Upgrade "0";'})[0] != []


@pytest.mark.parametrize(
    ("origins", "amd"),
    [
        ('Unattended-Upgrade::Origins-Pattern { "origin=repo.radeon.com"; };', True),
        ('Unattended-Upgrade::Origins-Pattern:: "site=repo.radeon.com";', True),
        ('Unattended-Upgrade::Allowed-Origins { "*:*"; };', True),
        ('Unattended-Upgrade::Origins-Pattern { "origin=Debian,codename=${distro_codename}"; };', False),
    ],
)
def test_a_source_of_amds_is_one_that_names_it_or_takes_all(origins, amd):
    assert told({**APT, f"{PARTS}/52site": origins})[0][0]["amd"] is amd


@pytest.mark.parametrize(
    ("timer", "apply", "named"),
    [
        ("dnf-automatic.timer", "yes", "/etc/dnf/automatic.conf"),
        ("dnf-automatic-install.timer", "no", f"{TIMERS}/dnf-automatic-install.timer"),
        ("dnf-automatic.timer", "no", None),
        ("fstrim.timer", "yes", None),
    ],
)
def test_dnf_automatic_counts_where_it_is_started_and_applies(timer, apply, named):
    files = {f"{TIMERS}/{timer}": "", "/etc/dnf/automatic.conf": DNF.format(apply), "/etc/yum.repos.d/rocm.repo": AMD}
    rows, _problems = told(files, "dnf")
    assert [row["file"] for row in rows] == ([named] if named else [])
    assert all(row["excludes"] == ["kernel*", "rocm*"] and row["amd"] for row in rows)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{TIMERS}/transactional-update.timer", "transactional-update"),
        (f"{TIMERS}/os-update.timer", "os-update"),
        ("/etc/cron.daily/opensuse.org-online_update", "yast2-online-update"),
    ],
)
def test_what_updates_a_suse_system_is_told_with_its_locks(path, name):
    locks = "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: kernel-default\n"
    rows, _problems = told({path: "", "/etc/zypp/locks": locks}, "zypper")
    assert rows == [{"name": name, "file": path, "excludes": ["kernel-default"], "amd": False}]


def test_what_cannot_be_read_is_null_with_a_reason():
    assert told({}, None) == (None, [])
    rows, problems = told({**APT, UPGRADES: {"error": "EACCES"}})
    assert rows is None
    assert [row["subject"] for row in problems] == [f"unattended: {UPGRADES}"]


@given(st.text(alphabet='aA:"{};/*#\n \\', max_size=80))
def test_no_text_upsets_the_reading_of_apts_configuration(text):
    assert all(isinstance(row.value, str) and row.value in text for row in apt_settings(text))
