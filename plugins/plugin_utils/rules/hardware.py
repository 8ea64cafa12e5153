# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which product a node has, and whether all of its GPUs are there and serve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import Catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.rules._base import (
    Context,
    Finding,
    name_of,
    passed,
    per_gpu,
    unread,
)

_READ_THE_LOG = "read `journalctl -k -b` for this address; power-cycle through the BMC; then check its firmware"


class Identity(NamedTuple):
    """The physical GPU functions, the product all of them are (or None), and what is to be said about that."""

    gpus: list[Mapping[str, Any]]
    product: Mapping[str, Any] | None
    findings: tuple[Finding, ...]


def identify(facts: Mapping[str, Any], products: Mapping[str, Any], catalog: Catalog, node: str) -> Identity:
    """The product of a node, by the device ids of its GPUs.

    :param products: the products of the target; they settle an id that two products share.
    """
    found = facts.get("gpus")
    if not isinstance(found, list):
        return Identity([], None, (unread(node, "the list of GPUs"),))
    if not found:
        return Identity(
            [],
            None,
            (_unknown(node, "no GPU on the PCI bus", "take the node out of the group, or look at its PCI bus"),),
        )
    unclear = [
        unread(name_of(gpu), "whether it is a physical or a virtual function")
        for gpu in found
        if gpu.get("kind") is None
    ]
    gpus = [gpu for gpu in found if not _is_virtual(gpu, catalog)]
    if unclear or not gpus:
        virtual = _unknown(
            node,
            f"{len(found)} virtual functions and no physical one",
            "the driver of their host decides here; audit the host",
        )
        return Identity(gpus, None, tuple(unclear) or (virtual,))
    strangers = tuple(_stranger(gpu, catalog) for gpu in gpus if not catalog.products_for(gpu.get("device_id")))
    if strangers:
        return Identity(gpus, None, strangers)
    return _one_product(gpus, products, catalog, node)


def _is_virtual(gpu: Mapping[str, Any], catalog: Catalog) -> bool:
    return gpu.get("kind") == "vf" or catalog.id_kind(gpu.get("device_id"))[0] == "vf"


def _stranger(gpu: Mapping[str, Any], catalog: Catalog) -> Finding:
    number = gpu.get("device_id")
    if number is None:
        return unread(name_of(gpu), "the device id")
    old = catalog.retired_for(number)
    seen = f"1002:{number}, {old['name']}, older than anything handled here" if old else f"1002:{number}"
    return Finding(
        "unknown",
        name_of(gpu),
        "the device id of a product in the catalog",
        seen,
        "nothing is known about this device",
        "take the node out of the group, or bring a catalog that knows the device",
    )


def _one_product(gpus: list[Mapping[str, Any]], products: Mapping[str, Any], catalog: Catalog, node: str) -> Identity:
    sets = [{row["name"] for row in catalog.products_for(gpu.get("device_id"))} for gpu in gpus]
    common = sorted(set.intersection(*sets))
    if not common:
        mixture = ", ".join(sorted({"/".join(sorted(names)) for names in sets}))
        return Identity(
            gpus,
            None,
            (_unknown(node, f"GPUs of different products: {mixture}", "a node has one product; look at it"),),
        )
    named = [name for name in common if name in products]
    if len(named) > 1 and products[named[0]] != products[named[1]]:
        seen = f"a device id that {' and '.join(named)} share, and the target wants different things for them"
        return Identity(gpus, None, (_unknown(node, seen, "leave the product that you do not have out of the target"),))
    row = catalog.products[(named or common)[0]]
    return Identity(gpus, row, (passed(node, row["name"]),))


def _unknown(node: str, seen: str, fix: str) -> Finding:
    return Finding(
        "unknown",
        node,
        "GPUs of one product that the catalog knows",
        seen,
        "what a node should have follows from its product",
        fix,
    )


def product_known(ctx: Context) -> Iterator[Finding]:
    """Every GPU is of one product that the catalog knows."""
    yield from ctx.identity


def product_wanted(ctx: Context) -> Iterator[Finding]:
    """The target says what this product is to run."""
    if ctx.product is not None and ctx.wanted is None:
        name = ctx.product["name"]
        yield Finding(
            "fail",
            ctx.node,
            "a product of the target",
            name,
            f"the target says nothing about {name}",
            f"add products.{name} to the target, or leave the node out",
        )
    elif ctx.product is not None:
        yield passed(ctx.node, ctx.product["name"])


def product_verified(ctx: Context) -> Iterator[Finding]:
    """What the catalog says about the product was seen in a primary source."""
    if ctx.product is None:
        return
    doubts = [field for field in ("link", "gpus_per_node") if field in ctx.product["unverified"]]
    doubts += sorted({gpu["device_id"] for gpu in ctx.gpus if ctx.catalog.id_kind(gpu["device_id"])[1] != "verified"})
    for doubt in doubts:
        yield Finding(
            "warn",
            ctx.node,
            "a verified row of the catalog",
            f"{doubt} of {ctx.product['name']} is not verified",
            "the catalog's figure was not seen in a primary source",
            "check it against the maker's data sheet",
        )


def expected_count(ctx: Context) -> int | None:
    """How many GPU functions the node should have; None where neither target nor catalog says one number that fits."""
    if ctx.product is None:
        return None
    if ctx.wanted and ctx.wanted.get("gpus_per_node"):
        return int(ctx.wanted["gpus_per_node"])
    choices = ctx.product["functions_per_node"]
    if len(choices) == 1:
        return int(choices[0])
    return len(ctx.gpus) if len(ctx.gpus) in choices else None


def gpu_count(ctx: Context) -> Iterator[Finding]:
    """As many GPUs as the target, or else the catalog, says."""
    if ctx.product is None:
        return
    expected, seen, choices = expected_count(ctx), len(ctx.gpus), ctx.product["functions_per_node"]
    advice = f"say gpus_per_node of {ctx.product['name']} in the target"
    if expected is None and not choices:
        yield Finding(
            "unknown",
            ctx.node,
            "a number in target or catalog",
            str(seen),
            "nobody says how many there should be",
            advice,
        )
    elif expected != seen:
        wanted = str(expected) if expected is not None else " or ".join(map(str, choices))
        yield Finding(
            "fail",
            ctx.node,
            f"{wanted} GPUs",
            f"{seen} GPUs",
            "a GPU is missing on the PCI bus, or one too many is there",
            "look for the missing address in the facts of before; power-cycle the node through its BMC; then check "
            "the board",
        )
    elif len(choices) > 1 and not (ctx.wanted or {}).get("gpus_per_node"):
        yield Finding(
            "warn",
            ctx.node,
            " or ".join(map(str, choices)),
            str(seen),
            "half of the GPUs missing would look just like this",
            advice,
        )
    else:
        yield passed(ctx.node, seen)


@per_gpu
def gpu_identity(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """Every GPU has an address and a unique id: counters of a device without identity are not believed."""
    if not gpu.get("bdf"):
        yield unread(ctx.node, "the address of a GPU")
    elif not gpu.get("unique_id") and gpu.get("initialised") is True:
        yield unread(name_of(gpu), "the unique id")
    elif gpu.get("unique_id") and Counter(other.get("unique_id") for other in ctx.gpus)[gpu["unique_id"]] > 1:
        yield Finding(
            "fail",
            name_of(gpu),
            "an id of its own",
            str(gpu["unique_id"]),
            "two GPUs cannot have the same unique id",
            "read the facts again; if it stays, reboot the node and look at its firmware",
        )
    else:
        yield passed(name_of(gpu), gpu.get("unique_id"))


@per_gpu
def gpu_initialised(ctx: Context, gpu: Mapping[str, Any]) -> Iterator[Finding]:
    """Every GPU on the bus is bound to amdgpu and serves."""
    driver, serves = gpu.get("driver"), gpu.get("initialised")
    if serves is None or (serves and driver is None):
        yield unread(name_of(gpu), "whether the driver has initialised it", "amdgpu, initialised")
    elif driver == "amdgpu" and serves:
        yield passed(name_of(gpu), "amdgpu")
    else:
        bound = (
            "amdgpu is bound and did not initialise it" if driver == "amdgpu" else f"{driver or 'no driver'} is bound"
        )
        cause = gpu.get("init_error")
        yield Finding(
            "fail",
            name_of(gpu),
            "amdgpu, initialised",
            f"{bound}: {cause}" if cause else bound,
            "it is on the PCI bus and does not serve",
            "see what log.fatal says of it" if cause else _READ_THE_LOG,
        )
