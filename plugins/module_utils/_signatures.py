# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How to recognise the lines of the kernel log that tell of a GPU, its PCI Express path or its host. Pure.

What a signature means and how grave it is stands in plugin_utils/catalog/log_signatures.yml. The kernel's own levels do
not tell: the driver prints a failed reset with the level "info".
"""

from __future__ import annotations

import re
from typing import NamedTuple

BDF = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
# A word of at least one of these is in every line that any signature knows; most lines of a log have none.
_GATE = re.compile(
    r"amdgpu|AER:|PCIe|pciehp|Hardware Error|D3cold|D3hot|DPC:|EDR:|clock config|"
    r"\[drm|IO_PAGE_FAULT|assign|overlaps|qcm|powerplay|kfd|PSP |GPU|XGMI|queue|module|mce:"
)
_OWN = re.compile(rf"(?:^|[\s\[]){BDF}(?=[\s:,\])]|$)")
_SHORT = re.compile(r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_EVENT = re.compile(r"\{[0-9]+\}")
_TEXT = 60


class Signature(NamedTuple):
    """``needles`` are texts of which one is in the line, ``pattern`` what is found in it too; its groups are details.

    ``decides``: after a line of "init" the driver does not serve the GPU, after one of "compute" only its compute part
    does not, and one of "cause" tells why where a line of "init" follows. ``driver`` lines that name no GPU are about
    the one that amdgpu named last.
    """

    id: str
    needles: tuple[str, ...]
    pattern: str
    decides: str
    driver: bool


class Match(NamedTuple):
    """What a line is: the signature's id or None, the PCI function it is about, and the numbers and names in it.

    ``names_gpu`` is true where amdgpu itself names the function.
    """

    id: str | None
    bdf: str | None
    names_gpu: bool
    details: dict[str, int | str]
    decides: str = ""
    driver: bool = False


NOTHING = Match(None, None, False, {})


def recognise(text: str) -> Match:
    """What a line of the kernel log is, without its time; the first signature of the table that fits."""
    if not _GATE.search(text):
        return NOTHING
    own = _OWN.search(text)
    bdf = own[0].strip(" \t[") if own else None
    names_gpu = bdf is not None and "amdgpu" in text
    for needle, row in _NEEDLES:
        if needle in text:
            # Compiled, and kept, by re when it is first needed: a healthy log needs few of them.
            found = re.search(row.pattern, text) if row.pattern else None
            if found or not row.pattern:
                details = _details(found) if found else {}
                bdf = str(details.pop("bdf", bdf) or "") or None
                return Match(row.id, _whole(bdf), names_gpu, details, row.decides, row.driver)
    return Match(None, bdf, names_gpu, {}) if names_gpu else NOTHING


def without_event(text: str) -> str:
    """The line without the number ``{17}`` of the event it belongs to, by which equal lines differ."""
    return _EVENT.sub("", text, count=1) if "{" in text else text


def _whole(bdf: str | None) -> str | None:
    return f"0000:{bdf}" if bdf and _SHORT.fullmatch(bdf) else bdf


def _details(found: re.Match[str]) -> dict[str, int | str]:
    groups = {name: value for name, value in found.groupdict().items() if value is not None}
    if "block" in groups and "count" in groups:
        groups = {groups["block"]: groups["count"]}
    return {name: int(text) if _WHOLE_NUMBER.fullmatch(text) else text[:_TEXT] for name, text in groups.items()}


def _row(name: str, needles: str, pattern: str = "", decides: str = "", driver: bool = True) -> Signature:
    return Signature(name, tuple(needles.split("|")), pattern, decides, driver)


def _host(name: str, needles: str, pattern: str = "") -> Signature:
    return _row(name, needles, pattern, driver=False)


_AER = "PCIe Bus Error: severity="
_COUNTED = r"(?P<count>[1-9][0-9]{0,17}) (?:new )?"
_FOUND = r" hardware errors detected in (?:total in )?(?P<block>\w{1,20}) block"
_RAS = "hardware errors detected in"
_RECORDS = r"RAS records:(?P<records>\d+) exceeds? "
_SENDER = rf".* (?:from|received:) *(?P<bdf>{BDF})?"
_WIDTH = r" GT/s (?:PCIe )?x\d+"

# The driver serves the GPU from here on.
SERVES = "serves"

SIGNATURES: tuple[Signature, ...] = (
    # The host's own: before the GPU's, since mce counts in the same words.
    _host("mce_uncorrected", "_STATUS[", r"MC\d+_STATUS\[[^\]]*(?<=[|\[])UC[|\]]"),
    _host("mce_corrected", "_STATUS[", r"MC\d+_STATUS\[[^\]]*(?<=[|\[])CE[|\]]"),
    _host("mce_corrected", _RAS, r"mce: .*[1-9]\d* correctable hardware errors"),
    _host("mce_uncorrected", _RAS, r"mce: .*[1-9]\d* uncorrectable hardware errors"),
    # PCI Express. "Corrected" and "Uncorrected" are the words of kernels before 6.8.
    _host("aer_corrected", _AER, r"severity=Correct(?:ed|able)\b"),
    _host("aer_nonfatal", _AER, r"severity=Uncorrect(?:ed|able) \(Non-Fatal\)"),
    _host("aer_fatal", _AER, r"severity=Uncorrect(?:ed|able) \(Fatal\)"),
    _host("aer_message_corrected", "AER: ", rf"AER: (?:Multiple )?Correct(?:ed|able) error{_SENDER}"),
    _host("aer_message_uncorrected", "AER: ", rf"AER: (?:Multiple )?Uncorrect(?:ed|able) \({_SENDER}"),
    _host("aer_apei_uncorrectable", "aer_uncor_severity: 0x"),
    _host("aer_apei", "aer_layer="),
    _host("aer_recovery_failed", "evice recovery failed", r"AER: [Dd]evice recovery failed"),
    _host("pcie_contained", "EDR: EDR event received|DPC: containment event"),
    _host("pcie_contained", " detected", r"DPC: [\w ]{1,60} detected"),
    _host("pcie_link_down", "Link Down|Card not present", r"pciehp: Slot\([^)]*\): (?:Link Down|Card not present)"),
    _host("pcie_limited", "available PCIe bandwidth, limited by",
          rf"limited by (?P<limit>[0-9.]+{_WIDTH}) link at (?P<limited_at>{BDF}) "
          rf"\(capable of .* with (?P<capable>[0-9.]+{_WIDTH})"),
    _host("pcie_clock_mismatch", "common clock configuration is inconsistent|Mismatched clock configuration"),
    _row("device_lost", "device lost from bus", decides="cause"),
    _host("device_inaccessible", "device inaccessible", r"change power state from \w+ to D0, device inaccessible"),
    _row("atomics_missing", "PCIE atomic ops is not supported"),
    _row("bar_resize_failed", "Problem resizing BAR|Not enough PCI address space for a large BAR"),
    _host("vf_bar_unplaced", "because it overlaps", rf"overlaps (?P<bdf>{BDF}) (?:VF )?BAR \d+ \[mem 0x0+-"),
    _host("vf_bar_unassigned", "assign", r"\bVF BAR \d.*(?:failed to|can't) assign"),
    _host("bar_unassigned", "assign", r"\bBAR \d.*(?:failed to|can't) assign"),
    _host("io_page_fault", "IO_PAGE_FAULT", rf"IO_PAGE_FAULT(?:.*\bdevice=(?P<bdf>{BDF}|{_SHORT.pattern}))?"),
    # What the boot firmware of the GPU says about itself.
    _row("boot_self_test", "fw_status: 0x", r"socket: (?P<socket>\d+), aid: (?P<aid>\d+), (?:hbm: (?P<hbm>\d+), )?"
         r"fw_status: (?P<fw_status>0x[0-9a-f]+), (?P<test>[\w ]+? failed(?: at boot time)?)", "cause"),
    # Errors of memory and logic. "no uncorrectable" and "0 uncorrectable" are reports of health.
    _row("ras_uncorrectable", _RAS, rf"(?<![\w.-]){_COUNTED}uncorrectable{_FOUND}", "cause"),
    _row("ras_deferred", _RAS, rf"(?<![\w.-]){_COUNTED}deferred{_FOUND}"),
    _row("ras_corrected", _RAS, rf"(?<![\w.-]){_COUNTED}correctable{_FOUND}"),
    _row("ras_athub", "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected", decides="cause"),
    _row("ras_poison_consumed", "poison is consumed by client|RAS poison consumption is issued"),
    _row("ras_poison_created", "Poison is created"),
    _row("aca_uncorrected", ".STATUS=0x",
         r"(?:aca entry|ACA)\[[\d/]+\]\.STATUS=(?P<status>0x(?!f{16})[abef][0-9a-f]{15})\b"),
    _row("aca_logged", "Accelerator Check Architecture events logged"),
    _row("ras_error_address", "Error Address(PA):"),
    # Retired memory.
    _row("bad_page_threshold_near", "of threshold:", rf"{_RECORDS}90% of threshold:(?P<threshold>\d+)"),
    _row("bad_page_threshold_exceeded", " threshold:", rf"{_RECORDS}threshold:(?P<threshold>\d+)", "cause"),
    _row("bad_page_threshold_exceeded", "reaches threshold value",
         r"Saved bad pages (?P<records>\d+) reaches threshold value (?P<threshold>\d+)"),
    _row("bad_page_threshold_ignored", "due to bad_page_threshold ="),
    _row("ras_bad_status", "This GPU is in BAD status", decides="cause"),
    _row("ras_table_damaged", "RAS table incorrect checksum", r"error: ?(?P<error>-?\d+)", "cause"),
    # Start of the driver. The first row is its end, and no fault.
    _row(SERVES, "Initialized amdgpu", rf"Initialized amdgpu .*\bfor (?P<bdf>{BDF})"),
    _row("firmware_optional_missing", "Direct firmware load for amdgpu/",
         r"amdgpu/(?P<file>[\w.-]+_(?:ta|cap)\.bin\S*) failed with error"),
    _row("firmware_missing", "Direct firmware load for amdgpu/",
         r"amdgpu/(?P<file>[\w.-]+) failed with error (?P<error>-\d+)", "cause"),
    _row("firmware_refused", "failed to load ucode", r"failed to load ucode (?P<ucode>[\w.]+)", "init"),
    _row("firmware_refused", "Failed to load psp firmware|fail to request/validate toc microcode", decides="init"),
    _row("psp_sos_too_large", "packed SOS count exceeds maximum limit", decides="init"),
    _row("psp_command_failed", "psp gfx command ",
         r"psp gfx command (?P<command>\w+)\(0x\w+\) failed and response status is \((?P<status>0x\w+)\)", "cause"),
    _row("psp_init_failed", "PSP create ring failed|PSP firmware loading failed|PSP resume failed", decides="init"),
    _row("psp_init_failed", "PSP load ", r"PSP load \w+ failed", "init"),
    _row("xgmi_session_failed", "Failed to initialize XGMI session"),
    _row("xgmi_topology", "can not match hive|XGMI: Failed to add node"),
    _row("ras_init_failed", "RAS: Failed to initialize RAS"),
    _row("smu_interface", "SMU driver if version not matched"),
    _row("smu_hang", "SMU: I'm not done with your previous command|SMU is in hanged state"),
    _row("smu_hang", "Failed to send message 0x", r"Failed to send message 0x[0-9a-fA-F]+, response 0xffffffff"),
    _row("ip_discovery", "invalid ip discovery binary|amdgpu_discovery_init failed|amdgpu_discovery is not set|"
         "failed to read ip discovery binary|discovery failed", decides="init"),
    _row("post_error", "gpu post error", decides="init"),
    _row("vbios_missing", "no vBIOS found|Unable to locate a BIOS ROM", decides="init"),
    _row("mes_init_failed", "SET_HW_RSRC", r"(?i)MES.*(?:fail|error|timeout)", "init"),
    _row("mes_init_failed", "fw_status 0xffffffff", decides="init"),
    _row("ring_test_failed", " test failed|KCQ enable failed", r"ring \S+ test failed|KCQ enable failed", "init"),
    _row("unload_failed", "suspend of IP block", r"suspend of IP block <(?P<block>[\w.]+)> failed"),
    _row("unload_failed", "Failed to disallow cf state|Failed to terminate tmr"),
    _row("ip_block_failed", " of IP block <",
         r"(?P<stage>\w+) of IP block <(?P<block>[\w.]+)> failed(?: (?P<error>-?\d+))?", "init"),
    _row("init_fatal", "Fatal error during GPU init|amdgpu_device_ip_init failed", decides="init"),
    _row("probe_failed", "probe ", rf"amdgpu.*probe (?:of (?P<bdf>{BDF})|with driver amdgpu) failed", "init"),
    _row("kfd_init_failed", "NOT added due to errors|PCI rejects atomics", r"kfd", "compute"),
    _host("module_refused", "odule ", r"Loading of (?:unsigned )?module (?:with \w+ key )?is rejected|"
          r"could not insert 'amdgpu': (?:Required key not available|Operation not permitted)"),
    # Recovery and faults. Only the tally knows whether a reset that began came to an end.
    _row("reset_begun", " begin!", r"GPU (?:reset|jobs stop|recovery) begin!"),
    _row("reset_resuming", "GPU reset succeeded, trying to resume"),
    _row("reset_succeeded", "GPU reset", r"GPU reset\(\d+\) succeeded|GPU reset end with ret = 0\b"),
    _row("reset_failed", "GPU reset",
         r"GPU reset\((?P<reset>\d+)\) failed|GPU reset end with ret = (?P<error>-?[1-9]\d*)"),
    _row("reset_failed", "GPU mode1 reset failed|Mode2 reset failed|GPU Recovery Failed|ASIC reset failed with error"),
    _row("ring_reset_failed", " reset failed", r"[Rr]ing \S+ reset failed"),
    _row("ring_timeout", " timeout, signaled seq=", r"ring (?P<ring>\S{1,30}) timeout, signaled seq="),
    _row("vram_lost", "VRAM is lost due to GPU reset"),
    _row("page_fault", " page fault", r"\[\w*hub\d*\].*\bpage fault \((?:.*for process (?P<process>\S{1,30}) pid)?"),
    _row("queue_oversubscribed", "Runlist is getting oversubscribed|No more SDMA queue to allocate"),
    _row("queue_hang", "qcm fence wait loop timeout|ueue preemption failed for queue|Failed to evict process queues|"
         "Failed to evict queue"),
    _row("mes_hang", "MES failed to respon|MES might be in unrecoverable state|remove hardware queue from MES"),
    _row("ip_hung", "is hung!", r"IP block:(?P<block>\w{1,30}) is hung!"),
    _row("throttled", "GPU is throttled"),
    _row("driver_warning", "WARNING: CPU:", r"drivers/gpu/drm/amd/|amdgpu"),
)  # fmt: skip
_NEEDLES = tuple((needle, row) for row in SIGNATURES for needle in row.needles)
# Told apart by more than one line: records of the firmware, and a reset whose end is not in the log.
APEI = tuple(f"apei_{part}_{how}" for part in ("pcie", "host") for how in ("corrected", "recoverable", "fatal"))
INCOMPLETE = "reset_incomplete"
IDS: tuple[str, ...] = tuple(dict.fromkeys([*(row.id for row in SIGNATURES if row.id != SERVES), *APEI, INCOMPLETE]))
