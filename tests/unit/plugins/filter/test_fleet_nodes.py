# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play over a group that is not there would do nothing and end with 0; the filter refuses instead."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.fleetops.instinct.plugins.filter.fleet_nodes import fleet_nodes


def test_the_nodes_of_the_group_in_its_order():
    assert fleet_nodes({"all": ["b", "a"], "fleet": ["b", "a"]}, "fleet") == ["b", "a"]


@pytest.mark.parametrize(
    "groups, what", [({"all": [], "gpu": ["a"]}, "does not exist; groups seen: gpu"), ({"fleet": []}, "is empty")]
)
def test_no_group_or_an_empty_one_names_what_to_do(groups, what):
    with pytest.raises(AnsibleFilterError, match=what) as error:
        fleet_nodes(groups, "fleet")
    assert "-e fleet_group=NAME" in str(error.value)


@pytest.mark.parametrize("limited", [None, ["a", "b"], ["b", "x"]])
def test_a_limit_that_leaves_some_of_the_group_is_no_error(limited):
    assert fleet_nodes({"fleet": ["a", "b"]}, "fleet", limited) == ["a", "b"]


@pytest.mark.parametrize("saved", [False, True])
def test_a_limit_that_leaves_nothing_of_the_group_is_one_even_where_facts_were_saved(saved):
    with pytest.raises(AnsibleFilterError, match=r"bad_input.*no host that --limit leaves.*fix: .*: a, b, c [.]{3}"):
        fleet_nodes({"fleet": ["a", "b", "c", "d"]}, "fleet", ["x"], saved=saved)


@pytest.mark.parametrize("groups", [{"all": []}, {"all": ["localhost"], "fleet": []}])
def test_saved_facts_need_no_group(groups):
    assert fleet_nodes(groups, "fleet", [], saved=True) == ["localhost"]
