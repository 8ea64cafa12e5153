# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates of the pages, compiled once and kept as Python keeps its own files: beside them, where it may."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.plugin_utils.records import write_bytes

HERE = Path(__file__).parent


class Kept(jinja2.BytecodeCache):
    """Compiled templates in a folder. What it cannot read or write there is compiled again by the next run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is there; jinja leaves it aside if it is of other text, or of another Python."""
        try:
            with self._place(bucket).open("rb") as stream:
                bucket.load_bytecode(stream)
        except OSError:
            return

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it, unless Python was told to keep nothing."""
        if sys.dont_write_bytecode:
            return
        try:
            write_bytes(self._place(bucket), bucket.bytecode_to_string(), durable=False)
        except FleetError:
            return

    def _place(self, bucket: Bucket) -> Path:
        # What is compiled rests on functions of the jinja that compiled it.
        return self._folder / f"{bucket.key}.{sys.implementation.cache_tag}.jinja-{jinja2.__version__}"


def environment() -> jinja2.Environment:
    """Templates of this folder. What they show is escaped, and what they lack is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=Kept(HERE / "__pycache__"),
    )
