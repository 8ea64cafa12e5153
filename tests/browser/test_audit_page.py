# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of an audit as an operator uses it: from disk, with the keyboard, in the dark, with 2,000 nodes."""

from __future__ import annotations

import json
import struct
import zlib

import pytest

from ansible_collections.fleetops.instinct.tests.browser.conftest import READY, write_page
from ansible_collections.fleetops.instinct.tests.unit.plugins.plugin_utils.samples import record

HOSTILE = "<img src=x onerror=alert(1)></script><!--\"'`{{7*7}}"
ROW = "#matrix tbody tr[aria-rowindex]"
CTRL = 2


@pytest.fixture(name="page")
def _page(browser, fleet_page):
    """The page of 132 nodes, just opened."""
    browser.open(fleet_page(132), READY)
    return browser


def texts(browser, selector):
    return browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")


def names(browser):
    return texts(browser, f"{ROW} .name")


def click(browser, selector):
    browser.evaluate(f"document.querySelector({json.dumps(selector)}).click()")


def choose(browser, control, value):
    """Set a filter as a person does, and wait until the matrix has followed."""
    browser.evaluate(
        f"{{ const c = document.getElementById({json.dumps(control)}); c.value = {json.dumps(value)};"
        "c.dispatchEvent(new Event('input', { bubbles: true })); new Promise((r) => setTimeout(r, 200)) }"
    )


def shown(browser):
    return browser.evaluate("document.getElementById('shown').textContent")


def focus(browser):
    return browser.evaluate("[document.activeElement.dataset.row, document.activeElement.dataset.column]")


def pixels(png):
    """Width, height, and the bytes of an RGB screenshot without its filters' help: good enough to compare two."""
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(data)


def test_the_page_opens_from_disk_and_asks_for_nothing_else(page, fleet_page):
    asked = [told["request"]["url"] for told in page.told("Network.requestWillBeSent")]
    assert asked == [fleet_page(132).as_uri()]


@pytest.mark.parametrize("event", ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"])
def test_nothing_is_said_on_the_console(page, event):
    for control, value in (("search", "g0018"), ("rule", "link.width"), ("order", "name")):
        choose(page, control, value)
    click(page, f"{ROW} .first")
    assert page.told(event) == []


def test_the_head_says_the_code_and_the_counts(page):
    assert texts(page, ".code") == ["unreachable"]
    assert texts(page, "h1") == ["Audit of 132 nodes for rocm-7.0.2"]
    assert texts(page, ".card b")[0] == str(len(names_of_class(page, "unknown")))


def names_of_class(browser, name):
    choose(browser, "class", name)
    return names(browser)


@pytest.mark.parametrize(
    "words, expected",
    [
        ("g0041", ["g0041"]),
        ("no route", ["g0041", "g0131"]),
        ("vbios:113-m3000100-103", ["g0114"]),
        ('os:"debian 12" dpkg', ["g0066"]),
        ("reseat rack:r003", ["g0018"]),
        ("driver:unknown class:unknown r013", ["g0102"]),
        ("xyzzy", []),
    ],
)
def test_the_search_finds_what_nodes_are_and_say(page, words, expected):
    choose(page, "search", words)
    assert sorted(names(page)) == expected
    assert shown(page) == f"{len(expected)} of 132 nodes"


@pytest.mark.parametrize(
    "filters, expected",
    [
        ({"rule": "link.width"}, ["g0018", "g0042"]),
        ({"rule": "link.width", "verdict": "fail"}, ["g0018"]),
        ({"rack": "r006", "class": "unknown"}, ["g0041", "g0042"]),
        ({"product": "MI210", "class": "unhealthy"}, ["g0018"]),
    ],
)
def test_filters_narrow_the_matrix_together(page, filters, expected):
    for control, value in filters.items():
        choose(page, control, value)
    assert sorted(names(page)) == expected


def test_clear_shows_the_whole_fleet_again(page):
    choose(page, "search", "g0041")
    click(page, "#filters button[type=reset]")
    page.until("document.getElementById('shown').textContent === '132 nodes'")


def test_the_head_of_a_column_filters_by_its_rule(page):
    click(page, '#matrix thead button[title^="link.width"]')
    assert sorted(names(page)) == ["g0018", "g0042"]
    assert texts(page, "#matrix thead .chosen") == ["link.width"]


def test_a_problem_and_a_version_lead_to_their_nodes(page):
    click(page, 'button[data-rule="link.width"][data-verdict="fail"]')
    page.until("document.getElementById('shown').textContent === '1 of 132 nodes'")
    assert names(page) == ["g0018"]
    click(page, 'button[data-search="vbios:\\"113-M3000100-103\\""]')
    page.until("document.getElementById('rule').value === ''")
    assert names(page) == ["g0114"]


def test_a_cell_opens_what_the_node_said_with_the_rule_first(page):
    choose(page, "search", "g0018")
    column = page.evaluate("[...document.querySelectorAll('#matrix thead .mark')].findIndex("
                           "(head) => head.textContent === 'link.width') + 1")  # fmt: skip
    click(page, f'{ROW} [data-column="{column}"]')
    assert texts(page, "#detail-title") == ["g0018"]
    first = "#detail article:first-of-type"
    told = dict(zip(texts(page, f"{first} dt"), texts(page, f"{first} dd"), strict=True))
    assert (told["Expected"], told["Observed"], told["Subject"]) == ("x16", "x8", "0000:63:00.0")
    assert "reseat card" in told["Fix"]
    assert "AMD system acceptance guide" in told["Source"]


def test_a_finding_on_several_gpus_is_one_with_all_of_them(page):
    choose(page, "search", "g0126")
    click(page, f"{ROW} .first")
    told = texts(page, '#detail article[data-rule="gpu.initialised"] .mono')
    assert [len(subjects.split(", ")) for subjects in told] == [8]


def test_the_keyboard_moves_opens_and_closes(page):
    page.evaluate("document.querySelector('#matrix [tabindex=\"0\"]').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowRight"):
        page.press(key)
    assert focus(page) == ["1", "2"]
    page.press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"
    page.press("Escape")
    assert focus(page) == ["1", "2"]
    assert page.evaluate("document.getElementById('detail').hidden")


@pytest.mark.parametrize("key, modifiers, row", [("End", CTRL, "131"), ("PageDown", 0, "20"), ("ArrowUp", 0, "0")])
def test_the_keyboard_reaches_rows_that_are_not_drawn_yet(page, key, modifiers, row):
    page.evaluate("document.querySelector('#matrix [tabindex=\"0\"]').focus()")
    page.press(key, modifiers)
    assert focus(page)[0] == row


def test_each_control_has_a_name_and_each_cell_says_its_verdict(page):
    nameless = (
        "[...document.querySelectorAll('input, select, button')]"
        ".filter((e) => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).length"
    )
    assert page.evaluate(nameless) == 0
    assert page.evaluate(f"[...document.querySelectorAll('{ROW} td.mark')].every((c) => / *: ./.test(c.ariaLabel))")
    signs = page.evaluate(f"new Set([...document.querySelectorAll('{ROW} td.fail')].map((c) => c.textContent)).size")
    assert signs == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(page, scheme):
    page.prefer(scheme)
    click(page, f"{ROW} .first")
    assert page.evaluate(CONTRAST) == []


# What is written with less contrast than WCAG AA asks for (4.5, or 3 for large text), with its ratio.
CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgb = (colours) => { canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = (values) => values.map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !element.checkVisibility() || element.closest('script, style, option, .skip')) continue;
    const behind = [];
    for (let e = element; e; e = e.parentElement) behind.unshift(getComputedStyle(e).backgroundColor);
    const style = getComputedStyle(element);
    const [a, b] = [light(rgb(behind)), light(rgb([...behind, style.color]))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 600);
    if (ratio < (large ? 3 : 4.5)) found.push(`${element.className || element.tagName} ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)];
})()"""


def test_light_and_dark_both_show_something_and_differ(page, shots):
    looks = {scheme: pixels(page.look(shots / f"audit-{scheme}.png", scheme)) for scheme in ("light", "dark")}
    for width, height, data in looks.values():
        assert (width, height) == (1600, 1000)
        assert len(set(data[::97])) > 20
    assert looks["light"] != looks["dark"]


def test_the_button_overrules_what_the_system_prefers(page):
    page.prefer("light")
    paper = "getComputedStyle(document.body).backgroundColor"
    seen = [page.evaluate(paper)]
    for _press in range(3):
        click(page, "#theme")
        seen.append(page.evaluate(paper))
    assert seen[0] == seen[2] == seen[3] != seen[1]
    assert texts(page, "#theme") == ["Theme: system"]


def test_the_page_of_2000_nodes_holds_only_the_rows_that_can_be_seen(browser, fleet_page, shots):
    page = fleet_page(2000)
    browser.open(page, READY)
    assert shown(browser) == "2,000 nodes"
    click(browser, "#all")
    browser.until("document.querySelectorAll('#matrix thead .mark').length > 40")
    assert browser.evaluate(f"document.querySelectorAll('{ROW}').length") < 100
    browser.evaluate("document.getElementById('fleet').scrollIntoView({ behavior: 'instant' })")
    browser.look(shots / "audit-2000.png")
    assert page.stat().st_size < 8 * 2**20


def test_scrolling_2000_nodes_draws_those_that_come_into_view(browser, fleet_page):
    browser.open(fleet_page(2000), READY)
    choose(browser, "order", "name")
    browser.evaluate("document.getElementById('matrix').scrollTop = 1e9")
    browser.until(f"[...document.querySelectorAll('{ROW} .name')].some((name) => name.textContent === 'g2000')")
    assert browser.evaluate("document.getElementById('matrix').scrollHeight") >= 2000 * 26


def test_what_is_shown_can_be_sent_as_an_address(page, browser, fleet_page):
    choose(page, "rule", "link.width")
    click(page, f"{ROW} .first")
    fragment = page.evaluate("location.hash")
    browser.open(fleet_page(132), READY, fragment)
    assert texts(browser, "#detail-title") == [names(browser)[0]]
    assert sorted(names(browser)) == ["g0018", "g0042"]


@pytest.fixture(name="hostile", scope="module")
def _hostile(tmp_path_factory):
    """An audit in which everything that a node can say is markup or a script."""
    said = dict.fromkeys(("rule", "subject", "expected", "observed", "why", "fix", "source"), HOSTILE)
    versions = dict.fromkeys(("rack", "product", "rocm", "driver"), HOSTILE)
    told = {"findings": [{**said, "verdict": "fail", "area": "health"}], "steps": [HOSTILE], **versions}
    rows = {name: {**record(name), **told} for name in (HOSTILE, f"b{HOSTILE}")}
    gpu = {"vbios": HOSTILE, "firmware": {HOSTILE: {"value": HOSTILE}}}
    seen = {"node": {"os": {"name": HOSTILE}, "kernel": {"running": HOSTILE}}, "gpus": [gpu]}
    seen["problems"] = [{"subset": "gpu", "subject": "x", "reason": HOSTILE}]
    return write_page(tmp_path_factory.mktemp("hostile") / "page.html", rows, dict.fromkeys(rows, seen))


def test_what_a_hostile_node_says_is_text(browser, hostile):
    browser.open(hostile, READY)
    click(browser, f"{ROW} .first")
    assert names(browser)[0] == HOSTILE
    assert texts(browser, "#detail-title") == [HOSTILE]
    assert HOSTILE in texts(browser, "#detail .fix")
    assert HOSTILE in texts(browser, ".value")
    assert f"x: {HOSTILE}" in texts(browser, "#detail li")
    assert browser.evaluate("document.querySelectorAll('img, script, iframe').length") == 2
    assert browser.told("Log.entryAdded") == browser.told("Page.javascriptDialogOpening") == []


def test_a_script_that_is_not_the_pages_own_would_not_run(browser, hostile):
    browser.open(hostile, READY)
    browser.evaluate(
        "{ const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s) }"
    )
    assert browser.evaluate("window.ran ?? null") is None


def test_without_scripts_the_summary_is_there_and_dead_controls_are_not(browser, fleet_page):
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(fleet_page(132))
        assert "needs scripts" in "".join(texts(browser, "noscript"))
        assert texts(browser, "h2")[0].startswith("What stands in the way")
        assert len(texts(browser, ".chart caption")) >= 5
        assert not browser.evaluate("document.getElementById('filters').checkVisibility()")
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_printed_page_opens_what_is_folded_and_leaves_out_the_matrix(page):
    page.send("Emulation.setEmulatedMedia", media="print")
    page.until("document.querySelector('.problems .body dl').checkVisibility({ contentVisibilityAuto: true })")
    assert not page.evaluate("document.getElementById('fleet').checkVisibility()")
    page.send("Emulation.setEmulatedMedia", media="")


def test_an_audit_of_nothing_is_a_page_too(browser, tmp_path):
    browser.open(write_page(tmp_path / "empty.html", {}), READY)
    assert "nothing can be said" in texts(browser, "main")[0]
    assert browser.told("Runtime.exceptionThrown") == []
