# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium for the tests of this folder; they are skipped where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import summarise
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report import render
from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.model import model
from ansible_collections.fleetops.instinct.tests.browser.chromium import Chromium, find_chromium
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils import fleet

READY = "document.documentElement.dataset.ready"
OUTPUT = Path(os.environ.get("FLEETOPS_CHECKOUT") or Path(__file__).parents[2]) / "tests" / "output" / "browser"


@pytest.fixture(name="browser", scope="session")
def _browser(tmp_path_factory):
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium here; on Debian it is the package chromium")
    with Chromium(program, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture(name="shots", scope="session")
def _shots():
    """Where screenshots go, for people to look at."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    return OUTPUT


def write_page(path, records, facts=None):
    """The page of an audit with these records."""
    summary = {**summarise(records, records), "code": "unreachable", "codes": {"unreachable": 3, "unknown": 7}}
    path.write_text(render(model(records, summary, "sha256:0", "rocm-7.0.2", facts), "html"), encoding="utf-8")
    return path


@pytest.fixture(name="fleet_page", scope="session")
def _fleet_page(tmp_path_factory):
    """A function that makes the page of a fleet of so many nodes; each only once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page(count):
        if count not in made:
            nodes = fleet.Fleet(count)
            records = fleet.judged(nodes, *fleet.load(folder))
            made[count] = write_page(folder / f"fleet-{count}.html", records, nodes)
        return made[count]

    return page
