# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From an uploaded image to another version: the checks, the task's life, the troubles on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simfleet.bmc.firmware import Component, as_tuple
from simfleet.bmc.image import BadImage, read_image
from simfleet.bmc.messages import Refused, message
from simfleet.bmc.tasks import Task

if TYPE_CHECKING:
    from simfleet.bmc.machine import Bmc

POINTS = (10, 35, 50, 70, 90, 100)


@dataclass
class Push:
    """An upload: the image, what it is for, and when it shall be applied."""

    data: bytes
    targets: list[str] = field(default_factory=list)
    apply_time: str | None = None
    via: str = "multipart"


def _base_part(text: str) -> str:
    return text.removeprefix("113-").rpartition("-")[0]


def unfit(bmc: Bmc, header: dict[str, Any], targets: list[str]) -> str | None:
    """Why the image cannot be put on this machine; None when it can."""
    spec, component = bmc.spec, bmc.components.get(header["component"])
    if component is None:
        return f"the image is for {header['component']}, which is not there"
    wanted = bmc.inventory_uri(component)
    if targets and all(target.rstrip("/") != wanted for target in targets):
        return "the image does not fit the target"
    if header.get("product") not in (None, spec.product, spec.model):
        return "the image is for another product"
    part = header.get("part_number")
    mine = bmc.vbios() if component.key == "gpu" else spec.model
    if part and (_base_part(part) != _base_part(mine) if component.key == "gpu" else part != mine):
        return "the image is for another part number"
    floor = component.data.get("lowest")
    if floor and as_tuple(header["version"]) < as_tuple(floor):
        return "the version is below the lowest that is supported"
    oldest = header.get("min_from")
    if oldest and as_tuple(component.version) < as_tuple(oldest):
        return "the running version is too old for this image"
    return None


def accept(bmc: Bmc, push: Push) -> Task | None:
    """Take an image: the task that writes it. None with the quirk that names no task. Raises Refused."""
    if len(push.data) > bmc.max_bytes():
        raise Refused(413, "SimBmc.1.0.ImageTooLarge", text="the image is larger than MaxImageSizeBytes")
    if bmc.tasks.running("update") or bmc.flow is not None:
        raise Refused(503, "UpdateInProgress")
    task = None
    try:
        header = read_image(push.data)
        why = unfit(bmc, header, push.targets)
    except BadImage as error:
        header, why = {}, str(error)
    if why and bmc.profile["update"]["refuses"] == "upload":
        raise Refused(400, "Update.1.0.VerificationFailed", text=f"Verification of the image failed: {why}.")
    task = bmc.tasks.add("Firmware Update", "update", "/redfish/v1/UpdateService")
    if why:
        text = f"Verification of the image failed: {why}."
        bmc.later(bmc.spec.task_seconds / 5, lambda: _refuse(task, text))
    else:
        Flow(bmc, task, bmc.components[header["component"]], header, push.apply_time).start()
    return task


def _refuse(task: Task, text: str) -> None:
    task.end("Exception", "Critical", message("Update.1.0.VerificationFailed", text=text), percent=0)


class Flow:
    """One update under way."""

    def __init__(
        self, bmc: Bmc, task: Task, component: Component, header: dict[str, Any], apply_time: str | None
    ) -> None:
        self.bmc, self.task, self.component, self.header, self.apply_time = bmc, task, component, header, apply_time
        self.alive = True

    def start(self) -> None:
        """Begin; where the maker writes at the boot, wait for one."""
        if self.component.key in self.bmc.profile.get("flash_at_boot", ()) and "staged_only" not in self.bmc.quirks:
            self.task.schedule(
                message("Update.1.0.InstallingOnComponent", text="The job waits for the host to restart.")
            )
            self.bmc.at_boot[self.task.id] = self
            if self.apply_time == "Immediate":
                self.bmc.later(self.bmc.spec.task_seconds / 5, lambda: self.bmc.power("ForceRestart"))
            return
        self.bmc.flow = self
        self._run()

    def _run(self) -> None:
        factor = self.bmc.quirks.get("slow_task", {}).get("factor", 1.0)
        for point in POINTS:
            self.bmc.later(self.bmc.spec.task_seconds * factor * point / 100, lambda point=point: self._step(point))

    def at_boot(self) -> None:
        """The host boots: what waited for it is written now."""
        self.task.state, self.task.job_state = "Running", "Running"
        self._finish(during_boot=True)

    def _step(self, point: int) -> None:
        if not self.alive:
            return
        if not self.task.over:
            self.task.state = "Running"
            early = "running_at_hundred" in self.bmc.quirks and point >= 35
            self.task.percent = 100 if early else min(point, 99)
        self._trouble(point)
        if point == 100 and self.alive:
            self.bmc.flow = None
            self._finish()

    def _trouble(self, point: int) -> None:
        quirks = self.bmc.quirks
        if point == _point(quirks.get("bmc_dies_half_way")):
            quirks.pop("bmc_dies_half_way")
            self.stop()
            self.bmc.die()
        elif point == _point(quirks.get("bmc_restarts_mid_update")):
            keeps = quirks["bmc_restarts_mid_update"]["keeps_tasks"]
            self.bmc.restart(keep_tasks=keeps, keep_flow=True)
        elif point == _point(quirks.get("task_vanishes")):
            self.bmc.tasks.lose(self.task)
            if not quirks["task_vanishes"]["succeeds"]:
                self.stop()

    def stop(self) -> None:
        """It is broken off; the flash keeps what it had."""
        self.alive = False
        self.bmc.at_boot.pop(self.task.id, None)
        if self.bmc.flow is self:
            self.bmc.flow = None

    def _finish(self, during_boot: bool = False) -> None:
        quirks, task = self.bmc.quirks, self.task
        if "hundred_percent_critical" in quirks:
            text = "The Job was in running state and made no progress for the allocated time."
            task.end("Completed", "Critical", message("IDRAC.2.8.JCP052", text=text), job="Failed")
            return
        if "completed_with_errors" in quirks:
            text = "The operation completed with errors."
            task.end(
                "Completed", "Critical", message("SimBmc.1.0.CompletedWithErrors", text=text), job="CompletedWithErrors"
            )
            return
        if "success_without_change" in quirks:
            self.component.flashes += 1
        else:
            self._write(during_boot)
        task.end("Completed", "OK", message("Update.1.0.UpdateSuccessful", text="The update was successful."))

    def _write(self, during_boot: bool) -> None:
        component, quirk = self.component, self.bmc.quirks.get("staged_only")
        component.activation = quirk["activation"] if quirk else component.data["activation"]
        component.write(self.header)
        if during_boot:
            component.become()
            self.bmc.became([component.key])
        elif component.staged is None:
            self.bmc.became([component.key])
        elif component.activation == "bmc_reset" and self.apply_time != "OnReset":
            self.bmc.later(self.bmc.spec.restart_seconds / 5, self.bmc.restart)


def _point(quirk: dict[str, Any] | None) -> int | None:
    """The point of the way nearest to the quirk's per cent."""
    return None if quirk is None else min(POINTS[:-1], key=lambda point: abs(point - quirk["percent"]))
