# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to a release, and which versions to ask apt for."""

from __future__ import annotations

import pytest

from ansible_collections.fleetops.instinct.plugins.module_utils._apt import Step
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, TransactionFailed
from ansible_collections.fleetops.instinct.plugins.module_utils._packages import Package
from ansible_collections.fleetops.instinct.plugins.module_utils._release import refuse, release_goal, snapshot_goal
from ansible_collections.fleetops.instinct.tests.unit.fake_apt import NEW, OLD, parameters

INDEX = {name: {version} for name, version in NEW.items()}


def goal(**more):
    return release_goal({**parameters(), "packages": ["rocm", "amdgpu-dkms"], "hold": True, **more})


def present(versions=OLD, state="installed", hold=True):
    return {name: Package(name, version, state, hold) for name, version in versions.items()}


@pytest.mark.parametrize(
    "name, version, belongs",
    [
        ("rocm", "7.0.2.70002-56~22.04", True),
        ("rocm", "7.0.1.70001-42~22.04", False),
        ("amdgpu-dkms", "1:6.14.14.30100200-2226257.22.04", True),
        ("amdgpu-dkms", "1:6.14.14.30100100-2226257.22.04", False),
        ("amdgpu-dkms", "1:6.14.14.70002-2226257.22.04", False),
        ("libdrm-amdgpu-common", "1.0.0.70002-56~22.04", True),
        ("libdrm-amdgpu-common", "1.0.0.30100200-1.22.04", True),
        ("rocminfo", "5.7.1-3", False),
    ],
)
def test_a_version_belongs_to_the_release_or_not(name, version, belongs):
    assert goal().accepts(name, version) is belongs


def test_a_release_without_its_last_zero_is_the_same():
    assert release_goal({**parameters("7.0", "30.10"), "packages": [], "hold": True}).accepts(
        "rocm", "7.0.0.70000-1~22.04"
    )


def test_every_installed_package_is_named_with_its_exact_version():
    assert goal().targets(present(), INDEX) == NEW


def test_a_package_that_the_release_has_no_more_is_to_go():
    installed = present({**OLD, "rocm-opencl": "2.0.0.60404-129~22.04"})
    assert goal().targets(installed, INDEX) == {**NEW, "rocm-opencl": None}


def test_a_release_installed_beside_is_left_alone():
    beside = {"rocm-core6.2.4": "6.2.4.60204-139~22.04"}
    assert goal().complaints(present({**NEW, **beside})) == []
    assert "rocm-core6.2.4" not in goal().targets(present({**OLD, **beside}), INDEX)


def test_a05_a_distributions_own_package_is_replaced_by_amds():
    index = {**INDEX, "rocminfo": {"1.0.0.70002-56~22.04"}}
    assert goal().targets(present({**OLD, "rocminfo": "5.7.1-3"}), index)["rocminfo"] == "1.0.0.70002-56~22.04"


def test_of_two_builds_the_newer_is_wanted():
    index = {**INDEX, "rocm": {"7.0.2.70002-9~22.04", "7.0.2.70002-56~22.04", "7.0.1.70001-99~22.04"}}
    assert goal().targets(present(), index)["rocm"] == "7.0.2.70002-56~22.04"


@pytest.mark.parametrize("name", ["rocm", "amdgpu-dkms", "amdgpu-dkms-firmware"])
def test_a19_a_wanted_package_or_the_driver_is_never_removed_for_want_of_a_version(name):
    with pytest.raises(TransactionFailed) as error:
        goal().targets(present(), {key: value for key, value in INDEX.items() if key != name})
    assert (error.value.kind, error.value.subject) == ("version_unavailable", name)


@pytest.mark.parametrize("state", ["half-configured", "half-installed", "unpacked"])
def test_a18_a_broken_package_is_not_at_the_release(state):
    installed = {**present(NEW), "rocm": Package("rocm", NEW["rocm"], state, True)}
    assert goal().complaints(installed) == [f"rocm {NEW['rocm']} is {state}"]


def test_a18_what_is_only_remembered_is_not_installed():
    installed = {**present(NEW), "rocm": Package("rocm", OLD["rocm"], "config-files", False)}
    assert goal().complaints(installed) == ["rocm is not installed"]


def test_a_snapshot_wants_exactly_what_it_has():
    snapshot = {"apt_files": {}, "packages": {name: p._asdict() for name, p in present().items()}}
    told = snapshot_goal(snapshot).targets(present({**NEW, "new": "1.70002-1"}), {n: {v} for n, v in OLD.items()})
    assert told == {**OLD, "new": None}


def test_a_recorded_version_that_is_offered_no_more_stops_the_way_back():
    snapshot = {"apt_files": {}, "packages": {name: p._asdict() for name, p in present().items()}}
    with pytest.raises(TransactionFailed) as error:
        snapshot_goal(snapshot).targets(present(NEW), INDEX)
    assert error.value.kind == "version_unavailable"


def test_a05_a_package_from_another_repository_is_refused():
    index = {**INDEX, "rocm-cmake": {"0.14.0.70002-56~22.04"}}
    with pytest.raises(TransactionFailed, match=r"rocm-cmake: apt would install 6.0.0-1"):
        refuse(goal(), [Step("rocm-cmake", None, "6.0.0-1")], [], {}, index)


def test_a19_a_removal_that_was_not_asked_for_is_refused():
    with pytest.raises(TransactionFailed, match=r"pytorch-rocm: apt would remove it"):
        refuse(goal(), [], ["old", "pytorch-rocm"], {"old": None}, INDEX)


def test_dependencies_from_the_distribution_are_fine():
    refuse(goal(), [Step("libnuma1", None, "2.0.16-1")], [], NEW, INDEX)


@pytest.mark.parametrize("change", [{"release": "7.x"}, {"driver": ""}])
def test_a_release_that_is_no_number_is_refused(change):
    with pytest.raises(ParseError):
        goal(**change)


@pytest.mark.parametrize(
    "snapshot", [{}, {"apt_files": {}, "packages": {"a": {}}}, {"apt_files": {"/x": 3}, "packages": {}}]
)
def test_what_is_no_snapshot_is_refused(snapshot):
    with pytest.raises(ParseError):
        snapshot_goal(snapshot)
