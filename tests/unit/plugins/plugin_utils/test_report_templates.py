# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page's template is compiled once and kept, and a run goes on where nothing can be kept."""

from __future__ import annotations

import jinja2
import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.templates import Kept


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """The texts that were compiled."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    seen, generate = [], jinja2.Environment._generate
    monkeypatch.setattr(
        jinja2.Environment, "_generate", lambda *given, **more: seen.append(1) or generate(*given, **more)
    )
    return seen


def rendered(folder, text):
    env = jinja2.Environment(loader=jinja2.DictLoader({"page": text}), bytecode_cache=Kept(folder))
    return env.get_template("page").render(name="g01")


def test_the_second_run_compiles_nothing(tmp_path, compiled):
    assert [rendered(tmp_path / "kept", "{{ name }}") for _run in range(2)] == ["g01", "g01"]
    assert len(compiled) == 1


def test_another_text_is_compiled_anew(tmp_path):
    assert [rendered(tmp_path, text) for text in ("{{ name }}", "on {{ name }}")] == ["g01", "on g01"]


def test_what_is_broken_there_is_compiled_anew(tmp_path):
    rendered(tmp_path, "{{ name }}")
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-9])
    assert rendered(tmp_path, "{{ name }}") == "g01"


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    assert rendered(tmp_path / "file", "{{ name }}") == "g01"


def test_nothing_is_kept_where_python_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    assert rendered(tmp_path, "{{ name }}") == "g01"
    assert list(tmp_path.iterdir()) == []
