# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The project's own data: products, releases, windows, advice, signatures. The only reader of the YAML files beside it.

The code is the package itself: beside a folder ``catalog``, ansible-core does not find a ``catalog.py``.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import os
from typing import Any, NamedTuple

import yaml

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._versions import parse_version

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_FILES = ("products.yml", "rocm_releases.yml", "settings.yml", "log_signatures.yml")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CatalogError(FleetError):
    """The catalog's own files are missing or broken: the collection is not whole."""


class Window(NamedTuple):
    """Whether a user space may run on a driver: ``inside``, ``outside`` or ``unknown``, and who says so."""

    answer: str
    source: str


class Catalog:
    """What the catalog files hold, with the questions the rules ask.

    ``products`` is a map by name; ``retired`` and ``announced`` hold names no target may ask for; ``settings`` is the
    content of settings.yml; ``signatures`` are those of log_signatures.yml by id, each with its source in words;
    ``digest`` changes with any byte of any file.
    """

    def __init__(self, products: dict, releases: dict, settings: dict, log: dict, digest: str) -> None:
        self.products: dict[str, dict] = {row["name"]: row for row in products["products"]}
        self.announced: dict[str, dict] = {row["name"]: row for row in products["announced"]}
        self.retired: dict[str, dict] = {row["name"]: row for row in products["retired"]}
        self.settings = settings
        self.signatures = {row["id"]: {**row, "source": log["sources"][row["source"]]} for row in log["signatures"]}
        self.digest = digest
        self.releases = {row["rocm"]: row for row in _rows(releases, "release")}
        self.drivers = _drivers(self.releases, _rows(releases, "driver"))
        self._by_driver = _rows(releases, "by_driver", "by_driver")
        self._by_rocm = _rows(releases, "by_rocm", "by_rocm")
        self._modules = _rows(releases, "module")
        self._apart = releases["apart"]
        self._ids: dict[str, list[tuple[dict, str, str]]] = {}
        for row in products["products"]:
            for number, kind, status in row["ids"]:
                self._ids.setdefault(number, []).append((row, kind, status))

    def products_for(self, device_id: str | None) -> list[dict]:
        """Every product with that PCI device id (``"74a1"``); MI250 and MI250X share one."""
        return [row for row, _kind, _status in self._ids.get(_bare(device_id), [])]

    def product_for(self, device_id: str | None) -> dict | None:
        """The product with that PCI device id; the first where two share it; None for an id that is not known."""
        rows = self.products_for(device_id)
        return rows[0] if rows else None

    def id_kind(self, device_id: str | None) -> tuple[str, str]:
        """``("pf" | "vf" | "unknown", "verified" | "unverified")`` of a device id."""
        rows = self._ids.get(_bare(device_id), [])
        return (rows[0][1], rows[0][2]) if rows else ("unknown", "unverified")

    def retired_for(self, device_id: str | None) -> dict | None:
        """The product, too old to be handled, with that PCI device id."""
        return next((row for row in self.retired.values() if _bare(device_id) in row["ids"]), None)

    def release(self, rocm: str | None) -> dict | None:
        """The row of a ROCm release (``7.0`` finds ``7.0.0``): rocm, date, kind, packaging, driver, status, source."""
        return _find(self.releases, rocm)

    def driver(self, release: str | None) -> dict | None:
        """The row of a driver release: driver, date, kind, module (null where it is not known), status, source."""
        row = _find(self.drivers, release)
        return {**row, **self._module(row["driver"])} if row else None

    def drivers_of_module(self, module: str | None) -> list[str]:
        """The driver releases whose module says this version; several, because point releases share it."""
        series = {parse_version(row["series"]) for row in self._modules if row["module"] == module}
        return [name for name in self.drivers if parse_version(name)[:2] in series]

    def window(self, driver: str | None, rocm: str | None) -> Window:
        """Whether AMD supports this user space on this driver release."""
        space, kernel = self.release(rocm), _find(self.drivers, driver)
        if space is None or kernel is None:
            return Window("unknown", "a release the catalog does not know")
        answers = self._listed(parse_version(kernel["driver"]), parse_version(space["rocm"]))
        for wanted in ("inside", "unknown", "outside"):
            for answer, source in answers:
                if answer == wanted:
                    return Window(answer, source)
        return self._by_age(kernel, space)

    def _listed(self, driver: tuple[int, ...], rocm: tuple[int, ...]) -> list[tuple[str, str]]:
        answers = []
        # Before the rule of one year, what is not in the list was never supported, however new it is.
        closed = driver < parse_version(self._apart["from"])
        for row in self._by_driver:
            if driver[:2] == parse_version(row["driver"]):
                answers.append(_in_row(rocm[:2], row["rocm"], row, closed))
        for row in self._by_rocm:
            wanted = parse_version(row["rocm"])
            if rocm[: len(wanted)] == wanted:
                answers.append(_in_row(driver, row["drivers"], row))
        return [answer for answer in answers if answer]

    def _by_age(self, driver: dict, rocm: dict) -> Window:
        first = parse_version(self._apart["from"])
        if (
            not driver["date"]
            or not rocm["date"]
            or min(parse_version(driver["driver"]), parse_version(rocm["rocm"])) < first
        ):
            return Window("unknown", "no list answers for this pair")
        days = abs((datetime.date.fromisoformat(driver["date"]) - datetime.date.fromisoformat(rocm["date"])).days)
        return Window(
            "inside" if days <= self._apart["days"] else "outside", f"{self._apart['source']}: {days} days apart"
        )

    def _module(self, release: str) -> dict:
        series = parse_version(release)[:2]
        row = next((row for row in self._modules if parse_version(row["series"]) == series), None)
        return (
            {"module": row["module"], "module_status": row["status"]}
            if row
            else {"module": None, "module_status": "unverified"}
        )


@functools.lru_cache(maxsize=1)
def load_catalog() -> Catalog:
    """The catalog of this collection, read once per process.

    :raises CatalogError: where a file is missing or is not what it was shipped as.
    """
    contents, digest = [], hashlib.sha256()
    for name in _FILES:
        path = os.path.join(_FOLDER, name)
        try:
            with open(path, "rb") as handle:
                text = handle.read()
            contents.append(yaml.load(text, Loader=_Loader))
        except (OSError, yaml.YAMLError) as problem:
            raise CatalogError(
                path, f"cannot be read: {problem}", "a file of this collection", "install it again"
            ) from problem
        digest.update(name.encode() + b"\0" + text + b"\0")
    return Catalog(contents[0], contents[1], contents[2], contents[3], f"sha256:{digest.hexdigest()}")


def _rows(document: dict, kind: str, plural: str = "") -> list[dict]:
    columns = document[f"{kind}_columns"]
    return [dict(zip(columns, row, strict=True)) for row in document[plural or f"{kind}s"]]


def _drivers(releases: dict[str, dict], own: list[dict]) -> dict[str, dict]:
    named = {row["driver"]: row for row in own}
    for row in releases.values():
        if row["driver"] == row["rocm"]:
            named[row["driver"]] = {
                "driver": row["driver"],
                **{key: row[key] for key in ("date", "kind", "status", "source")},
            }
    return named


def _in_row(version: tuple[int, ...], texts: list[str], row: dict, closed: bool = False) -> tuple[str, str] | None:
    listed = [parse_version(text) for text in texts]
    verified = row["status"] == "verified"
    if version in listed:
        return ("inside" if verified else "unknown"), row["source"]
    # Newer than everything in the list: it did not exist when the list was made, so the list says nothing about it.
    return ("outside", row["source"]) if verified and (closed or version < max(listed)) else None


def _find(table: dict[str, dict], name: str | None) -> dict | None:
    if not isinstance(name, str):
        return None
    return table.get(name) or table.get(f"{name}.0")


def _bare(device_id: str | None) -> str:
    return str(device_id or "").lower().removeprefix("0x")
