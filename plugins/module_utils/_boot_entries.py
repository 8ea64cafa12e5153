# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the boot loader offers, and which entry of it boots next: grub, grub with loader entries, systemd-boot."""

from __future__ import annotations

import re
from typing import Iterable, NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils import _grub, _systemd_boot
from ansible_collections.fleetops.instinct.plugins.module_utils._cmdline import missing, tokens
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError, Unreadable
from ansible_collections.fleetops.instinct.plugins.module_utils._files import list_optional
from ansible_collections.fleetops.instinct.plugins.module_utils._host import Host

GRUB_CFG = "/boot/grub/grub.cfg"
ENTRIES = "/boot/loader/entries"

# Debian and Ubuntu; SUSE and Red Hat; Red Hat on EFI, where the file is on the system partition.
_CONFIGS = (GRUB_CFG, "/boot/grub2/grub.cfg", "/etc/grub2-efi.cfg", "/etc/grub2.cfg")
_NEW_KERNELS = ("/etc/kernel/cmdline", "/usr/lib/kernel/cmdline")
_SECTORS = re.compile(r"([0-9]{1,9})\+([0-9]{1,3})")
_SAVED = ("${saved_entry}", "$saved_entry")
_RELEASE = re.compile(r"(?:vmlinu[xz]|Image|bzImage|kernel)-([0-9]\S*)")
_RESCUE_WORDS = frozenset(
    {"single", "rescue", "emergency", "systemd.unit=rescue.target", "systemd.unit=emergency.target"}
)


class Entry(NamedTuple):
    """``kernel`` is a release such as ``6.1.0-40-amd64``, None where the entry does not tell it.

    ``cmdline`` are its arguments, None where they rest on a variable of grub's that cannot be read.
    """

    kernel: str | None
    cmdline: list[str] | None
    rescue: bool


class Menu(NamedTuple):
    """``loader`` is grub, grub-bls or systemd-boot; ``entries`` those that start a Linux kernel, in the menu's order.

    ``next`` is the entry that boots next, and where that cannot be told None with a ``reason``. ``once`` says that a
    one-time choice made it the next: the boot after that starts another.
    """

    loader: str
    entries: list[Entry]
    next: Entry | None
    reason: str
    once: bool


class BootEntry(NamedTuple):
    """What boots next: ``kernel`` is a release such as ``6.1.0-40-amd64``, ``cmdline`` its arguments."""

    kernel: str
    cmdline: list[str]


def read_menu(host: Host) -> Menu:
    """What the machine's boot loader offers.

    :raises Unreadable: where there is none that is known (``missing``), or its files cannot be read.
    :raises ParseError: where they are no menu.
    """
    if _systemd_boot.in_charge(host) is not True:
        for path in _CONFIGS:
            if host.exists(path):
                return _grub_menu(host, path)
    found = _systemd_boot.read(host)
    if found is None:
        raise Unreadable(GRUB_CFG, "neither grub.cfg nor an entry of systemd-boot is there", missing=True)
    return _menu("systemd-boot", found.items, found.next, found.reason, found.once, {})


def grub_next_entry(host: Host) -> BootEntry:
    """The entry that boots next and at every later boot, whatever the boot loader.

    :raises Unreadable: where there is no boot loader that is known, or its files cannot be read.
    :raises ParseError: where a one-time choice is made, or it cannot be told which entry boots next.
    """
    menu = read_menu(host)
    if menu.once:
        raise ParseError(
            "boot menu", menu.reason or "a one-time choice is made", "no one-time choice of the next entry"
        )
    if menu.next is None:
        raise ParseError("boot menu", menu.reason, "an entry that is known to boot next")
    if menu.next.kernel is None or menu.next.cmdline is None:
        raise ParseError(
            "boot menu", "what boots next names no kernel release", "an image with the release in its name"
        )
    return BootEntry(menu.next.kernel, menu.next.cmdline)


def next_boot_kernel(host: Host) -> str | None:
    """Release of the kernel that boots next, be it by a one-time choice; None where the boot loader does not tell."""
    try:
        entry = read_menu(host).next
    except (Unreadable, ParseError):
        return None
    return entry.kernel if entry else None


def rows(menu: Menu) -> list[dict]:
    """The entries as facts; ``default`` is None on all of them where it cannot be told which boots next."""
    return [
        {
            "kernel": entry.kernel,
            "cmdline": entry.cmdline,
            "default": None if menu.next is None else entry is menu.next,
            "rescue": entry.rescue,
        }
        for entry in menu.entries
    ]


def in_every_entry(entries: Iterable[dict], token: str) -> bool | None:
    """Whether each entry (a row of :func:`rows`) but those for rescue gives effect to an argument.

    None where there is no such entry, or the arguments of one are not known and none of the others lacks it.
    """
    lines = [row["cmdline"] for row in entries if not row["rescue"]]
    if any(line is not None and missing([token], line) for line in lines):
        return False
    return True if lines and None not in lines else None


def new_kernels_cmdline(host: Host) -> list[str] | None:
    """Arguments that a kernel installed from now on gets, where a file of kernel-install's says so; None without one.

    :raises Unreadable: where it is there and cannot be read.
    """
    for path in _NEW_KERNELS:
        try:
            text = host.read(path)
        except Unreadable as error:
            if not error.missing:
                raise
        else:
            return [token for line in text.splitlines() if not line.startswith("#") for token in tokens(line)]
    return None


def _grub_menu(host: Host, path: str) -> Menu:
    config = _grub.parse_config(_with_custom(host, path, host.read(path)))
    environment = _environment(host, "/boot/grub" if path == GRUB_CFG else "/boot/grub2")
    items, loader = config.items, "grub"
    if config.entries_at is not None:
        loader, at = "grub-bls", config.entries_at
        items = [*items[:at], *_loader_entries(host), *items[at:]]
    once = environment.get("next_entry", "") if config.one_time else ""
    reason = f"a one-time choice is made: next_entry={once}" if once else ""
    try:
        chosen = _grub.chosen_item(items, once or _lasting(config.values.get("default", ""), environment))
    except ParseError as error:
        chosen, reason = None, f"{reason}; {error.seen}" if once else error.seen
    return _menu(loader, _grub.flattened(items), chosen, reason, bool(once), _variables(config.values, environment))


def _variables(values: dict[str, str], environment: dict[str, str]) -> dict[str, str]:
    """Of grub's variables only these two can be known outside of it."""
    names = ["kernelopts", "tuned_params"]
    known = {name: environment[name] for name in names if name in environment}
    # grub.cfg sets kernelopts only where the environment has not, and the other one always.
    first = {"kernelopts": values["kernelopts"]} if "kernelopts" in values else {}
    last = {"tuned_params": values["tuned_params"]} if "tuned_params" in values else {}
    return {**first, **known, **last}


def _lasting(default: str, environment: dict[str, str]) -> str:
    if environment.get("env_block"):
        raise ParseError("grubenv", "grub keeps its choices outside of the file (env_block)", "all of them in the file")
    if default in _SAVED:
        return environment.get("prev_saved_entry") or environment.get("saved_entry") or "0"
    if "$" in default:
        raise ParseError(GRUB_CFG, f"default is {default!r}", "an entry")
    return default or "0"


def _with_custom(host: Host, path: str, text: str) -> str:
    custom = f"{path.rpartition('/')[0]}/custom.cfg"
    return f"{text}\n{host.read(custom)}" if "custom.cfg" in text and host.exists(custom) else text


def _environment(host: Host, folder: str) -> dict[str, str]:
    try:
        values = _grub.parse_environment(host.read(f"{folder}/grubenv"))
    except Unreadable as error:
        if error.missing:
            return {}
        raise
    block = _reserved_block(host, values["env_block"]) if values.get("env_block") else None
    return values if block is None else {**values, **block, "env_block": ""}


def _reserved_block(host: Host, place: str) -> dict[str, str] | None:
    """Values that grub keeps in sectors of the file system (SUSE on btrfs); None where they cannot be read."""
    match = _SECTORS.fullmatch(place)
    try:
        mounts = [line.split(" ") for line in host.read("/proc/self/mounts").splitlines()]
        devices = {words[1]: words[0] for words in mounts if len(words) > 1}
        device = devices.get("/boot") or devices.get("/")
        content = host.read_range(device, int(match[1]) * 512, int(match[2]) * 512) if match and device else b""
    except Unreadable:
        return None
    text = content.rstrip(b"\0").decode("utf-8", "replace")
    # Sectors that were never written to are all zero.
    return _grub.parse_environment(text) if text.startswith("# GRUB Env") or (content and not text) else None


def _loader_entries(host: Host) -> list[_grub.Item]:
    names = [name for name in list_optional(host, ENTRIES) if name.endswith(".conf")]
    return _grub.sort_entries([_grub.parse_entry(name[:-5], host.read(f"{ENTRIES}/{name}")) for name in names])


def _menu(
    loader: str, items: list[_grub.Item], chosen: _grub.Item | None, reason: str, once: bool, values: dict[str, str]
) -> Menu:
    pairs = [(item, _entry(item, values)) for item in items if item.image is not None]
    following = next((entry for item, entry in pairs if item is chosen), None)
    if chosen is not None and following is None:
        reason = "what boots next starts no Linux kernel"
    return Menu(loader, [entry for _item, entry in pairs], following, reason, once)


def _entry(item: _grub.Item, values: dict[str, str]) -> Entry:
    image = (item.image or "").rpartition("/")[2]
    match = _RELEASE.fullmatch(image)
    kernel = match[1] if match else item.version
    words = tokens(item.arguments)
    unknown = any(word.strip("${}") == "kernelopts" for word in words) and "kernelopts" not in values
    cmdline = None if unknown else [part for word in words for part in _expanded(word, values)]
    marked = any("-recovery-" in name or "(recovery mode)" in name for name in item.names)
    return Entry(kernel, cmdline, marked or "0-rescue" in image or bool(_RESCUE_WORDS & set(cmdline or ())))


def _expanded(word: str, values: dict[str, str]) -> list[str]:
    # Variables such as Ubuntu's $vt_handoff are only known to grub.
    return tokens(values.get(word.strip("${}"), "")) if word.startswith("$") else [word]
