# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far the catalog reaches: what it says of products, systems, releases and drivers, and where nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ansible_collections.fleetops.instinct.plugins.module_utils._versions import compare
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._releases import NO_LIST
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog._systems import NO_ROW, Window

_SILENT = (NO_ROW, NO_LIST)


class Cell(NamedTuple):
    """What the catalog says of a product on a version of a system with a ROCm release.

    ``said`` is listed, unlisted, gap (the catalog says that it does not know), or hole (it says nothing).
    """

    product: str
    system: str
    version: str
    rocm: str
    said: str


class Pair(NamedTuple):
    """What the catalog says of a driver below a ROCm release, for a product; ``said`` as that of a Cell."""

    product: str
    rocm: str
    driver: str
    said: str


def releases_of(catalog: Catalog, product: str) -> list[str]:
    """The production releases that a product may run, in their order."""
    least = catalog.products[product]["min_rocm"]
    numbers = [row["rocm"] for row in catalog.releases.values() if row["kind"] == "production"]
    return [number for number in numbers if least is None or compare(number, least) >= 0]


def every_system(catalog: Catalog) -> list[tuple[str, str]]:
    """Every version of a system that AMD lists for any release: ``("ubuntu", "22.04.5")``."""
    return list(dict.fromkeys((row["system"], version) for row in catalog.support for version in row["versions"]))


def systems(catalog: Catalog, products: Iterable[str]) -> Iterator[Cell]:
    """A cell for each of the products, version of a system that AMD lists anywhere, and release the product may run."""
    for product in products:
        for system, version in every_system(catalog):
            for rocm in releases_of(catalog, product):
                yield Cell(product, system, version, rocm, _said(catalog.system(system, version, rocm, product)))


def pairs(catalog: Catalog, products: Iterable[str]) -> Iterator[Pair]:
    """A pair for each of the products, release it may run, and production driver."""
    drivers = [row["driver"] for row in catalog.drivers.values() if row["kind"] == "production"]
    for product in products:
        for rocm in releases_of(catalog, product):
            for driver in drivers:
                yield Pair(product, rocm, driver, _said(catalog.window(driver, rocm, product)))


def holes(catalog: Catalog, products: Iterable[str] = ()) -> list[str]:
    """In words, what is neither told nor said to be unknown; an empty list is what the tests ask for.

    :param products: those to look at; none for all.
    """
    found, asked = [], tuple(products) or tuple(catalog.products)
    for cell in systems(catalog, asked):
        if cell.said == "hole":
            found.append(f"no row for {cell.product} on {cell.system} {cell.version} with ROCm {cell.rocm}")
        if cell.said == "listed" and not catalog.kernels_for(cell.system, cell.version, cell.rocm):
            found.append(f"no kernel for {cell.system} {cell.version} with ROCm {cell.rocm}")
    for pair in pairs(catalog, asked):
        if pair.said == "hole":
            found.append(f"no answer for ROCm {pair.rocm} on driver {pair.driver} ({pair.product})")
    for product in asked:
        for rocm in releases_of(catalog, product):
            if not catalog.firmware_for(product, rocm):
                found.append(f"no firmware for {product} with ROCm {rocm}")
    return list(dict.fromkeys(found))


def _said(window: Window) -> str:
    if window.answer == "unknown":
        return "hole" if window.source in _SILENT else "gap"
    return "listed" if window.answer == "inside" else "unlisted"
