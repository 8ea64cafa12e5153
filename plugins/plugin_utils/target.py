# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The target: what a fleet is to run, read from the user's file; refused as a whole where anything in it is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.module_utils._credentials import found, masked
from ansible_collections.fleetops.instinct.plugins.module_utils._errors import FleetError
from ansible_collections.fleetops.instinct.plugins.module_utils._pcie import generation
from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.documents import check, nearest, read_yaml, texts
from ansible_collections.fleetops.instinct.plugins.plugin_utils.fingerprint import digest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target_parts import (
    check_bios,
    check_containers,
    check_firmware,
    check_kernel,
)

_REPOSITORY: dict[str, dict[str, Any]] = {
    "rocm": {"type": "str", "required": True},
    "driver": {"type": "str", "required": True},
    "suite": {"type": "str"},
    "component": {"type": "str", "default": "main"},
    "key_file": {"type": "str", "required": True},
}
_TARGET: dict[str, dict[str, Any]] = {
    "schema": {"type": "int", "required": True, "choices": [1]},
    "name": {"type": "str", "required": True},
    "repository": {"type": "dict", "required": True, "options": _REPOSITORY},
    "products": {"type": "dict", "required": True},
}
_PRODUCT: dict[str, dict[str, Any]] = {
    "rocm": {"type": "str", "required": True},
    "driver": {"type": "str", "required": True},
    "gpus_per_node": {"type": "int"},
    "packages": {"type": "list", "elements": "str", "default": ["rocm", "amdgpu-dkms"]},
    "containers": {"type": "list", "elements": "dict", "default": []},
    "bios": {"type": "dict", "default": {}},
    "firmware": {"type": "list", "elements": "dict", "default": []},
    "link": {"type": "dict", "options": {"speed_gts": {"type": "float"}, "width": {"type": "int"}}},
    "kernel": {
        "type": "dict",
        "options": {
            "cmdline": {"type": "list", "elements": "str", "default": []},
            "module_options": {"type": "dict", "default": {}},
            "sysctl": {"type": "dict", "default": {}},
        },
    },
}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class TargetError(FleetError):
    """The target file asks for something that is wrong, unknown or not supported."""


class Target(Mapping[str, Any]):
    """A checked target: reads like the map :meth:`as_dict` returns.

    ``path`` is where it was read from and ``digest`` identifies its content, the key's text included, not its place.
    """

    def __init__(self, data: dict, path: str) -> None:
        self._data = data
        self.path = path
        self.digest = digest(data)

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def as_dict(self) -> dict:
        """The target as plain JSON: schema, name, repository (``key`` is the key's text), products with defaults."""
        return self._data

    def repository_for(self, product: str) -> dict:
        """See :func:`repository_for`."""
        return repository_for(self._data, product)


def repository_for(target: Mapping[str, Any], product: str) -> dict:
    """Where that product's packages come from: rocm and driver URL, suite, component, key (armored text).

    :param target: a Target, its ``as_dict()``, or the ``target`` of a plan.
    :raises TargetError: for a product the target does not name.
    """
    wanted = target["products"].get(product)
    if wanted is None:
        raise TargetError(
            f"product {product}",
            "is not in the target",
            nearest(product, target["products"]),
            "add it to products in the target",
        )
    names = {"release": wanted["rocm"], "driver": wanted["driver"]}
    place = target["repository"]
    urls = {key: _PLACEHOLDER.sub(lambda match: names[match[1]], place[key]) for key in ("rocm", "driver")}
    return {**urls, "suite": place["suite"], "component": place["component"], "key": place["key"]}


def load_target(path: str, catalog: Catalog) -> Target:
    """The target in a file.

    :raises TargetError: naming the file, the path in it, what was seen and what is allowed.
    """
    document = read_yaml(path, TargetError, "a target file (docs/contracts.md, section 2)")
    _refuse_credentials(document, path)
    data = check(_TARGET, document, (path, ""), TargetError)
    data["repository"] = _repository(data["repository"], path)
    if not data["products"]:
        raise TargetError(
            f"{path}: products", "is empty", "at least one product", "name one of " + ", ".join(catalog.products)
        )
    data["products"] = {
        name: _product(name, value, path, catalog)
        for name, value in sorted(data["products"].items(), key=lambda item: str(item[0]))
    }
    return Target({key: data[key] for key in _TARGET}, path)


def _refuse_credentials(document: Any, path: str) -> None:
    for place, text in texts(document):
        if found(text):
            raise TargetError(
                f"{path}: {masked(place)}",
                f"{masked(text)} has credentials in it, which would go into every plan, ledger and report",
                "an address without user and password",
                "put those for a repository on the nodes, into a file of mode 0600 in /etc/apt/auth.conf.d "
                "(see man apt_auth.conf); nothing else in a target can be secret",
            )


def _repository(place: dict, path: str) -> dict:
    for key in ("rocm", "driver"):
        _check_url(place[key], f"{path}: repository.{key}")
    key_path = os.path.join(os.path.dirname(os.path.abspath(path)), place["key_file"])
    try:
        with open(key_path, encoding="ascii") as handle:
            text = handle.read()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "is not plain text"
        raise TargetError(
            f"{path}: repository.key_file",
            f"{place['key_file']} cannot be read: {reason}",
            "an armored public key, relative to the target file",
            "put the key there or correct the path",
        ) from problem
    if "BEGIN PGP PUBLIC KEY BLOCK" not in text:
        raise TargetError(
            f"{path}: repository.key_file",
            f"{place['key_file']} is not an armored public key",
            "a text with BEGIN PGP PUBLIC KEY BLOCK",
            "export it with gpg --armor --export",
        )
    return {**place, "key": text}


def _check_url(url: str, subject: str) -> None:
    for name in _PLACEHOLDER.findall(url):
        if name not in ("release", "driver"):
            raise TargetError(
                subject,
                f"{{{name}}} is not a placeholder",
                nearest(name, ("release", "driver")),
                "correct the placeholder",
            )
    if not url.startswith(("http://", "https://", "file:/")):
        raise TargetError(
            subject, f"{url!r} is not an address", "http://, https:// or file:/ and a path", "correct the address"
        )


def _product(name: str, value: Any, path: str, catalog: Catalog) -> dict:
    place = f"{path}: products.{name}"
    _check_name(name, place, catalog)
    wanted = check(_PRODUCT, value, (path, f"products.{name}"), TargetError)
    row = catalog.products[name]
    wanted["rocm"] = _release(wanted["rocm"], f"{place}.rocm", catalog)
    wanted["driver"] = _driver(wanted["driver"], f"{place}.driver", catalog)
    _check_pair(wanted, place, catalog)
    wanted["link"] = _link(wanted["link"] or {}, row["link"], f"{place}.link")
    wanted["kernel"] = wanted["kernel"] or check(_PRODUCT["kernel"]["options"], {}, (path, ""), TargetError)
    check_kernel(wanted["kernel"], f"{place}.kernel", TargetError)
    wanted["bios"] = check_bios(wanted["bios"], f"{place}.bios", catalog, TargetError)
    wanted["containers"] = check_containers(wanted["containers"], (path, f"products.{name}"), catalog, TargetError)
    wanted["firmware"] = check_firmware(wanted["firmware"], (path, f"products.{name}.firmware"), TargetError)
    if wanted["gpus_per_node"] is not None and wanted["gpus_per_node"] < 1:
        raise TargetError(f"{place}.gpus_per_node", str(wanted["gpus_per_node"]), "1 or more", "correct the number")
    return wanted


def _check_name(name: str, place: str, catalog: Catalog) -> None:
    if name in catalog.products:
        return
    if name in catalog.announced:
        raise TargetError(
            place,
            "is announced, but no PCI id is published, so no node can be recognised as one",
            nearest(name, catalog.products),
            "take it out of the target",
        )
    if name in catalog.retired:
        raise TargetError(
            place,
            "is older than anything this collection handles",
            nearest(name, catalog.products),
            "take it out of the target",
        )
    raise TargetError(place, "is not a product the catalog knows", nearest(name, catalog.products), "correct the name")


def _release(text: str, place: str, catalog: Catalog) -> str:
    row = catalog.release(text)
    if row is None:
        raise TargetError(
            place,
            f"{text!r} is not a ROCm release the catalog knows",
            nearest(text, catalog.releases),
            "correct the number; a release that is newer than the catalog needs a newer collection",
        )
    if row["kind"] == "preview":
        raise TargetError(
            place,
            f"{text} is a technology preview",
            "a production release",
            "there is no upgrade path from or to a preview",
        )
    if row["packaging"] == "new":
        raise TargetError(
            place,
            f"{text} has the package names and the layout that came with 7.14",
            "a release up to 7.2.4",
            "this change of packaging is not supported; remove every older ROCm package by hand first",
        )
    return row["rocm"]


def _driver(text: str, place: str, catalog: Catalog) -> str:
    row = catalog.driver(text)
    if row is None:
        raise TargetError(
            place,
            f"{text!r} is not a driver release the catalog knows",
            nearest(text, catalog.drivers),
            "correct the number; a driver that is newer than the catalog needs a newer collection",
        )
    if row["kind"] == "preview":
        raise TargetError(place, f"{text} is a preview driver", "a production driver", "choose another driver")
    return row["driver"]


def _check_pair(wanted: dict, place: str, catalog: Catalog) -> None:
    window = catalog.window(wanted["driver"], wanted["rocm"])
    if window.answer == "outside":
        inside = [name for name in catalog.drivers if catalog.window(name, wanted["rocm"]).answer == "inside"]
        raise TargetError(
            place,
            f"ROCm {wanted['rocm']} is not supported on driver {wanted['driver']} ({window.source})",
            f"one of the drivers {', '.join(inside)}",
            "choose a driver inside the window",
        )


def _link(asked: dict, product: dict, place: str) -> dict:
    link = {key: asked.get(key) if asked.get(key) is not None else product[key] for key in ("speed_gts", "width")}
    if generation(link["speed_gts"]) is None:
        raise TargetError(
            f"{place}.speed_gts",
            f"{link['speed_gts']} is not the speed of a PCI Express generation",
            "2.5, 5.0, 8.0, 16.0, 32.0 or 64.0 (8.0 is Gen3, 16.0 is Gen4, 32.0 is Gen5)",
            "correct the speed",
        )
    if link["width"] not in (1, 2, 4, 8, 12, 16):
        raise TargetError(f"{place}.width", f"{link['width']} lanes", "1, 2, 4, 8, 12 or 16", "correct the width")
    return link
