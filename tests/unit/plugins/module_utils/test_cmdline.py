# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of command lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import (
    key_of,
    missing,
    tokens,
)

WORD = st.from_regex(r"[a-z][a-z0-9_.]{0,8}(=[a-z0-9,]{1,8})?", fullmatch=True)


def test_blanks_inside_quotes_do_not_split():
    assert tokens('ro dyndbg="file a.c +p" quiet\n') == ["ro", 'dyndbg="file a.c +p"', "quiet"]


@given(st.lists(WORD, max_size=8))
def test_a_command_line_survives_the_round_trip(words):
    assert tokens(" ".join(words)) == words
    assert missing(sorted(set(words)), sorted(set(words))) == [] or len({key_of(word) for word in words}) < len(
        set(words)
    )


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_upsets_the_command_line(wanted, present):
    assert set(missing(tokens(wanted), tokens(present))) <= set(tokens(wanted))


def test_dash_and_underscore_are_the_same_in_a_name():
    assert key_of("transparent-hugepage=always") == key_of("transparent_hugepage=never")


@pytest.mark.parametrize("present", ["pci=realloc=off,bfsort iommu=pt", "pci=bfsort iommu=pt pci=realloc=off"])
def test_lists_of_pci_options_add_up(present):
    assert missing(["pci=realloc=off", "pci=bfsort", "iommu=pt"], tokens(present)) == []


@pytest.mark.parametrize(
    "present", ["pcie_aspm=off pcie_aspm=force", "pci=realloc=off pci=realloc=on pcie_aspm=off", "quiet", ""]
)
def test_an_argument_that_a_later_one_undoes_is_missing(present):
    assert missing(["pcie_aspm=off", "pci=realloc=off"], tokens(present)) != []


def test_a_name_that_only_begins_the_same_does_not_count():
    assert missing(["iommu=pt"], tokens("amd_iommu=pt iommu=ptx xiommu=pt")) == ["iommu=pt"]
