# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest

from ansible_collections.fleetops.instinct.plugins.plugin_utils.catalog import load_catalog
from ansible_collections.fleetops.instinct.plugins.plugin_utils.target import TargetError, load_target, repository_for
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import (
    KEY,
    target_document,
    write_target,
)

CATALOG = load_catalog()


def wanted(**changes):
    return {"rocm": "7.0.2", "driver": "30.10.2", **changes}


def refused(folder, document=None, text=None):
    with pytest.raises(TargetError) as caught:
        load_target(write_target(folder, document, text), CATALOG)
    return str(caught.value)


def test_a_target_reads_like_a_map_and_has_every_default(tmp_path):
    target = load_target(write_target(tmp_path), CATALOG)
    product = target["products"]["MI300X"]
    assert product["link"] == {"speed_gts": 32.0, "width": 16}
    assert product["packages"] == ["rocm", "amdgpu-dkms"]
    assert product["kernel"] == {"cmdline": ["iommu=pt"], "module_options": {}, "sysctl": {}}
    assert json.loads(json.dumps(target.as_dict())) == target.as_dict()


def test_the_repository_is_resolved_for_each_product(tmp_path):
    document = target_document(MI300X=wanted(), MI210={"rocm": "6.4.4", "driver": "6.4.4"})
    target = load_target(write_target(tmp_path, document), CATALOG)
    assert target.repository_for("MI210")["rocm"] == "http://mirror.example/rocm/apt/6.4.4"
    assert repository_for(target.as_dict(), "MI300X") == {
        "rocm": "http://mirror.example/rocm/apt/7.0.2",
        "driver": "http://mirror.example/amdgpu/30.10.2/ubuntu",
        "suite": "jammy",
        "component": "main",
        "key": KEY,
    }


def test_the_digest_follows_the_content_and_not_the_place(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = (load_target(write_target(tmp_path / name), CATALOG) for name in "ab")
    assert first.digest == second.digest
    other = load_target(write_target(tmp_path, target_document(MI300X=wanted(gpus_per_node=4))), CATALOG)
    assert other.digest != first.digest


@pytest.mark.parametrize(
    ("product", "place", "hint"),
    [
        (wanted(rocm="7.0.9"), "products.MI300X.rocm", "'7.0."),
        (wanted(driver="30.10.9"), "products.MI300X.driver", "'30.10."),
        (wanted(rocm=7.0), "products.MI300X.rocm", "put it in quotes"),
        (wanted(rocm="5.7.1"), "products.MI300X", "one of the drivers"),
        (wanted(rocm="7.9.0", driver="30.20.0"), "products.MI300X.rocm", "no upgrade path from or to a preview"),
        (wanted(driver="31.20.0"), "products.MI300X.driver", "preview driver"),
        (wanted(rocm="7.14.0", driver="31.40.0"), "products.MI300X.rocm", "packaging is not supported"),
        (wanted(drivers="30.10.2"), "products.MI300X.drivers", "'driver' (nearest)"),
        (wanted(link={"speed_gts": 12.0}), "products.MI300X.link.speed_gts", "8.0 is Gen3"),
        (wanted(link={"speeds": 16.0}), "products.MI300X.link.speeds", "'speed_gts' (nearest)"),
        (wanted(link={"width": 7}), "products.MI300X.link.width", "1, 2, 4, 8"),
        (
            wanted(kernel={"cmdline": ["iommu=pt pci=bfsort"]}),
            "products.MI300X.kernel.cmdline",
            "one list entry per token",
        ),
        (
            wanted(kernel={"module_options": {"amdgpu": "x"}}),
            "products.MI300X.kernel.module_options.amdgpu",
            "a map of",
        ),
        (wanted(gpus_per_node=0), "products.MI300X.gpus_per_node", "1 or more"),
        ({"rocm": "7.0.2"}, "products.MI300X.driver", "is missing"),
        ("7.0.2", "products.MI300X", "a map"),
    ],
)
def test_a_wrong_product_is_refused_with_its_path(tmp_path, product, place, hint):
    message = refused(tmp_path, target_document(MI300X=product))
    assert f"target.yml: {place}" in message
    assert hint in message


@pytest.mark.parametrize(
    ("name", "hint"),
    [("MI300Y", "'MI300X' (nearest)"), ("MI455X", "no PCI id is published"), ("MI50", "older than"), ("H100", "MI100")],
)
def test_a_product_nobody_can_have_is_refused(tmp_path, name, hint):
    assert hint in refused(tmp_path, target_document(**{name: wanted()}))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: [1", "is not YAML"),
        ("- 1\n", "wanted: a map"),
        ("", "wanted: a map"),
        ("schema: 1\nschema: 1\n", "is there twice"),
        ("schema: 2\n", "one of 1"),
        ("schema: 1\nname: x\nproducts: {}\n", "repository: is missing"),
        ("\x00", "is not YAML"),
    ],
)
def test_a_file_that_is_no_target_is_refused(tmp_path, text, hint):
    assert hint in refused(tmp_path, text=text)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"key_file": "nope.asc"}, "repository.key_file: nope.asc cannot be read: No such file"),
        ({"key_file": "target.yml"}, "is not an armored public key"),
        ({"rocm": "http://m.example/{relase}"}, "'release' (nearest)"),
        ({"driver": "mirror/amdgpu"}, "is not an address"),
    ],
)
def test_a_repository_that_cannot_work_is_refused(tmp_path, change, hint):
    document = target_document()
    document["repository"].update(change)
    assert hint in refused(tmp_path, document)


def test_a_target_without_products_is_refused(tmp_path):
    document = target_document()
    document["products"] = {}
    assert "products: is empty" in refused(tmp_path, document)


def test_a_missing_file_is_refused():
    with pytest.raises(TargetError, match="No such file"):
        load_target("/nonexistent/target.yml", CATALOG)


def test_a_product_outside_the_target_has_no_repository(tmp_path):
    with pytest.raises(TargetError, match="is not in the target"):
        load_target(write_target(tmp_path), CATALOG).repository_for("MI210")


@pytest.mark.parametrize("secret", ["me:tweety", "tweety", "me:twe/ety"])
def test_credentials_in_a_target_are_refused_without_being_repeated(tmp_path, secret):
    document = target_document()
    document["repository"]["rocm"] = f"https://{secret}@mirror.example/rocm/apt/{{release}}"
    message = refused(tmp_path, document)
    assert "target.yml: repository.rocm: https://***@mirror.example/rocm/apt/{release} has credentials" in message
    assert "/etc/apt/auth.conf.d" in message
    assert "twe" not in message


def test_credentials_anywhere_else_in_a_target_are_refused_too(tmp_path):
    document = target_document(MI300X=wanted(kernel={"cmdline": ["x=1", "root=http://me:tweety@m/x"]}))
    assert "products.MI300X.kernel.cmdline[1]: root=http://***@m/x has" in refused(tmp_path, document)


@pytest.mark.parametrize("token", ["idle=poll", "idle=halt", "cpuidle.off=1"])
def test_folklore_12_an_argument_that_keeps_every_core_awake_is_refused_with_the_reason(tmp_path, token):
    message = refused(tmp_path, target_document(MI300X=wanted(kernel={"cmdline": ["iommu=pt", token]})))
    assert "global C-states must stay enabled" in message
    assert "processor.max_cstate=1" in message


@pytest.mark.parametrize("value", ["Disabled", "disable", "Off", "No C-states"])
def test_folklore_12_global_c_states_cannot_be_wished_away(tmp_path, value):
    message = refused(tmp_path, target_document(MI300X=wanted(bios={"global_cstate": value})))
    assert "products.MI300X.bios.global_cstate" in message
    assert "boost needs idle cores in C2" in message
    assert "df_cstates" in message


@pytest.mark.parametrize("token", ["processor.max_cstate=0", "processor.max_cstate=1"])
def test_leaving_c2_out_by_the_operating_system_is_no_reason_to_refuse(tmp_path, token):
    document = target_document(MI300X=wanted(kernel={"cmdline": [token]}, bios={"df_cstates": "Disabled"}))
    target = load_target(write_target(tmp_path, document), CATALOG)
    assert target["products"]["MI300X"]["kernel"]["cmdline"] == [token]


@pytest.mark.parametrize(
    ("row", "place", "words"),
    [
        ({"bios": {"global_cstates": "Enabled"}}, "bios.global_cstates", "'global_cstate' (nearest)"),
        ({"bios": {"iommu": True}}, "bios.iommu", "put it in quotes"),
        ({"containers": [{"image": "x"}]}, "containers.0.rocm", "is missing"),
        ({"containers": [{"image": "x", "rocm": "6.2.44"}]}, "containers.0.rocm", "'6.2.4' (nearest)"),
        ({"containers": [{"image": "x", "rocm": 7.1}]}, "containers.0.rocm", "put it in quotes"),
        ({"containers": ["x"]}, "containers", "dict"),
        ({"firmware": [{"component": "bios", "version": "1.0", "image": "x"}]}, "firmware.0.sha256", "64 hexadecimal"),
        ({"firmware": [{"component": "bios", "version": 1.0}]}, "firmware.0.version", "put it in quotes"),
    ],
)
def test_a_bios_item_or_an_image_that_is_wrong_is_refused_at_its_place(tmp_path, row, place, words):
    message = refused(tmp_path, target_document(MI300X=wanted(**row)))
    assert f"products.MI300X.{place}" in message
    assert words in message


def test_an_image_keeps_the_release_by_its_whole_number(tmp_path):
    document = target_document(MI300X=wanted(containers=[{"image": "x", "rocm": "7.0"}]))
    target = load_target(write_target(tmp_path, document), CATALOG)
    assert target["products"]["MI300X"]["containers"] == [{"image": "x", "rocm": "7.0.0"}]
