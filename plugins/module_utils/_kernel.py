# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kernel command line, module options and sysctl of the collection's own drop-ins, as one declared set."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import key_of, missing, tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError

DROP_IN = "/etc/default/grub.d/99-fleetops.cfg"
MODPROBE = "/etc/modprobe.d/fleetops-instinct.conf"
SYSCTL = "/etc/sysctl.d/90-fleetops.conf"
OWN_FILES = (DROP_IN, MODPROBE, SYSCTL)
GRUB_DEFAULT = "/etc/default/grub"
GRUB_FOLDER = "/etc/default/grub.d"

_HEAD = "# Written by fleetops.instinct.kernel_settings: a change made here by hand is undone.\n"
_ASSIGNMENT = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(?P<name>GRUB_CMDLINE_LINUX(?:_DEFAULT)?)(?P<more>\+?)="""
    r"""(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>[^\s;#]*))""",
    re.MULTILINE | re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:=[A-Za-z0-9_.,:;/@%+=*!?-]*)?")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_SYSCTL_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_*-]+)+")


class GrubPlan(NamedTuple):
    """The drop-in's content (None: no drop-in), and what its later files leave of it."""

    drop_in: bytes | None
    cmdline: list[str]


def wanted_files(module_options: dict[str, dict[str, Any]], sysctl: dict[str, Any]) -> dict[str, bytes | None]:
    """The modprobe and sysctl drop-ins for these settings; None for one with nothing in it.

    :raises ParseError: where a name or a value could not stand in such a file.
    """
    options = [_options_line(module, parameters) for module, parameters in sorted(module_options.items()) if parameters]
    settings = [
        f"{_checked(_SYSCTL_KEY, 'sysctl', key)} = {_value('sysctl', key, value)}"
        for key, value in sorted(sysctl.items())
    ]
    return {MODPROBE: _file(options), SYSCTL: _file(settings)}


def parse_sysctl(content: bytes | None) -> dict[str, str]:
    """Keys and values of a sysctl file."""
    lines = (content or b"").decode("utf-8", "replace").splitlines()
    pairs = [line.split("=", 1) for line in lines if "=" in line and not line.lstrip().startswith(("#", ";"))]
    return {key.strip().lstrip("-"): value.strip() for key, value in pairs}


def parse_options(content: bytes | None) -> dict[tuple[str, str], str]:
    """Values of the ``options`` lines of a modprobe file, by module and parameter."""
    found = {}
    for line in (content or b"").decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) > 2 and words[0] == "options":
            found.update({(words[1], word.split("=", 1)[0]): word.partition("=")[2] for word in words[2:]})
    return found


def parse_drop_in(content: bytes | None) -> list[str]:
    """The arguments that a drop-in adds."""
    evaluated = evaluate([(content or b"").decode("utf-8", "replace")])
    return tokens(evaluated["GRUB_CMDLINE_LINUX_DEFAULT"])


def plan_grub(wanted: list[str], sources: dict[str, str]) -> GrubPlan:
    """The drop-in that adds those wanted arguments that no other file of grub's gives.

    :param sources: text of /etc/default/grub and of the files in grub.d, by path; the drop-in itself may be among them.
    :raises ParseError: where an argument is malformed, or a file that is read after the drop-in undoes it.
    """
    for token in wanted:
        _checked(_TOKEN, "cmdline", token)
    others = [(path, text) for path, text in _reading_order(sources) if path != DROP_IN]
    before = [text for path, text in others if path == GRUB_DEFAULT or path < DROP_IN]
    own = missing(wanted, _line(evaluate([text for _path, text in others])))
    content = _drop_in(own)
    parts = [
        *before,
        (content or b"").decode(),
        *[text for path, text in others if path > DROP_IN and path != GRUB_DEFAULT],
    ]
    line = _line(evaluate(parts))
    _refuse_undone(missing(wanted, line), others)
    return GrubPlan(content, line)


def evaluate(texts: list[str]) -> dict[str, str]:
    """Values of grub's two variables for the command line after the shell has read these texts in order."""
    values = {"GRUB_CMDLINE_LINUX": "", "GRUB_CMDLINE_LINUX_DEFAULT": ""}
    for text in texts:
        for match in _ASSIGNMENT.finditer(text):
            values[match["name"]] = (values[match["name"]] if match["more"] else "") + _expanded(match, values)
    return values


def _line(values: dict[str, str]) -> list[str]:
    return tokens(f"{values['GRUB_CMDLINE_LINUX']} {values['GRUB_CMDLINE_LINUX_DEFAULT']}")


def _expanded(match: re.Match[str], values: dict[str, str]) -> str:
    if match["single"] is not None:
        return match["single"]
    text = match["double"] if match["double"] is not None else match["bare"]
    return re.sub(r'\\(["\\$`])', r"\1", _VARIABLE.sub(lambda name: values.get(name[1] or name[2], ""), text))


def _reading_order(sources: dict[str, str]) -> list[tuple[str, str]]:
    later = sorted(path for path in sources if path != GRUB_DEFAULT and path.endswith(".cfg"))
    return [(path, sources[path]) for path in [GRUB_DEFAULT, *later] if path in sources]


def _refuse_undone(undone: list[str], others: list[tuple[str, str]]) -> None:
    if not undone:
        return
    names = {key_of(token) for token in undone}
    after = [path for path, text in others if path > DROP_IN and path != GRUB_DEFAULT and _ASSIGNMENT.search(text)]
    raise ParseError(
        after[-1] if after else DROP_IN,
        f"undoes {' '.join(undone)} ({', '.join(sorted(names))})",
        f"a file that adds to the command line that {DROP_IN} leaves",
        "let it begin with $GRUB_CMDLINE_LINUX_DEFAULT, or take the argument out of it",
    )


def _drop_in(own: list[str]) -> bytes | None:
    if not own:
        return None
    return f'{_HEAD}GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {" ".join(own)}"\n'.encode()


def _options_line(module: str, parameters: dict[str, Any]) -> str:
    words = [
        f"{_checked(_NAME, 'module_options', name)}={_value('module_options', name, value)}"
        for name, value in sorted(parameters.items())
    ]
    return f"options {_checked(_NAME, 'module_options', module)} {' '.join(words)}"


def _value(option: str, key: str, value: Any) -> str:
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if not text or "\n" in text or "\0" in text or (option == "module_options" and re.search(r"\s", text)):
        raise ParseError(f"{option}, {key}", f"{value!r}", "one value on one line")
    return text


def _checked(form: re.Pattern[str], option: str, text: str) -> str:
    if not form.fullmatch(str(text)):
        raise ParseError(
            option, f"{text!r}", "a name, or name=value without blanks or quotes" if option == "cmdline" else "a name"
        )
    return str(text)


def _file(lines: list[str]) -> bytes | None:
    return (_HEAD + "".join(f"{line}\n" for line in lines)).encode() if lines else None
