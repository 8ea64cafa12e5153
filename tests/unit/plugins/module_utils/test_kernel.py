# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""grub's files, evaluated as the shell would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.fleetops.instinct.plugins.module_utils._errors import ParseError
from ansible_collections.fleetops.instinct.plugins.module_utils._kernel import (
    DROP_IN,
    GRUB_DEFAULT,
    MODPROBE,
    SYSCTL,
    evaluate,
    parse_drop_in,
    parse_options,
    parse_sysctl,
    plan_grub,
    wanted_files,
)

DEFAULT, LINUX = "GRUB_CMDLINE_LINUX_DEFAULT", "GRUB_CMDLINE_LINUX"


@pytest.mark.parametrize(
    "text, value",
    [
        (f'{DEFAULT}="quiet splash"', "quiet splash"),
        (f"{DEFAULT}='quiet splash'", "quiet splash"),
        (f"{DEFAULT}=quiet", "quiet"),
        (f"  export {DEFAULT}=quiet # why", "quiet"),
        (f'{DEFAULT}="a"\n{DEFAULT}="${DEFAULT} b"', "a b"),
        (f'{DEFAULT}="a"\n{DEFAULT}+=" b"', "a b"),
        (f'{DEFAULT}="a"\n{DEFAULT}="${{{DEFAULT}}} b"', "a b"),
        (f'{LINUX}="x"\n{DEFAULT}="${LINUX} b $NOT_SET"', "x b "),
        (f"{DEFAULT}='a'\n{DEFAULT}='${DEFAULT}'", f"${DEFAULT}"),
        (f'#{DEFAULT}="a"', ""),
        (f'{DEFAULT}="a \\"b c\\""', 'a "b c"'),
        (f'MY_{DEFAULT}="a"', ""),
        (f'{DEFAULT}="a\nb"', "a\nb"),
    ],
)
def test_a_variable_is_what_the_shell_would_make_of_it(text, value):
    assert evaluate([text])[DEFAULT] == value


def test_both_variables_make_the_line():
    plan = plan_grub(["b=1"], {GRUB_DEFAULT: f'{LINUX}="console=ttyS0"\n{DEFAULT}="quiet"\n'})
    assert plan.cmdline == ["console=ttyS0", "quiet", "b=1"]


def test_the_drop_in_adds_and_is_not_counted_as_another_file():
    sources = {GRUB_DEFAULT: f'{DEFAULT}="quiet"\n', DROP_IN: f'{DEFAULT}="${DEFAULT} iommu=pt"\n'}
    plan = plan_grub(["iommu=pt", "quiet"], sources)
    assert parse_drop_in(plan.drop_in) == ["iommu=pt"]


def test_what_all_is_given_elsewhere_needs_no_drop_in():
    assert plan_grub(["quiet"], {GRUB_DEFAULT: f'{DEFAULT}="quiet"\n'}).drop_in is None


def test_files_that_are_no_cfg_are_not_read_by_grub():
    sources = {GRUB_DEFAULT: "", "/etc/default/grub.d/z.cfg.bak": f'{DEFAULT}="iommu=pt"\n'}
    assert parse_drop_in(plan_grub(["iommu=pt"], sources).drop_in) == ["iommu=pt"]


def test_a_later_file_that_adds_is_no_hindrance():
    sources = {GRUB_DEFAULT: "", "/etc/default/grub.d/zz.cfg": f'{DEFAULT}="${DEFAULT} console=tty1"\n'}
    assert plan_grub(["iommu=pt"], sources).cmdline == ["iommu=pt", "console=tty1"]


def test_i03_a_later_file_with_another_value_is_named():
    sources = {GRUB_DEFAULT: "", "/etc/default/grub.d/zz.cfg": f'{DEFAULT}="${DEFAULT} processor.max_cstate=5"\n'}
    with pytest.raises(ParseError, match=r"zz\.cfg: undoes processor\.max_cstate=1"):
        plan_grub(["processor.max_cstate=1"], sources)


@pytest.mark.parametrize("token", ["", "a b", 'a="b"', "a=$(x)", "a=`x`", "=x", "-x", "a=x\ny", "a=x\\", "a=x'"])
def test_a_token_that_the_shell_would_take_apart_is_refused(token):
    with pytest.raises(ParseError):
        plan_grub([token], {GRUB_DEFAULT: ""})


@given(
    st.lists(
        st.from_regex(r"[a-z][a-z_.]{0,6}(=[a-z0-9,.:]{1,6})?", fullmatch=True),
        unique_by=lambda t: t.split("=")[0],
        max_size=5,
    )
)
def test_every_wanted_argument_is_in_the_line_that_comes_of_it(wanted):
    plan = plan_grub(wanted, {GRUB_DEFAULT: f'{DEFAULT}="quiet a=0"\n'})
    assert set(wanted) <= set(plan.cmdline)
    again = plan_grub(wanted, {GRUB_DEFAULT: f'{DEFAULT}="quiet a=0"\n', DROP_IN: (plan.drop_in or b"").decode()})
    assert again == plan


def test_what_is_written_is_what_is_read():
    files = wanted_files(
        {"amdgpu": {"b": 2, "a": True}, "empty": {}}, {"vm.x": "1 2", "net/ipv4/conf/eth0.1/rp_filter": 0}
    )
    assert parse_options(files[MODPROBE]) == {("amdgpu", "a"): "1", ("amdgpu", "b"): "2"}
    assert parse_sysctl(files[SYSCTL]) == {"vm.x": "1 2", "net/ipv4/conf/eth0.1/rp_filter": "0"}


def test_nothing_wanted_is_no_file():
    assert wanted_files({}, {}) == {MODPROBE: None, SYSCTL: None}


@pytest.mark.parametrize("options", [{"a": {"b": ""}}, {"a": {"b": "x y"}}, {"a;b": {"c": 1}}, {"a": {"b c": 1}}])
def test_module_options_that_would_say_something_else_are_refused(options):
    with pytest.raises(ParseError):
        wanted_files(options, {})
