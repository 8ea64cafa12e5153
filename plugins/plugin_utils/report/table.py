# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixed-width tables for a terminal: the last column wraps, the others are as wide as they must be."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ansible_collections.fleetops.instinct.plugins.plugin_utils.report.words import WIDTH, clean

LEAST = 24  # where a terminal leaves less for the last column, it stands below the others
INDENT = "    "
GAP = "  "
_CODES = {"good": "32", "busy": "36", "warn": "33", "bad": "31", "idle": "2", "head": "1"}


def paint(text: str, tone: str, colour: bool) -> str:
    """The text in the colour of a tone, if colours are wanted."""
    return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if colour and tone in _CODES and text.strip() else text


def table(
    head: Sequence[str], rows: Sequence[Sequence[object]], width: int = WIDTH, colour: bool = False,
    tones: Sequence[str] = (), toned: int = 0,
) -> str:
    """A table as text, without a newline at its end; empty for no rows.

    :param tones: a tone per row for the column ``toned``.
    """
    if not rows:
        return ""
    cells = [[clean(value) for value in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(head), *cells]) for column in range(len(head))]
    widths[-1] = width - sum(widths[:-1]) - len(GAP) * (len(head) - 1)
    shape = _row if widths[-1] >= LEAST else _narrow_row
    if shape is _narrow_row:
        widths[-1] = width - len(INDENT)
    lines = [paint(line, "head", colour) for line in shape(list(head), widths, 0, "", False)]
    for number, row in enumerate(cells):
        tone = tones[number] if tones else ""
        lines += shape(row, widths, toned, tone, colour)
    return "\n".join(lines)


def _narrow_row(row: list[str], widths: list[int], toned: int, tone: str, colour: bool) -> list[str]:
    """The last column below the others; where not even these fit beside each other, they are wrapped as a text."""
    width, short = widths[-1] + len(INDENT), list(zip(row[:-1], widths, strict=False))
    first = GAP.join(text.ljust(size) for text, size in short).rstrip()
    if len(first) > width:
        head = textwrap.wrap(GAP.join(text for text, _size in short), width, subsequent_indent=INDENT)
    else:
        cells = [text.ljust(size) for text, size in short]
        cells[toned:toned + 1] = [paint(cell, tone, colour) for cell in cells[toned:toned + 1]]
        head = [GAP.join(cells).rstrip()]
    return [*head, *textwrap.wrap(row[-1], width, initial_indent=INDENT, subsequent_indent=INDENT)]


def _row(row: list[str], widths: list[int], toned: int, tone: str, colour: bool) -> list[str]:
    wrapped = textwrap.wrap(row[-1], widths[-1]) or [""]
    first = [text.ljust(size) for text, size in zip([*row[:-1], wrapped[0]], widths, strict=True)]
    first[toned] = paint(first[toned], tone, colour)
    indent = " " * (sum(widths[:-1]) + len(GAP) * (len(widths) - 1))
    return [GAP.join(first).rstrip(), *(indent + rest for rest in wrapped[1:])]


def section(title: str, body: str, colour: bool = False) -> str:
    """A titled block with a blank line before it; nothing where there is nothing to say."""
    return f"\n{paint(title, 'head', colour)}\n{body}\n" if body else ""


def bullets(rows: Sequence[tuple[str, str]], width: int = WIDTH) -> str:
    """Lines of ``subject: text``, wrapped and indented."""
    return "\n".join(
        textwrap.fill(f"{clean(subject)}: {clean(text)}", width, initial_indent="  ", subsequent_indent="      ")
        for subject, text in rows
    )
