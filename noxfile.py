# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check of the project, one session each; the Makefile and .ci/run only call this file.

Sessions share the environments of tests/tools/venvs.py instead of owning one each: four ansible-cores, not twenty.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import linters  # noqa: E402
import sanity  # noqa: E402
import tree  # noqa: E402
import venvs  # noqa: E402
from tally import Tally  # noqa: E402

WORKERS = str(min(os.cpu_count() or 1, 8))
# What is shipped to nodes loads nothing of ansible-core; the newest core and the oldest Python of a node run its tests.
# The controller's own code runs on the newest Python and, with the oldest core, on the oldest; between them lie cores.
WITH_ANSIBLE = [f"tests/unit/plugins/{folder}" for folder in ("action", "filter", "modules")]
OF_CONTROLLER = [*WITH_ANSIBLE, "tests/unit/plugins/plugin_utils"]


def check(name: str, tag: str, default: bool = True) -> Callable[[Callable[[Tally, list[str]], None]], None]:
    """Register a session that counts into a tally and fails when something in it failed.

    :param default: false for one that runs only where it is named.
    """

    def register(body: Callable[[Tally, list[str]], None]) -> None:
        @nox.session(name=name, tags=[tag], python=False, default=default)
        @functools.wraps(body)
        def session(session: nox.Session) -> None:
            with Tally(name) as tally:
                body(tally, list(session.posargs))
            if tally.failed:
                session.error(tally.line())

    return register


def environment(bin_folder: Path, **extra: str) -> dict[str, str]:
    """Process environment of a test run: its own programs first, and no injected fact variables."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "PYTHON"))}
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    clean["FLEETOPS_CHECKOUT"] = str(ROOT)  # for tests that look beside the checkout, from the copy they run in
    return {**clean, "PATH": path, "ANSIBLE_INJECT_FACT_VARS": "false", "ANSIBLE_LOCALHOST_WARNING": "false", **extra}


def core_or_skip(tally: Tally, core: str) -> Path | None:
    """Programs of a core's environment; without a Python for it the whole session counts as one skip."""
    bin_folder = venvs.core_venv(core)
    if bin_folder is None:
        wanted = " or ".join(venvs.CORES[core])
        tally.skip(f"ansible-core {core} needs Python {wanted}; none on PATH or in ~/.pyenv/versions")
    return bin_folder


@check("lint", "lint")
def lint(tally: Tally, posargs: list[str]) -> None:
    """Style, types, directions of import, shell, changelog."""
    core = venvs.newest_core()
    python = venvs.python_for(core)
    bin_folder = venvs.venv("lint", str(python), ("lint.txt",), (f"ansible-core=={core}.*",))
    linters.run(tally, bin_folder, tree.copy_checkout(), environment(bin_folder))


def units(tally: Tally, posargs: list[str], core: str) -> None:
    """Unit tests under one ansible-core: all of them under the newest, under an older one those that load any of it."""
    if bin_folder := core_or_skip(tally, core):
        here = tree.copy_checkout()
        older = OF_CONTROLLER if core == next(iter(venvs.CORES)) else WITH_ANSIBLE
        chosen = posargs or (["tests/unit"] if core == venvs.newest_core() else older)
        command = [bin_folder / "python", "-m", "pytest", "-n", WORKERS, *chosen]
        tally.run_pytest(command, here, environment(bin_folder, PYTHONPATH=str(tree.TREE)))


def waves(tally: Tally, posargs: list[str], core: str) -> None:
    """What ansible-core does with a bad node in a wave, and that the admission task and our playbook hold."""
    if bin_folder := core_or_skip(tally, core):
        command = [
            bin_folder / "python",
            "-m",
            "pytest",
            "-n",
            "2",
            "--dist",
            "worksteal",
            *(posargs or ["tests/integration/waves"]),
        ]
        tally.run_pytest(command, tree.copy_checkout(), environment(bin_folder, PYTHONPATH=str(tree.TREE)))


for supported in venvs.CORES:
    check(f"units-{supported}", "units")(functools.partial(units, core=supported))


@check("units-node", "units")
def units_node(tally: Tally, posargs: list[str]) -> None:
    """What is shipped to nodes, on the oldest Python of a node and without any Ansible."""
    python = venvs.find_python(venvs.NODE_PYTHON)
    if python is None:
        tally.skip(f"Python {venvs.NODE_PYTHON}, the oldest on a node, is not on PATH or in ~/.pyenv/versions")
        return
    bin_folder = venvs.venv("node", python, ("tests.txt",))
    command = [bin_folder / "python", "-m", "pytest", "-n", WORKERS, "tests/unit/plugins/module_utils"]
    tally.run_pytest(command, tree.copy_checkout(), environment(bin_folder, PYTHONPATH=str(tree.TREE)))


@check("sanity", "sanity")
def sanity_tests(tally: Tally, posargs: list[str]) -> None:
    """ansible-test's sanity and unit runs, on the newest ansible-core here."""
    core = venvs.newest_core()
    if core != next(reversed(venvs.CORES)):
        tally.skip(f"ansible-test of the newest ansible-core: no Python for it here, {core} is used instead")
    if bin_folder := core_or_skip(tally, core):
        sanity.run(tally, bin_folder, tree.copy_checkout(), environment(bin_folder), posargs)


@check("browser", "browser")
def browser(tally: Tally, posargs: list[str]) -> None:
    """The page of the audit in a headless Chromium; its screenshots are in tests/output/browser."""
    bin_folder = venvs.core_venv(venvs.newest_core())
    command = [bin_folder / "python", "-m", "pytest", *(posargs or ["tests/browser"])]
    tally.run_pytest(command, tree.copy_checkout(), environment(bin_folder, PYTHONPATH=str(tree.TREE)))


for supported in venvs.CORES:
    check(f"waves-{supported}", "waves")(functools.partial(waves, core=supported))


@check("integration", "integration")
def integration(tally: Tally, posargs: list[str]) -> None:
    """The installed collection against the simulated fleet."""
    # A file has a fleet of its own, and its tests mostly wait for nodes: one more at once than there are processors.
    # The whole job is told by the scenarios of molecule on the oldest core, and by sessions of its own where named.
    apart = [f"--ignore=tests/integration/{folder}" for folder in ("waves", "cores")]
    words = posargs or ["-n", str(int(WORKERS) + 1), "--dist", "loadfile", "tests/integration", *apart]
    over_the_fleet(tally, venvs.newest_core(), words)


def whole_job(tally: Tally, posargs: list[str], core: str) -> None:
    """Audit, rehearsal, upgrade with a bad node and rollback under an older ansible-core."""
    over_the_fleet(tally, core, posargs or ["tests/integration/cores"])


def over_the_fleet(tally: Tally, core: str, words: list[str]) -> None:
    """Run pytest where a simulated fleet can be started."""
    if os.geteuid() != 0:
        tally.skip("integration tests: the simulated fleet makes namespaces and needs root")
    elif bin_folder := core_or_skip(tally, core):
        command = [bin_folder / "python", "-m", "pytest", *words]
        tally.run_pytest(command, tree.copy_checkout(), fleet_environment(bin_folder))


# The waves sessions hold the upgrade playbook to its table on every core; over a fleet the newest and the oldest run by
# default, the one with the integration tests, the other with molecule.
for supported in venvs.CORES:
    check(f"whole-job-{supported}", "integration", default=False)(functools.partial(whole_job, core=supported))


@check("molecule", "molecule")
def molecule(tally: Tally, posargs: list[str]) -> None:
    """Every scenario of extensions/molecule over the simulated fleet, under the oldest core and Python."""
    extensions = tree.copy_checkout() / "extensions"
    scenarios = posargs or sorted(path.parent.name for path in extensions.glob("molecule/*/molecule.yml"))
    if os.geteuid() != 0 or not scenarios:
        tally.skip(
            "molecule: " + ("the simulated fleet needs root" if scenarios else "no scenario in extensions/molecule")
        )
        return
    core = next(core for core in venvs.CORES if venvs.python_for(core))
    bin_folder = venvs.venv(
        "molecule", str(venvs.python_for(core)), ("tests.txt", "molecule.txt"), (f"ansible-core=={core}.*",)
    )
    ours = {**fleet_environment(bin_folder), "NO_COLOR": "1"}
    commands = {name: [bin_folder / "molecule", "test", "--scenario-name", name] for name in scenarios}
    tally.run_beside(commands, extensions, ours, at_once=2)


def fleet_environment(bin_folder: Path) -> dict[str, str]:
    """Environment of a run over the simulated fleet: the installed collection, and the simulator importable."""
    tests = tree.COPY / "tests"
    return environment(
        bin_folder,
        ANSIBLE_COLLECTIONS_PATH=str(tree.install(bin_folder)),
        ANSIBLE_PIPELINING="true",
        PYTHONPATH=os.pathsep.join([str(tree.TREE), str(tests)]),
    )


def program(name: str, default: bool = False) -> Callable[[Callable[[nox.Session], list[str]]], None]:
    """Register a session that runs one Python program of ours over the installed collection."""

    def register(words: Callable[[nox.Session], list[str]]) -> None:
        @nox.session(name=name, python=False, default=default)
        @functools.wraps(words)
        def session(session: nox.Session) -> None:
            bin_folder = venvs.core_venv(venvs.newest_core())
            tree.copy_checkout()
            ours = {**fleet_environment(bin_folder), "FLEETOPS_DOCS": str(ROOT / "docs")}
            session.run(str(bin_folder / "python"), *words(session), env=ours, external=True)

    return register


@program("demo")
def demo(session: nox.Session) -> list[str]:
    """A whole rollout on a simulated fleet, to watch."""
    return ["tests/demo/run.py", *session.posargs]


@program("bench")
def bench(session: nox.Session) -> list[str]:
    """The audit and a finished rollout beside a ping, and the planner at 10,000 nodes."""
    return ["tests/bench/audit.py", *session.posargs]


@program("crash")
def crash(session: nox.Session) -> list[str]:
    """The whole crash matrix: a controller that dies at every write of a rollout, a node without power at each step."""
    if not session.posargs:
        session.notify("crash-bmc")
    return ["tests/integration/crash/matrix.py", *session.posargs]


@program("crash-bmc")
def crash_bmc(session: nox.Session) -> list[str]:
    """A controller that dies at every exchange with a BMC, for each maker and kind of work."""
    module = "ansible_collections.fleetops.instinct.tests.integration.bmc_deaths"
    return ["-m", module, *session.posargs]


@program("docs")
def docs(session: nox.Session) -> list[str]:
    """The generated part of the documentation, made again."""
    return [str(tree.COPY / "tests" / "tools" / "make_docs.py"), *session.posargs]
