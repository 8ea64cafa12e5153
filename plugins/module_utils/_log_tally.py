# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures counted in a kernel log, and what more than one line tells: resets, records of the firmware. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import masked
from ansible_collections.fleetops.instinct.plugins.module_utils._kernel_log import Record
from ansible_collections.fleetops.instinct.plugins.module_utils._signatures import (
    BDF,
    INCOMPLETE,
    NOTHING,
    SERVES,
    Match,
    recognise,
    without_event,
)

SAMPLE = 200
_DETAILS = 16
_NEAR_LINES, _NEAR_SECONDS = 20, 30.0
_PCI = re.compile(BDF)
_APEI = re.compile(r"(?:\{(?P<event>\d{1,18})\})?\[Hardware Error\]: +(?P<body>.*)")
_HOW = re.compile(r"(?:event severity|Error \d+, type): (\w+)")
_DEVICE = re.compile(rf"device_id: ({BDF})$")
_BUS = re.compile(r"secondary_bus: 0x([0-9a-f]{2})$")


class Row:
    """A signature at a PCI function.

    ``open`` are those lines that no successful reset or start of the GPU has followed. ``named`` is whether a line
    names the function itself, ``driver`` whether the driver says it.
    """

    def __init__(self, name: str, bdf: str | None, sample: str, first: float | None, driver: bool = False) -> None:
        self.id, self.bdf, self.sample, self.first, self.driver = name, bdf, sample, first, driver
        self.last: float | None = None
        self.count = self.open = 0
        self.named = False
        self.details: dict[str, int | str] = {}


def count(records: Iterable[Record]) -> Tally:
    """What the signatures found in a log."""
    tally = Tally()
    for record in records:
        tally.add(record)
    tally.close()
    return tally


class Tally:
    """Rows in the order first seen; and for a GPU the line that says why the driver, or only its compute part, left it.

    A flood repeats few texts: each is recognised once.
    """

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str | None], Row] = {}
        self.init_errors: dict[str, str] = {}
        self.compute_errors: dict[str, str] = {}
        self._causes: dict[str, str] = {}
        self._resetting: dict[str | None, tuple[Record, bool]] = {}
        self._seen: dict[str, Match] = {}
        self._firmware = _FirmwareRecord()
        self._near: tuple[str, int, float | None] | None = None
        self._position = 0

    def add(self, record: Record) -> None:
        """Count one record."""
        self._position += 1
        key = without_event(record.text)
        match = self._seen.get(key)
        if match is None:
            match = self._seen[key] = recognise(key)
        if match is not NOTHING and record.kernel:
            self._add(record, match)
        if "[Hardware Error]: " in record.text[:40] and record.kernel:
            self._close_firmware(self._firmware.feed(record))

    def close(self) -> None:
        """The log has ended: so has the last record of the firmware, and what was begun stays without an end."""
        self._close_firmware(self._firmware.end())
        for bdf, (record, named) in self._resetting.items():
            self._count(Match(INCOMPLETE, bdf, named, {}, driver=True), bdf, record, named)

    def _add(self, record: Record, match: Match) -> None:
        if match.names_gpu and match.bdf:
            self._near = (match.bdf, self._position, record.time)
        if match.id is None:
            return
        bdf = match.bdf or (record.device if _PCI.fullmatch(record.device or "") else None)
        named = bdf is not None
        if bdf is None and match.driver:
            bdf = self._nearby(record)
        if match.id == SERVES:
            self._settle(bdf)
            return
        self._count(match, bdf, record, named)
        self._follow(match, bdf, record, named)

    def _nearby(self, record: Record) -> str | None:
        """The GPU that the driver named shortly before; the driver starts and resets one after the other."""
        if self._near is None or self._position - self._near[1] > _NEAR_LINES:
            return None
        then = self._near[2]
        apart = 0.0 if then is None or record.time is None else record.time - then
        return self._near[0] if apart <= _NEAR_SECONDS else None

    def _count(self, match: Match, bdf: str | None, record: Record, named: bool) -> None:
        name = match.id or ""
        row = self.rows.get((name, bdf))
        if row is None:
            row = self.rows[name, bdf] = Row(name, bdf, masked(record.text)[:SAMPLE], record.time, driver=match.driver)
        row.count += 1
        row.open += 1
        row.named = row.named or named
        row.last = row.last if record.time is None else record.time
        if match.details:
            _add_details(row.details, match.details)

    def _follow(self, match: Match, bdf: str | None, record: Record, named: bool) -> None:
        if match.id == "reset_begun":
            self._resetting[bdf] = (record, named)
        elif match.id == "reset_failed":
            self._resetting.pop(bdf, None)
        elif match.id in ("reset_resuming", "reset_succeeded"):
            self._settle(bdf)
            if not self._resetting:
                self._settle(None)
        elif bdf and match.decides and bdf not in self._resetting:
            self._explain(match.decides, bdf, record)

    def _explain(self, decides: str, bdf: str, record: Record) -> None:
        if decides == "compute":
            self.compute_errors.setdefault(bdf, masked(record.text)[:SAMPLE])
            return
        if bdf not in self._causes:
            self._causes[bdf] = masked(record.text)[:SAMPLE]
        if decides == "init":
            self.init_errors.setdefault(bdf, self._causes[bdf])

    def _settle(self, bdf: str | None) -> None:
        """A reset or a start of the driver went well: it answers for what the driver said of the GPU before.

        A reset does so for lines that name no GPU, too, where no other reset is under way.
        """
        self._resetting.pop(bdf, None)
        self.init_errors.pop(bdf or "", None)
        self._causes.pop(bdf or "", None)
        for row in self.rows.values():
            if row.driver and row.bdf == bdf:
                row.open = 0

    def _close_firmware(self, ended: _Ended | None) -> None:
        if ended is None:
            return
        for bdf in ended.devices or [None]:
            details: dict[str, int | str] = {} if ended.event is None else {"sequence": ended.event}
            if ended.bus and bdf:
                details["secondary_bus"] = ended.bus
            self._count(Match(ended.id, bdf, False, details), bdf, ended.record, bdf is not None)


def _add_details(known: dict[str, int | str], added: dict[str, int | str]) -> None:
    """Of numbers the greatest is kept, of texts the first."""
    for key, value in added.items():
        before = known.get(key)
        if isinstance(value, int) and isinstance(before, int):
            known[key] = max(value, before)
        elif before is None and len(known) < _DETAILS:
            known[key] = masked(value) if isinstance(value, str) else value


class _Ended:
    """A record of the firmware (APEI), which is several lines with one number."""

    def __init__(self, record: Record, event: int | None) -> None:
        self.record, self.event = record, event
        self.how = self.bus = ""
        self.pcie = False
        self.devices: list[str | None] = []

    @property
    def id(self) -> str:
        return f"apei_{'pcie' if self.pcie else 'host'}_{self.how}"


class _FirmwareRecord:
    """Puts the lines of such a record together; one that does not say how grave it is, is none."""

    def __init__(self) -> None:
        self._open: _Ended | None = None

    def feed(self, record: Record) -> _Ended | None:
        """Take a line; the record that it ends, or None."""
        found = _APEI.match(record.text)
        if found is None:
            return None
        event = int(found["event"]) if found["event"] else None
        body = found["body"]
        begins = body.startswith(("Hardware error from APEI", "event severity:"))
        ended = None
        known = self._open
        if known is None or known.event != event or (begins and (known.how or body.startswith("Hardware error"))):
            # Without a number only its first line tells such a record from a machine check of the processor.
            if event is None and not begins:
                return None
            ended = self.end()
            self._open = known = _Ended(record, event)
        self._read(known, body)
        return ended

    def end(self) -> _Ended | None:
        """The record that was open, if it says how grave it is."""
        ended, self._open = self._open, None
        return ended if ended and ended.how in ("corrected", "recoverable", "fatal") else None

    @staticmethod
    def _read(known: _Ended, body: str) -> None:
        how, device, bus = _HOW.search(body), _DEVICE.search(body), _BUS.search(body)
        if how:
            known.how = known.how or how[1]
        elif device and device[1] not in known.devices:
            known.devices.append(device[1])
        elif bus:
            known.bus = bus[1]
        elif "section_type: PCIe error" in body:
            known.pcie = True
