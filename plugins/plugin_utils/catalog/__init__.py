# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The project's own data: products, releases, windows, systems, firmware, known-bad combinations, advice, signatures.

The YAML files beside it are read here alone. The code is the package itself: beside a folder ``catalog``, ansible-core
does not find a ``catalog.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import _known_bad, _systems
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._files import CatalogError, Files
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._forms import FORMS
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._match import covered
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._overlay import read_overlay
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._releases import Releases
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._systems import Window, point_release

__all__ = ("Catalog", "CatalogError", "FirmwarePair", "Window", "load_catalog", "point_release")

_OF_BMCS = ("redfish", "bios_attributes")  # files that only those ask for who talk to one


class FirmwarePair(NamedTuple):
    """Board firmware that AMD lists with a release.

    ``scheme`` is one of module_utils/_firmware.py. A version is right that is ``least`` or newer (None where only exact
    ones are listed), or one of ``exact``. ``status`` is verified, unverified, or gap: then no source that was read has
    a row, component and scheme are empty, and ``source`` says why.
    """

    component: str
    scheme: str
    least: str | None
    exact: tuple[str, ...]
    status: str
    source: str


class Catalog:
    """What the catalog files hold, with the questions the rules ask.

    ``products`` is a map by name; ``retired`` and ``announced`` hold names no target may ask for; ``settings`` has the
    rows of settings.yml by section; ``bios`` those about the BIOS; ``signatures`` are those of log_signatures.yml by
    id; ``redfish`` has the rows of redfish.yml by section; ``digest`` changes with any byte of any file and with the
    overlay. Every row has its source in words.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self.digest = files.digest
        self.products = {row["name"]: row for row in files.rows("products", "products")}
        self.announced = {row["name"]: row for row in files.rows("products", "announced")}
        self.retired = {row["name"]: row for row in files.rows("products", "retired")}
        self._ids: dict[str, list[tuple[dict, str, str]]] = {}
        for row in self.products.values():
            for number, kind, status in row["ids"]:
                self._ids.setdefault(number, []).append((row, kind, status))

    def read_ahead(self) -> None:
        """Read now what an audit asks for, for a process whose children then need not.

        :raises CatalogError: where one is not what it was shipped as.
        """
        for name, sections in FORMS.items():
            for section in sections if name not in _OF_BMCS else ():
                self._files.rows(name, section)

    @functools.cached_property
    def settings(self) -> dict[str, list[dict]]:
        sections = ("cmdline", "aspm", "idle", "space", "typical_seconds", "kernel", "os")
        return {section: self._files.rows("settings", section) for section in sections}

    @functools.cached_property
    def bios(self) -> list[dict]:
        return self._files.rows("settings", "bios")

    @functools.cached_property
    def signatures(self) -> dict[str, dict]:
        return {row["id"]: row for row in self._files.rows("log_signatures", "signatures")}

    @functools.cached_property
    def redfish(self) -> dict[str, list[dict]]:
        return {section: self._files.rows("redfish", section) for section in FORMS["redfish"]}

    @property
    def releases(self) -> dict[str, dict]:
        """The ROCm releases by number."""
        return self._releases.by_rocm

    @property
    def drivers(self) -> dict[str, dict]:
        """The driver releases by number."""
        return self._releases.by_driver

    @functools.cached_property
    def _releases(self) -> Releases:
        sections = ("releases", "drivers", "modules", "by_driver", "by_rocm", "gaps")
        apart = self._files.rows("rocm_releases", "apart")[0]
        return Releases({section: self._files.rows("rocm_releases", section) for section in sections}, apart)

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
        return self._releases.release(rocm)

    def driver(self, release: str | None) -> dict | None:
        """The row of a driver release: driver, date, kind, module (null where it is not known), status, source."""
        return self._releases.driver(release)

    def drivers_of_module(self, module: str | None) -> list[str]:
        """The driver releases whose module says this version; several, because point releases share it."""
        return self._releases.drivers_of_module(module)

    def window(self, driver: str | None, rocm: str | None, product: str | None = None) -> Window:
        """Whether AMD supports this user space on this driver release; for a product, where one is named."""
        known = self.products.get(product) if product else None
        if known and known["min_driver"] and covered([f"<{known['min_driver']}"], driver):
            return Window("outside", f"{known['source']}: {product} needs driver {known['min_driver']}")
        return self._releases.window(driver, rocm)

    def hops(self, seen: str | None, wanted: str | None) -> list[dict]:
        """The rows about the way from one release to another: id, move, steps, why, fix, source, status."""
        return [
            row
            for row in self._files.rows("rocm_releases", "hops")
            if covered(row["from"], seen) and covered(row["to"], wanted)
        ]

    def firmware_for(self, product: str, rocm: str) -> list[FirmwarePair]:
        """What AMD lists for the product with that release; an explicit gap is a pair too; [] where nothing is said."""
        found = []
        for row in self._files.rows("firmware", "pairs"):
            if row["product"] == product and covered(row["rocm"], rocm):
                kept = (row["component"], row["scheme"], row["least"], tuple(row["exact"]))
                found.append(FirmwarePair(*kept, row["status"], row["source"]))
        for row in [] if found else self._files.rows("firmware", "gaps"):
            if product in row["products"] and covered(row["rocm"], rocm):
                found.append(FirmwarePair("", "", None, (), "gap", f"{row['why']} ({row['source']})"))
        return found

    def system(self, os_id: str | None, os_version: str | None, rocm: str | None, product: str | None) -> Window:
        """Whether AMD lists that operating system for that release and product.

        :param os_version: as :func:`point_release` tells it, or without a point release.
        """
        row, known = self.release(rocm), self.products.get(str(product))
        if row is None or known is None:
            return Window("unknown", "a release or a product the catalog does not know")
        if known["min_rocm"] and covered([f"<{known['min_rocm']}"], row["rocm"]):
            return Window("outside", f"{known['source']}: {product} needs {known['min_rocm']}")
        support, gaps = self.support, self._files.rows("systems", "gaps")
        return _systems.listed_system(support, gaps, os_id, os_version, row["rocm"], str(product))

    def kernel(
        self,
        os_id: str | None,
        os_version: str | None,
        kernel: str | None,
        rocm: str | None = None,
        driver: str | None = None,
        product: str | None = None,
    ) -> Window:
        """Whether AMD lists that kernel for that system, with the release, or with those that came with the driver.

        ``outside`` where a verified row of :meth:`known_bad` that names kernels says that it fails; ``unknown`` where
        it is not listed and nothing says so.
        """
        facts = {"rocm": rocm, "driver": driver, "product": product, "os_id": os_id, "os_version": os_version}
        for row in self.known_bad(**facts, kernel=kernel):
            if row["severity"] == "fail" and "kernel" in row["when"] and "possible" not in row:
                return Window("outside" if row["status"] == "verified" else "unknown", row["source"])
        with_driver = [row["rocm"] for row in self.releases.values() if driver and row["driver"] == driver]
        asked = [rocm] if rocm else with_driver
        support = self.support
        versions = _systems.versions_of(support, str(os_id), asked, product) if asked else None
        rows = self._files.rows("systems", "kernels")
        return _systems.listed_kernel(rows, os_id, os_version, kernel, asked, versions)

    def kernels_for(self, os_id: str, os_version: str, rocm: str) -> list[str]:
        """The beginnings of the kernels that AMD lists for that version of a system with that release."""
        return [
            kernel
            for row in self._files.rows("systems", "kernels")
            if _systems.is_for(row, os_id, os_version, [rocm])
            for kernel in row["kernels"]
        ]

    @property
    def support(self) -> list[dict]:
        """Which versions of a system AMD lists for which releases and products."""
        return self._files.rows("systems", "support")

    def rows(self, name: str, section: str) -> list[dict]:
        """The rows of any section of any file (``"firmware"``, ``"gaps"``), for pages and tests."""
        return self._files.rows(name, section)

    def known_bad(
        self,
        rocm: str | None = None,
        driver: str | None = None,
        module: str | None = None,
        product: str | None = None,
        os_id: str | None = None,
        os_version: str | None = None,
        kernel: str | None = None,
    ) -> list[Mapping[str, Any]]:
        """The known-bad combinations this is one of: id, when, severity, why, fix, source, status.

        A row that rests on something not known has ``possible: True``. Driver and module stand in for each other.
        """
        facts: dict[str, Iterable[str | None]] = {
            "rocm": [rocm],
            "driver": [driver] if driver else self.drivers_of_module(module),
            "module": [module] if module else [(self.driver(driver) or {}).get("module")],
            "product": [product],
            "system": [os_id],
            "version": [os_version],
            "kernel": [kernel],
        }
        return _known_bad.matching(self._files.rows("known_bad", "known_bad"), facts)


def load_catalog(overlay: str | None = None) -> Catalog:
    """The catalog of this collection, with what a site lays over it; read once per process.

    :param overlay: a YAML file, or a folder of files that are named like the catalog's; docs/catalog.md.
    :raises CatalogError: where a file is missing or is not what it should be.
    """
    return _loaded(overlay or None)


@functools.lru_cache(maxsize=16)
def _loaded(overlay: str | None) -> Catalog:
    files = Files()
    return Catalog(files.with_overlay(read_overlay(overlay, files)) if overlay else files)


def _bare(device_id: str | None) -> str:
    return str(device_id or "").lower().removeprefix("0x")
