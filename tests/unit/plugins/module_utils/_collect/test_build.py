# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a build of the driver needs on the node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._collect.build import (
    SECURE_BOOT,
    VARIABLES,
    build_facts,
    compiler_of_config,
    compiler_of_version,
)
from ansible_collections.fleetops.instinct.plugins.module_utils._collect.reading import Reading
from ansible_collections.fleetops.instinct.tests.unit.recorded_host import RecordedHost

KERNEL = "6.8.0-64-generic"
CONFIG = '#\n# Automatically generated file\nCONFIG_CC_VERSION_TEXT="{} (Ubuntu 13.3.0) 13.3.0"\nCONFIG_GCC_VERSION=1\n'
VERSION = f"Linux version {KERNEL} (buildd@lcy02) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0) 13.3.0, GNU ld) #67 SMP"
LIST = f"{VARIABLES}/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"
FIRMWARE = f"{VARIABLES}/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f"
UBUNTU, OTHERS = "/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub"
ON, OFF = b"\x06\0\0\0\x01", b"\x06\0\0\0\0"


def build(files=None, links=None, kernel=KERNEL):
    host, problems = RecordedHost({"files": files or {}, "links": links or {}}), []
    return build_facts(host, Reading(host, problems, "driver"), kernel), problems


def key_enrolled(**files):
    return build({SECURE_BOOT: ON, **files})[0]["key_enrolled"]


@pytest.mark.parametrize(
    ("files", "links", "kernel", "answer"),
    [
        ({f"/lib/modules/{KERNEL}/build/Makefile": ""}, {}, KERNEL, True),
        ({f"/usr/src/linux-headers-{KERNEL}/Makefile": ""}, {}, KERNEL, True),
        ({f"/usr/src/kernels/{KERNEL}/Makefile": ""}, {}, KERNEL, True),
        ({"/lib/modules/6.8.0-60-generic/build/Makefile": ""}, {}, KERNEL, False),
        ({}, {f"/lib/modules/{KERNEL}/build": f"/usr/src/linux-headers-{KERNEL}"}, KERNEL, False),
        ({f"/lib/modules/{KERNEL}/build/Makefile": ""}, {}, None, None),
    ],
    ids=["module folder", "debian", "red hat", "of another kernel", "link to nothing", "no kernel known"],
)
def test_a01_headers_are_those_of_the_kernel_that_boots_next(files, links, kernel, answer):
    assert build(files, links, kernel)[0]["headers"] is answer


@pytest.mark.parametrize(
    ("files", "built_by", "compilers"),
    [
        ({"/usr/bin/gcc": "", "/proc/version": VERSION}, "x86_64-linux-gnu-gcc-13", ["/usr/bin/gcc"]),
        (
            {"/usr/bin/gcc": "", "/usr/bin/gcc-12": "", f"/boot/config-{KERNEL}": CONFIG.format("gcc-12")},
            "gcc-12",
            ["/usr/bin/gcc-12", "/usr/bin/gcc"],
        ),
        ({f"/lib/modules/{KERNEL}/config": CONFIG.format("gcc"), "/usr/bin/gcc": ""}, "gcc", ["/usr/bin/gcc"]),
        ({"/proc/version": VERSION.replace("-64-", "-60-"), "/bin/cc": ""}, None, ["/bin/cc"]),
        ({f"/boot/config-{KERNEL}": {"error": "EACCES"}, "/proc/version": "junk"}, None, []),
    ],
    ids=["it runs", "its configuration", "red hat", "another kernel runs", "nothing tells"],
)
def test_the_compiler_of_the_kernel_comes_before_the_usual_ones(files, built_by, compilers):
    facts, _problems = build(files)
    assert (facts["built_by"], facts["compilers"]) == (built_by, compilers)


def test_tools_that_are_not_there_are_told_as_such():
    assert [build()[0][name] for name in ("make", "dkms")] == [False, False]
    assert [build({"/usr/bin/make": "", "/usr/sbin/dkms": ""})[0][name] for name in ("make", "dkms")] == [True, True]


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({UBUNTU: b"CERT", LIST: b"\x07\0\0\0listCERTtail"}, True),
        ({OTHERS: b"CERT", FIRMWARE: b"\x07\0\0\0CERT"}, True),
        ({UBUNTU: b"CERT", LIST: b"\x07\0\0\0other"}, False),
        ({UBUNTU: b"CERT", OTHERS: b"OTHER", LIST: b"OTHER"}, False),
        ({LIST: b"CERT"}, False),
        ({UBUNTU: b"", LIST: b"CERT"}, False),
        ({UBUNTU: {"error": "EACCES"}, LIST: b"CERT"}, None),
        ({UBUNTU: b"CERT", LIST: {"error": "EACCES"}}, None),
        ({SECURE_BOOT: OFF, UBUNTU: b"CERT", LIST: b"CERT"}, None),
    ],
    ids=["shim", "firmware", "another", "not the one dkms uses", "no key", "empty", "key dark", "list dark", "off"],
)
def test_the_key_of_dkms_is_looked_for_among_those_that_are_trusted(files, answer):
    assert key_enrolled(**files) is answer


def test_the_key_that_dkms_is_told_to_use_counts():
    framework = {"/etc/dkms/framework.conf": "# mok_certificate=/x\nmok_certificate=/root/site.der\n"}
    keys = {"/root/site.der": b"SITE", UBUNTU: b"CERT"}
    assert key_enrolled(**framework, **keys, **{LIST: b"..SITE.."}) is True
    assert key_enrolled(**framework, **keys, **{LIST: b"..CERT.."}) is False


def test_a_key_that_cannot_be_compared_has_a_reason():
    _facts, problems = build({SECURE_BOOT: ON, UBUNTU: b"CERT", LIST: {"error": "EACCES"}})
    assert [row["subject"] for row in problems] == [f"key_enrolled: {LIST}"]


@given(st.text(max_size=300))
def test_no_text_upsets_the_search_for_a_compiler(text):
    for found in (compiler_of_config(text), compiler_of_version(text)):
        assert found is None or (found in text and " " not in found)


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=200))
def test_no_bytes_upset_the_look_at_keys(secure_boot, certificate, trusted):
    facts, _problems = build({SECURE_BOOT: secure_boot, UBUNTU: certificate, LIST: trusted, "/proc/version": trusted})
    assert facts["key_enrolled"] in (True, False, None)
    assert facts["key_enrolled"] is not True or certificate in trusted
