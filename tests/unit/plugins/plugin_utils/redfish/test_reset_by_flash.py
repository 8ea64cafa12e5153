# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a flash resets besides: boot order and settings of the BIOS."""

from __future__ import annotations

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import LOST, Answer
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.reset_by_flash import changed, settings_of


def settings(order, **attributes):
    """The settings that a BMC with these tells."""
    pages = {
        "/s": {"Boot": {"BootOrder": order}, "Bios": {"@odata.id": "/s/Bios"}},
        "/s/Bios": {"Attributes": attributes},
    }
    return settings_of(lambda path: Answer(200, pages[path]), "/s")


def test_another_boot_order_and_other_settings_are_told_b32():
    before = settings(["Boot0000", "Boot0018"], SRIOV="Enabled", NPS="NPS1", Same=1)
    after = settings(["Boot0018", "Boot0021"], SRIOV="Disabled", NPS={"current_value": "Auto"}, Same=1)
    assert changed(before, after) == [
        "the boot order was Boot0000,Boot0018 and is Boot0018,Boot0021",
        "settings of the BIOS are others: SRIOV Enabled -> Disabled, NPS NPS1 -> Auto",
    ]


def test_what_is_the_same_or_not_told_is_no_change():
    told, untold = settings(["Boot0000"], SRIOV="Enabled"), settings_of(lambda path: Answer(LOST), "/s")
    assert untold == {"boot_order": None, "attributes": None}
    assert [changed(one, other) for one, other in ((told, told), (untold, told), (told, untold), (None, told))] == [
        []
    ] * 4


def test_a_password_is_never_kept():
    assert settings(["Boot0000"], SetupPassword="x", TpmPwd="y", KeyboardLock="z", NPS="1")["attributes"] == {
        "NPS": "1"
    }


def test_many_settings_are_not_all_listed():
    before, after = ({f"A{n}": value for n in range(20)} for value in ("a", "b"))
    assert changed(settings([], **before), settings([], **after))[0].endswith("and 12 more")
