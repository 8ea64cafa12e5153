# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to a node that is one folder: it answers for the modules of the node, or goes away when told to."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: fleet_double
short_description: A node that is one folder
description: Used by the regression test of waves only.
author: fleetops.instinct contributors
extends_documentation_fragment: [connection_pipelining]
options:
  node:
    description: Name of the node.
    vars: [{name: inventory_hostname}]
  folder:
    description: The folders of all nodes lie here, named after them.
    vars: [{name: fleet_double_folder}]
"""

MARK = b"\nfleet_double "
# What a module reads or does, in the words of the case table. A rehearsal and a look touch nothing.
STEPS = {"node_snapshot": "snapshot", "kernel_settings": "settings", "rocm_release": "change"}


def step_of(module: str, args: dict) -> str:
    """The name of what a module is about to do."""
    if module in ("node_facts", "node_glance"):
        return "activity" if args["gather_subset"] == ["activity"] else "look"
    if args.get("snapshot"):
        return "restore_settings" if module == "kernel_settings" else "restore"
    if args["_ansible_check_mode"]:
        return "rehearse" if module == "rocm_release" else f"rehearse_{STEPS[module]}"
    return STEPS[module]


class Node:
    """One node: ``is`` (old or new), ``reboots``, ``gone`` and ``faults`` in node.json; what it was asked, in steps."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._kept = folder, folder / "node.json"
        self.now = json.loads(self._kept.read_text(encoding="utf-8"))

    def keep(self, **values: object) -> None:
        """Remember what has become of it."""
        self.now.update(values)
        self._kept.write_text(json.dumps(self.now), encoding="utf-8")

    def answer(self, module: str, args: dict) -> dict:
        """What a module returns, once the fault of its step has come into play."""
        step = step_of(module, args)
        with open(self.folder / "steps", "a+", encoding="utf-8") as stream:
            stream.write(f"{step}\n")
            stream.seek(0)
            count = stream.read().split().count(step)
        fault = next((row for row in self.now["faults"] if row["step"] == step and count >= row.get("from", 1)), None)
        if fault and fault["do"] == "unreachable":
            self.keep(gone=True)
            raise AnsibleConnectionFailure("no route to host")
        if fault and fault["do"] == "fail":
            return {"failed": True, "msg": f"{step} failed, as the case wants it"}
        if step == "look":
            seen = json.loads((self.folder / f"{'sick' if fault else self.now['is']}.json").read_text(encoding="utf-8"))
            seen["node"]["boot_id"] = (self.folder / "boot_id").read_text(encoding="ascii").strip()
            as_it_is = {"ansible_facts": {"instinct": seen}}
            return {"changed": False, **({"facts": json.dumps(seen)} if args.get("as_text") else as_it_is)}
        return self._done(step)

    def _done(self, step: str) -> dict:
        if step in ("change", "restore"):
            self.keep(**{"is": "new" if step == "change" else "old"})
        if step == "activity":
            return {"changed": False, "ansible_facts": {"instinct": {"holders": []}}}
        if step.endswith("snapshot"):
            return {"changed": True, "snapshot": {"schema": 1, "packages": {}, "rollback": {"ready": True, "why": []}}}
        return {"changed": True, "reboot_required": self.now["reboots"] and "settings" not in step}

    def _apply_bios(self) -> None:
        """A boot applies what is staged in the BIOS, if the node has a BMC (redfish_double.py)."""
        bmc = self.now.get("bmc")
        if bmc:
            self.keep(bmc={**bmc, "bios": {**bmc["bios"], **bmc.get("bios_staged", {})}, "bios_staged": {}})

    def shell(self, command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a line with the node's own boot in place of this machine's; an order to reboot is a new boot."""
        if "shutdown" in command:
            (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n", encoding="ascii")
            self._apply_bios()
            return subprocess.CompletedProcess(command, 0, b"", b"")
        for own, path in (("boot_id", "/proc/sys/kernel/random/boot_id"), ("uptime", "/proc/uptime")):
            command = command.replace(path, str(self.folder / own))
        command = command.replace("/etc/machine-id", str(self.folder / "boot_id"))
        return subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False, stdin=subprocess.DEVNULL)


class Connection(ConnectionBase):
    """In this process: a module is known by the mark that its double carries."""

    transport = "fleet_double"
    has_pipelining = True

    def _connect(self):
        return self

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        node = Node(Path(self.get_option("folder")) / self.get_option("node"))
        if node.now["gone"]:
            raise AnsibleConnectionFailure("no route to host")
        _head, mark, double = (in_data or b"").partition(MARK)
        if mark:
            module, args = double.split(None, 1)
            return 0, json.dumps(node.answer(module.decode(), json.loads(args))).encode(), b""
        if in_data:  # a module of core's own, sent as it is
            done = subprocess.run(["/bin/sh", "-c", cmd], input=in_data, capture_output=True, check=False)
        else:
            done = node.shell(cmd)
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path, out_path):
        shutil.copy(in_path, out_path)

    def fetch_file(self, in_path, out_path):
        shutil.copy(in_path, out_path)

    def close(self):
        """Nothing is open."""

    def reset(self):
        """Nothing is open."""
