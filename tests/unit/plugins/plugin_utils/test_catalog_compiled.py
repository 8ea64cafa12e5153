# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of the catalog is parsed once for as long as it stays the same."""

import datetime
import os
import stat
import sys

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._compiled import compiled, kept_at
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._files import NAMES, Files

DOCUMENT = {"rows": [["mi300x", 8, 5.5, None, True]]}


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file of a catalog, in a run that may keep what it has parsed."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return str(tmp_path / "settings.yml")


class Parser:
    """Counts how often it was asked."""

    def __init__(self, document=None):
        self.document, self.asked = document or DOCUMENT, 0

    def __call__(self):
        self.asked += 1
        return self.document


def test_the_same_content_is_parsed_once(path):
    first, second = Parser(), Parser({"another": 1})
    assert compiled(b"rows", path, first) == compiled(b"rows", path, second) == DOCUMENT
    assert (first.asked, second.asked) == (1, 0)
    assert stat.S_IMODE(os.stat(kept_at(path)).st_mode) == 0o644
    assert os.listdir(os.path.dirname(kept_at(path))) == [os.path.basename(kept_at(path))]


def test_another_content_is_parsed_again(path):
    compiled(b"rows", path, Parser())
    assert compiled(b"rows of today", path, Parser({"rows": []})) == {"rows": []}


@pytest.mark.parametrize("damage", [b"", b"short", None, b"\0" * 200])
def test_a_copy_that_is_damaged_is_made_anew(path, damage):
    compiled(b"rows", path, Parser())
    with open(kept_at(path), "r+b") as kept:
        kept.seek(0 if damage is not None else 33)
        kept.truncate()
        kept.write(damage or b"")
    again, after = Parser(), Parser()
    assert compiled(b"rows", path, again) == compiled(b"rows", path, after) == DOCUMENT
    assert (again.asked, after.asked) == (1, 0)


def test_nothing_is_kept_where_python_keeps_nothing(path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    compiled(b"rows", path, Parser())
    assert not os.path.exists(os.path.dirname(kept_at(path)))


def test_nothing_is_kept_where_nothing_can_be_written(path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "makedirs", refuse)
    assert compiled(b"rows", path, Parser()) == DOCUMENT


def test_what_has_no_compiled_form_is_parsed_each_time(path):
    dated = {"as_of": datetime.date(2026, 12, 1)}
    assert compiled(b"rows", path, Parser(dated)) == compiled(b"rows", path, Parser(dated)) == dated
    assert not os.path.exists(kept_at(path))


@pytest.mark.parametrize("name", NAMES)
def test_every_file_of_the_catalog_has_a_compiled_form(name, path):
    document = Files().document(name)
    compiled(b"rows", path, Parser(document))
    assert compiled(b"rows", path, Parser({})) == document
