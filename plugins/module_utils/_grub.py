# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The menu that grub builds from grub.cfg, its environment block and boot loader entries. Text in, rows out."""

from __future__ import annotations

import re
import shlex
from functools import cmp_to_key
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError

_SET = re.compile(r"""^\s*set\s+(\w+)=(?:"([^"\n]*)"|'([^'\n]*)'|(\S*))\s*$""", re.MULTILINE)
_LINUX = re.compile(r"linux(?:16|efi)?\s+(\S+)[ \t]*(.*)$")
_PART = re.compile(r"[0-9]+|[A-Za-z]+|~|\^")
_DEEPEST = 50
_ID_OPTIONS = frozenset({"--id", "$menuentry_id_option", "${menuentry_id_option}"})


class Item(NamedTuple):
    """One line of the menu.

    ``names`` are what a default may call it by: its title, and its id where it has one. ``image`` and ``arguments`` are
    as written; there is no image where it starts no Linux kernel. ``version`` is the kernel release where it is named.
    ``conditional`` means that only grub knows whether the line is in the menu. ``items`` are those of a submenu.
    """

    names: tuple[str, ...]
    image: str | None = None
    arguments: str = ""
    conditional: bool = False
    items: tuple["Item", ...] | None = None
    version: str | None = None


class Config(NamedTuple):
    """What grub.cfg says: the menu, the values set in it (the last of each name), where loader entries come in."""

    items: list[Item]
    values: dict[str, str]
    entries_at: int | None
    one_time: bool


class _Block:
    """A block of the file that is still open."""

    def __init__(self, kind: str, words: list[str], conditional: bool = False) -> None:
        self.kind = kind
        self.names = _names(words)
        self.conditional = conditional
        self.items: list[Item] = []
        self.linux: re.Match[str] | None = None
        self.ifs = 0


def parse_config(text: str) -> Config:
    """The menu of a grub.cfg: entries and submenus in order, whatever stands around them.

    :raises ParseError: where blocks stand inside each other deeper than any menu is.
    """
    top = _Block("top", [])
    blocks, entries_at = [top], None
    for raw in text.splitlines():
        line = raw.strip()
        block = blocks[-1]
        if line == "blscfg" and block is top and entries_at is None:
            entries_at = len(top.items)
        elif line.startswith("}") and len(blocks) > 1:
            _close(blocks)
        elif line.endswith("{"):
            if len(blocks) > _DEEPEST:
                raise ParseError(
                    "boot menu", f"blocks inside each other, {len(blocks)} deep", "a menu as grub-mkconfig writes it"
                )
            words = _words(line)
            blocks.append(_Block(words[0] if words else "", words[1:], block.conditional or block.ifs > 0))
        else:
            _note(block, line)
    values = _values(text)
    return Config(top.items, values, entries_at, "next_entry" in text)


def parse_environment(text: str) -> dict[str, str]:
    """Names and values of an environment block (``grubenv``)."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {name.strip(): value for name, equal, value in (line.partition("=") for line in lines) if equal}


def parse_entry(name: str, text: str) -> Item:
    """One boot loader entry; ``name`` is its file's without ``.conf``."""
    fields: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _blank, value = line.strip().replace("\t", " ").partition(" ")
        if key and not key.startswith("#"):
            fields.setdefault(key, []).append(value.strip())
    first = {key: values[0] for key, values in fields.items()}
    names = tuple(value for value in (name, first.get("title")) if value)
    return Item(names, first.get("linux") or None, " ".join(fields.get("options", [])), version=first.get("version"))


def sort_entries(items: list[Item]) -> list[Item]:
    """Loader entries as grub shows them: the highest version first, by the names of their files."""
    return sorted(items, key=cmp_to_key(_compare_items), reverse=True)


def compare_versions(left: str, right: str) -> int:
    """Below, equal or above zero as rpm compares two versions."""
    ours, theirs = _PART.findall(left), _PART.findall(right)
    for one, other in zip(ours, theirs):
        order = _compare_parts(one, other)
        if order:
            return order
    longer = ours[len(theirs) :] or theirs[len(ours) :]
    if not longer:
        return 0
    sign = 1 if len(ours) > len(theirs) else -1
    return -sign if longer[0] == "~" else sign


def chosen_item(items: list[Item], choice: str) -> Item:
    """The entry that a default such as ``0``, ``Debian`` or ``advanced>linux-6.1`` leads to.

    :raises ParseError: where it names none, a submenu, or one whose place in the menu only grub knows.
    """
    level = tuple(items)
    *submenus, last = [part.replace("\0", ">") for part in choice.replace(">>", "\0").split(">")]
    for name in submenus:
        level = _pick(level, name, choice).items or ()
    item = _pick(level, last, choice)
    if item.items is not None:
        raise ParseError("boot menu", f"{choice!r} is a submenu", "an entry that starts a kernel")
    return item


def flattened(items: list[Item] | tuple[Item, ...]) -> list[Item]:
    """Entries in the order of the menu, those of submenus in the place of theirs."""
    return [leaf for item in items for leaf in ([item] if item.items is None else flattened(item.items))]


def _values(text: str) -> dict[str, str]:
    # What is left to a one-time choice says nothing about the lasting one.
    found = ((match[1], match[2] or match[3] or match[4] or "") for match in _SET.finditer(text))
    return {name: value for name, value in found if (name, value) != ("default", "${next_entry}")}


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _names(words: list[str]) -> tuple[str, ...]:
    following = [after for option, after in zip(words, words[1:]) if option in _ID_OPTIONS]
    title = words[0] if words and words[0] != "{" else ""
    return tuple(dict.fromkeys(name for name in (title, *following[:1]) if name and name != "{"))


def _note(block: _Block, line: str) -> None:
    if block.kind == "menuentry":
        block.linux = block.linux or _LINUX.match(line)
    elif line.startswith("if "):
        block.ifs += 1
    elif line == "fi" or line.startswith("fi "):
        block.ifs = max(0, block.ifs - 1)


def _close(blocks: list[_Block]) -> None:
    block = blocks.pop()
    if block.kind == "submenu":
        blocks[-1].items.append(Item(block.names, conditional=block.conditional, items=tuple(block.items)))
    elif block.kind == "menuentry":
        image, arguments = (block.linux[1], block.linux[2]) if block.linux else (None, "")
        blocks[-1].items.append(Item(block.names, image, arguments, block.conditional))


def _pick(level: tuple[Item, ...], name: str, choice: str) -> Item:
    if name.isdecimal() and name.isascii() and len(name) < 6:
        number = int(name)
        if any(item.conditional for item in level[: number + 1]):
            raise ParseError("boot menu", f"default is {choice!r}, and what stands there is up to grub", "a name")
        found = list(level[number : number + 1])
    else:
        found = [item for item in level if name in item.names]
    if not found:
        raise ParseError("boot menu", f"default is {choice!r}, which names no entry", "an entry of the menu")
    return found[0]


def _compare_parts(one: str, other: str) -> int:
    if one == other:
        return 0
    if "~" in (one, other):
        return -1 if one == "~" else 1
    if one.isdigit() and other.isdigit():
        return (int(one) > int(other)) - (int(one) < int(other)) if max(len(one), len(other)) < 40 else 0
    if one.isdigit() or other.isdigit():
        return 1 if one.isdigit() else -1
    return (one > other) - (one < other)


def _compare_items(left: Item, right: Item) -> int:
    # name-version-release: each part counts before the next.
    pairs = zip(_split_name(left.names[0]), _split_name(right.names[0]))
    return next((order for order in (compare_versions(*pair) for pair in pairs) if order), 0)


def _split_name(name: str) -> tuple[str, str, str]:
    rest, _dash, release = name.rpartition("-")
    package, _dash, version = rest.rpartition("-")
    return package, version, release
