# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One component after another: compare, push, follow, activate, and read back. What decides lies in files of its own.

Every order has its intent in the journal first. Where nobody knows whether it was carried out, its intent stays open,
and the next run looks before it sends anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.fleetops.instinct.plugins.plugin_utils.flashes import WAITS
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish import (
    activate,
    inventory,
    push,
    sending,
    wishes,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.answers import (
    Answer,
    BmcError,
    is_of,
    refused,
    task_uri,
    words_of,
)
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.follow import Follower, Verdict
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.journal import OPEN
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.reset_by_flash import changed, settings_of
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.site import Outcome, Site, Unproven


def predict(site: Site, wish: Mapping[str, Any], size: int | None) -> Outcome:
    """What a row needs, without sending anything; also refused is an activation that the BMC does not offer."""
    seen = site.reading()
    decision = wishes.decide(wish, seen.entries, site.subject, site.machine, seen.problems)
    name, wanted = wish["component"], wish["version"]
    if decision.do == "nothing":
        return Outcome(name, "unchanged", decision.before, decision.before, wanted, "it runs already")
    activate.orders(wish["activation"], seen.board, None, site.hook, site.subject)
    known = _known(site, wish, seen.entries)
    if known == "staged":
        return Outcome(name, "would_activate", decision.before, wanted, wanted, "it is staged already")
    push.refuse_unfit(sending.way_of(site, wish), wish, size, site.subject)
    return Outcome(name, "would_update", decision.before, wanted, wanted, "another version runs")


def flash(site: Site, wish: Mapping[str, Any], size: int | None) -> Outcome:
    """Bring the image of a row into the flash, unless it is there already: unchanged, updated or staged.

    :raises BmcError: it must not be flashed, or failed. Unproven: nobody can say.
    """
    name, wanted = wish["component"], wish["version"]
    told = site.journal.last(name)
    if told.get("event") in OPEN and told.get("version") == wanted:
        _settle(site, wish, told)
    seen = site.reading()
    decision = wishes.decide(wish, seen.entries, site.subject, site.machine, seen.problems)
    if decision.do == "nothing":
        if site.journal.last(name).get("event") in (*OPEN, *WAITS):
            finish(site, name, wanted)
            return Outcome(name, "updated", told.get("from"), wanted, wanted, "an earlier run flashed it")
        return Outcome(name, "unchanged", decision.before, decision.before, wanted, "it runs already")
    if _known(site, wish, seen.entries) == "staged":
        return Outcome(name, "staged", decision.before, decision.before, wanted, "it is staged already")
    way = sending.way_of(site, wish)
    push.refuse_unfit(way, wish, size, site.subject)
    uris = [entry.uri for entry in decision.entries]
    sending.reserve(site, wish, way, uris)
    before = site.known_tasks()
    kept = {"settings": settings_of(site.client.look, seen.board.system.get("@odata.id"))}
    site.journal.write(
        name,
        "intent",
        f"{decision.before} to {wanted} by {way.kind}",
        version=wanted,
        sha256=wish["sha256"],
        **{"from": decision.before},
        tasks=before,
        last_reset=site.last_reset(),
        activation=wish["activation"],
        kept=kept,
    )
    site.journal.still_ours()
    try:
        return _after_push(site, wish, decision, sending.send(site, wish, way, uris), before)
    except BmcError as problem:
        # Whatever it was, it does not tell what became of the image that is on its way.
        if site.journal.last(name)["event"] not in OPEN or isinstance(problem, Unproven):
            raise
        raise Unproven(problem.code, f"{site.subject} {name}", problem.seen) from problem


def _known(site: Site, wish: Mapping[str, Any], entries: list[Entry]) -> str:
    """``staged`` where the BMC shows it, or we flashed it and nothing has told since that it is not there."""
    told = site.journal.last(wish["component"])
    same = (told.get("version"), told.get("sha256")) == (wish["version"], wish["sha256"])
    ours = told.get("event") in WAITS and same
    shown = wishes.is_wanted(wish, inventory.staged(entries, wish["component"]))
    return "staged" if ours or shown else ""


def finish(site: Site, component: str, version: str) -> None:
    """Write down that a version runs, and note what its flash has reset besides, by what was there before it."""
    before = site.journal.last(component).get("settings")
    site.journal.write(component, "done", f"{version} runs")
    after = settings_of(site.client.look, site.reading().board.system.get("@odata.id"))
    site.notes += [f"since {component} was flashed, {what}" for what in changed(before, after)]


def _after_push(
    site: Site, wish: Mapping[str, Any], decision: wishes.Decision, answer: Answer, before: list[str]
) -> Outcome:
    name = wish["component"]
    if not answer.good and not answer.passing:
        problem = refused(answer, site.subject, f"push of {name}")
        site.journal.write(name, "failed", problem.seen)
        raise problem
    uri = task_uri(answer) if answer.good else None
    uri = None if uri and is_of(uri, before) else uri  # somebody else's older task
    uri = uri or _new_task(site, before)
    if uri is None and not answer.good and words_of(answer.body):
        # A gateway's error has no words of Redfish: these are the BMC's own, and no task has come of it.
        site.journal.write(name, "failed", answer.said)
        raise BmcError(
            "refused", f"{site.subject} {name}", answer.said, "a BMC that takes the image", "see what it says"
        )
    if uri is None and not answer.good:
        raise Unproven(
            "update_in_flight", f"{site.subject} {name}", f"nobody knows whether the push arrived: {answer.said}"
        )
    site.journal.write(name, "accepted", answer.said, task=uri)
    if uri is None:
        raise Unproven(
            "no_task", f"{site.subject} {name}", "the BMC took the image and names no task that tells its end"
        )
    return _conclude(site, wish, decision.before, follow(site, uri, wish))


def _new_task(site: Site, before: list[str]) -> str | None:
    for _look in range(site.limits.answers):
        fresh = [uri for uri in site.tasks() if not is_of(uri, before)]
        if fresh:
            return fresh[-1]
        site.sleep(site.poll)
    return None


def follow(site: Site, uri: str, wish: Mapping[str, Any]) -> Verdict:
    """Look at a task until something is to be done about it."""
    follower = Follower(site.clock(), site.limits, wish["component"] == "bmc")
    while True:
        verdict = follower.see(site.clock(), site.client.look(uri))
        if verdict.what != "wait":
            return verdict
        site.sleep(site.poll)


def _conclude(site: Site, wish: Mapping[str, Any], before: str | None, verdict: Verdict) -> Outcome:
    """The version decides; what a task says only tells where to look."""
    name, wanted = wish["component"], wish["version"]
    if verdict.what == "inconclusive":
        raise Unproven(verdict.code, f"{site.subject} {name}", verdict.why)
    if verdict.what == "staged":
        site.journal.write(name, "staged", verdict.why)
        return Outcome(name, "staged", before, before, wanted, verdict.why)
    waits = wish["activation"] != "none"
    # A BMC that was flashed may restart by itself, and be away in between.
    patience = 0.0 if verdict.what == "failed" or (waits and name != "bmc") else site.settle
    after = read_back(site, wish, patience)
    if verdict.what == "failed":
        raise _failed(site, name, verdict.code, f"{verdict.why}; {after or 'no version'} runs")
    if after == wanted:
        finish(site, name, wanted)
        return Outcome(name, "updated", before, wanted, wanted, verdict.why)
    if waits and verdict.code != "task_gone":
        site.journal.write(name, "staged", f"{verdict.why}; it waits for {wish['activation']}")
        return Outcome(name, "staged", before, after, wanted, f"it waits for {wish['activation']}")
    if verdict.code == "task_gone":
        return _gone(site, wish, before, after)
    code = "version_unchanged" if after == before else "other_version"
    raise _failed(site, name, code, f"the task ended well, and {after} runs")


def _gone(site: Site, wish: Mapping[str, Any], before: str | None, after: str | None) -> Outcome:
    """A task lost by a reset of the BMC may have written what waits for its activation; another one was broken off."""
    name = wish["component"]
    was_reset = site.journal.last(name).get("last_reset") != site.last_reset()
    if wish["activation"] != "none" and was_reset:
        site.journal.write(name, "staged", "the task was lost by a reset of the BMC; the activation will tell")
        return Outcome(name, "staged", before, after, wish["version"], "its task was lost by a reset of the BMC")
    how = "lost by a reset of the BMC" if was_reset else "broken off: the BMC was not reset"
    raise _failed(site, name, "task_gone", f"the task is gone ({how}), and {after or 'no version'} runs")


def _failed(site: Site, name: str, code: str, why: str) -> BmcError:
    site.journal.write(name, "failed", why)
    fix = "reset the BMC, look at its log, and run this again" if code == "stalled_job" else "look at the BMC's log"
    return BmcError(code, f"{site.subject} {name}", why, "the wanted version, read back", fix)


def read_back(site: Site, wish: Mapping[str, Any], patience: float) -> str | None:
    """The version that runs: the wanted one as soon as it shows, else what shows in the end; None if unknown.

    :raises Unproven: the BMC does not answer.
    """
    end, quiet = site.clock() + patience, site.clock() + site.limits.silence
    while True:
        try:
            found = inventory.running(site.entries(), wish["component"])
        except BmcError as problem:
            if site.clock() > max(end, quiet):
                raise Unproven("bmc_silent", f"{site.subject} {wish['component']}", problem.seen) from problem
        else:
            if wishes.is_wanted(wish, found):
                return str(wish["version"])
            if site.clock() >= end:
                return ", ".join(sorted({entry.version or "unknown" for entry in found})) or None
        site.sleep(site.poll)


def _settle(site: Site, wish: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """An earlier run left its end open: find out how it ended, so that nothing is flashed twice."""
    name, tasks = wish["component"], list(told.get("tasks") or [])
    uri = told.get("task") or next((one for one in reversed(site.known_tasks()) if not is_of(one, tasks)), None)
    verdict = follow(site, str(uri), wish) if uri else Verdict("read_back", "no_task", "no task of it is there")
    if verdict.what == "inconclusive":
        raise Unproven(verdict.code, f"{site.subject} {name}", verdict.why)
    runs = read_back(site, wish, site.settle if name == "bmc" and uri else 0.0) == wish["version"]
    site.seen = None  # what was read before that may be of a BMC that has restarted since
    if runs:
        return
    reset = told.get("last_reset") != site.last_reset()
    sent = told["event"] == "accepted" or uri is not None
    if verdict.what == "failed" or not (sent or reset):
        why = verdict.why if verdict.what == "failed" else "it never arrived"
        site.journal.write(name, "failed", f"an earlier run's: {why}")
    elif wish["activation"] != "none":
        site.journal.write(name, "staged", f"an earlier run's: {verdict.why}; the activation will tell")
    else:
        site.journal.write(name, "failed", f"an earlier run's: {verdict.why}; its version does not run")
