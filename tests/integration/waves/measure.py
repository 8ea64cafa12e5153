# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints what the ansible-core of this Python does, in the form of an expectation file: `python measure.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml
from ansible.release import __version__

from ansible_collections.fleetops.instinct.tests.integration.waves.wave_lab import CASES, measure


def main() -> None:
    """Every case under every keyword."""
    print(f"# measured on ansible-core {__version__}")
    for name, case in CASES["cases"].items():
        seen = {}
        for keyword in CASES["keywords"]:
            with tempfile.TemporaryDirectory() as folder:
                seen[keyword] = measure(Path(folder), case, keyword)[0]
        print(yaml.safe_dump({name: seen}, sort_keys=False, width=200, default_flow_style=None), end="", flush=True)


if __name__ == "__main__":
    main()
