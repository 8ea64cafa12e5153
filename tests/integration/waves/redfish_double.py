# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In place of the redfish actions: a BMC that is the key ``bmc`` in the node's file; what it was asked is in ``steps``.

``runs`` and ``staged`` are versions by component, ``bios`` and ``bios_staged`` values by attribute, ``foreign`` what
somebody else has staged; ``do`` is how the flash ends: well, lies (the old version runs), lost (nobody can say), killed
(the controller is, once the node is off).
"""

from __future__ import annotations

import json
import os
import signal
import uuid
from pathlib import Path

from ansible.plugins.action import ActionBase

from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.activate import POWER, TAKES_HOST, strongest
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.inventory import Entry
from ansible_collections.fleetops.instinct.plugins.plugin_utils.redfish.journal import Journal

NAME = "{name}"


class ActionModule(ActionBase):
    """One of the three, by NAME."""

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        self.node, args = task_vars["inventory_hostname"], json.loads(json.dumps(self._task.args))
        self.folder = Path(task_vars["fleet_double_folder"]) / self.node
        self.now = json.loads((self.folder / "node.json").read_text(encoding="utf-8"))
        self.bmc = {"runs": {}, "staged": {}, "bios": {}, "bios_staged": {}, "foreign": {}, **self.now.get("bmc", {})}
        return {"changed": False, **getattr(self, NAME)(args)}

    def _did(self, step):
        with open(self.folder / "steps", "a", encoding="utf-8") as stream:
            stream.write(f"{step}\n")
        path = self.folder / "node.json"
        path.write_text(json.dumps({**self.now, "bmc": self.bmc}), encoding="utf-8")

    def redfish_firmware_info(self, _args):
        entries = [
            Entry(f"/{name}", name, name, None, version, "running", None, None, True, None, name, "maker").as_dict()
            for name, version in self.bmc["runs"].items()
        ]
        return {"components": entries, "machine": {"products": [], "part_numbers": []}, "problems": []}

    def redfish_firmware(self, args):
        rows = [row for row in args["components"] if self.bmc["runs"][row["component"]] != row["version"]]
        kind = strongest(row.get("activation", "none") for row in rows)
        told = {"activation": kind if rows else "none", "cycled": False, "deferred": False, "driver_away": False}
        if self._task.check_mode:
            self._did("foresee_flash")
            return {**told, "changed": bool(rows)}
        journal = Journal(args["fleet_dir"], self.node, args.get("rollout"), lambda: "now")
        for row in rows:
            if row["component"] not in self.bmc["staged"]:
                self._did("flash")
                if self.bmc.get("do") == "lost":
                    return {"failed": True, "msg": "no answer [bmc_silent]", "diagnosis": "firmware_unproven"}
                for event in ("intent", "accepted", "staged"):
                    journal.write(row["component"], event, f"by {event}", version=row["version"])
                self.bmc["staged"][row["component"]] = row["version"]
        later = args.get("activate") == "later" and kind in TAKES_HOST
        if rows and (later or (kind == "reboot" and args["activated"] != "reboot")):
            self._did("left_for_later")
            return {**told, "changed": True, "deferred": later}
        return self._activate(rows, kind, journal) if rows else told

    def _activate(self, rows, kind, journal):
        if self.bmc.get("do") == "killed":
            self.bmc["do"], self.now["gone"] = "well", True
            for row in rows:
                journal.write(row["component"], "activating", "off")
            self._did("killed")
            os.kill(os.getppid(), signal.SIGKILL)
            os._exit(0)
        self.now["gone"] = False
        if kind in POWER:
            (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n", encoding="ascii")
            self.bmc["bios"] |= self.bmc["bios_staged"]
            self.bmc["bios_staged"] = {}
        event = "failed" if self.bmc.get("do") == "lies" else "done"
        for row in rows:
            journal.write(row["component"], event, "read back")
        if event == "failed":
            self._did("cycle")
            return {"failed": True, "msg": "the old version runs [version_unchanged]", "code": "version_unchanged"}
        self.bmc["runs"] |= self.bmc["staged"]
        self.bmc["staged"] = {}
        self._did("cycle" if kind in POWER else "read_back")
        return {"changed": True, "activation": "none", "cycled": kind in POWER, "deferred": False, "driver_away": False}

    def redfish_bios(self, args):
        wanted = {"SMTControl" if key == "smt" else key: value for key, value in args.get("attributes", {}).items()}
        if self.bmc["foreign"] and args.get("foreign", "refuse") == "refuse":
            self._did("refuse_foreign")
            return {"failed": True, "msg": "values of others are staged [foreign_pending]", "code": "foreign_pending"}
        if args["state"] == "applied":
            wrong = {key: value for key, value in wanted.items() if self.bmc["bios"][key] != value}
            self._did("prove_bios")
            return {"failed": bool(wrong) and not self._task.check_mode, "msg": f"{wrong} [not_applied]", "rows": []}
        rows = [self._row(key, value) for key, value in wanted.items()]
        boot = any(row["applied"] != row["wanted"] for row in rows)
        writes = {row["attribute"]: row["wanted"] for row in rows if row["do"] == "stage"}
        if not self._task.check_mode:
            staged = {**self.bmc["bios_staged"], **writes}
            self.bmc["bios_staged"] = {key: value for key, value in staged.items() if self.bmc["bios"][key] != value}
        self._did("foresee_bios" if self._task.check_mode else "stage_bios" if writes else "see_bios")
        return {"changed": bool(writes), "rows": rows, "foreign": {}, "boot_needed": boot, "job": None}

    def _row(self, key, value):
        applied, staged = self.bmc["bios"][key], self.bmc["bios_staged"].get(key)
        coming = applied if staged is None else staged
        do = "stage" if coming != value else "nothing" if staged is None else "boot"
        return {"key": key, "attribute": key, "applied": applied, "staged": staged, "wanted": value, "do": do}
