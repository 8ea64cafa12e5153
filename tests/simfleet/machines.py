# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The machines that can be simulated, as data: GPUs, boards, slots and the PCI paths between them.

A path runs from the root port down to the GPU. Bus numbers of the eight-GPU machines follow recorded node
topologies; what a recording leaves out (root ports, downstream ports of switches) is filled in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GIB = 1024**3


@dataclass(frozen=True)
class Chip:
    """One kind of PCI function: ids as hex text, what its link can do and how it is called."""

    vendor: str
    device: str
    pci_class: str
    gts: float
    width: int = 16
    subsystem: tuple[str, str] = ("0000", "0000")


ROOT_GENOA = Chip("1022", "14ab", "060400", 32.0, subsystem=("1022", "1453"))
ROOT_MILAN = Chip("1022", "1483", "060400", 16.0, subsystem=("1022", "1453"))
MLX_SWITCH = Chip("15b3", "1979", "060400", 32.0)
BCM_SWITCH = Chip("1000", "c030", "060400", 32.0, subsystem=("1d9b", "cc03"))
BCM_SWITCH_G4 = Chip("1000", "c010", "060400", 16.0, subsystem=("1000", "a096"))
UBB_UP = Chip("1002", "1501", "060400", 32.0, subsystem=("1002", "1501"))
UBB_DOWN = Chip("1002", "1500", "060400", 32.0, subsystem=("1002", "1500"))
CDNA2_UP = Chip("1022", "14c7", "060400", 16.0, subsystem=("1022", "14c7"))
CDNA2_UP_X8 = Chip("1022", "14c7", "060400", 16.0, width=8, subsystem=("1022", "14c7"))
CDNA2_DOWN = Chip("1022", "14c8", "060400", 16.0, subsystem=("1022", "14c8"))
CX7 = Chip("15b3", "1021", "020700", 32.0, subsystem=("15b3", "0101"))
THOR2 = Chip("14e4", "1760", "020000", 32.0, subsystem=("14e4", "f323"))

Hop = tuple[str, Chip]  # ("05:00.0", chip)


@dataclass(frozen=True)
class Product:
    """What one product shows: its chip, memory, sensors and partitions, and the paths of one machine."""

    name: str
    chip: Chip
    memory_bytes: int
    gfx: str
    sensors: tuple[str, ...]
    compute_modes: tuple[str, ...]
    vbios: str
    board: str
    paths: tuple[tuple[int, tuple[Hop, ...]], ...]  # (numa node, hops from root port to GPU)
    nics: tuple[tuple[str, Hop], ...] = ()  # (bdf of the bridge above, the NIC)
    dmi: dict[str, str] = field(default_factory=dict)


def _bus(number: int, slot: str = "00.0") -> str:
    return f"{number:02x}:{slot}"


def _cascade(chip: Chip, first: int) -> tuple[Hop, ...]:
    """Two Mellanox switches above the board switch, as in the recorded MI300X machines."""
    return (
        (_bus(first - 1, "01.1"), ROOT_GENOA),
        (_bus(first), MLX_SWITCH),
        (_bus(first + 1, "01.0"), MLX_SWITCH),
        (_bus(first + 3), MLX_SWITCH),
        (_bus(first + 4), MLX_SWITCH),
        (_bus(first + 5), UBB_UP),
        (_bus(first + 6), UBB_DOWN),
        (_bus(first + 7), chip),
    )


def _broadcom(chip: Chip, first: int, board: int) -> tuple[Hop, ...]:
    """One Broadcom switch above the board switch, as in the recorded MI350X machine."""
    return (
        (_bus(first - 1, "01.1"), ROOT_GENOA),
        (_bus(first), BCM_SWITCH),
        (_bus(first + 1, "01.0"), BCM_SWITCH),
        (_bus(board), UBB_UP),
        (_bus(board + 1), UBB_DOWN),
        (_bus(board + 2), chip),
    )


def _card(chip: Chip, gpu: int) -> tuple[Hop, ...]:
    """A PCIe card: root port, the switch on the card, the GPU."""
    root = (_bus(gpu - 3, "01.1"), ROOT_MILAN)
    return (root, (_bus(gpu - 2), CDNA2_UP), (_bus(gpu - 1), CDNA2_DOWN), (_bus(gpu), chip))


def _oam_gen4(chip: Chip, first: int, board: int, port: int) -> tuple[Hop, ...]:
    """One GCD of an MI250: its board switch has eight lanes by design."""
    return (
        (_bus(first - 1, "01.1"), ROOT_MILAN),
        (_bus(first), BCM_SWITCH_G4),
        (_bus(first + 1, "01.0"), BCM_SWITCH_G4),
        (_bus(first + 12), BCM_SWITCH_G4),
        (_bus(first + 13, f"{port:02x}.0"), BCM_SWITCH_G4),
        (_bus(board), CDNA2_UP_X8),
        (_bus(board + 1), CDNA2_DOWN),
        (_bus(board + 2), chip),
    )


def _split(paths: list[tuple[Hop, ...]]) -> tuple[tuple[int, tuple[Hop, ...]], ...]:
    """The first half of the GPUs hangs at NUMA node 0, the second at node 1."""
    return tuple((0 if number < len(paths) / 2 else 1, path) for number, path in enumerate(paths))


_MI300_BUSES = (0x05, 0x0E, 0x17, 0x62, 0x98, 0xA8, 0xB8, 0xD8)
_MI350_BUSES = (
    (0x01, 0x06),
    (0x11, 0x16),
    (0x61, 0x66),
    (0x71, 0x76),
    (0x81, 0x86),
    (0x91, 0x96),
    (0xE1, 0xE6),
    (0xF1, 0xF7),
)
_MI210_BUSES = (0x06, 0x26, 0x43, 0x63, 0x83, 0xA3, 0xC3, 0xE3)
_MI250_BUSES = tuple((0x19, 0x27 + 3 * n, n) for n in range(4)) + tuple((0x9D, 0xAB + 3 * n, n) for n in range(4))


def _cascade_nics() -> tuple[tuple[str, Hop], ...]:
    return tuple((_bus(first + 1, "00.0"), (_bus(first + 2), CX7)) for first in _MI300_BUSES)


def _broadcom_nics() -> tuple[tuple[str, Hop], ...]:
    return tuple((_bus(first + 1, "00.0"), (_bus(first + 2), THOR2)) for first, _ in _MI350_BUSES)


def _accelerator(device: str) -> Chip:
    return Chip("1002", device, "120000", 32.0, subsystem=("1002", device))


_SUPERMICRO = {
    "sys_vendor": "Supermicro",
    "product_name": "AS -8125GS-TNMR2",
    "board_vendor": "Supermicro",
    "board_name": "H13DSG-O-CPU-D",
    "bios_vendor": "American Megatrends International, LLC.",
    "bios_version": "3.2",
    "bios_date": "11/13/2024",
    "bios_release": "5.27",
}
_DELL = {
    "sys_vendor": "Dell Inc.",
    "product_name": "PowerEdge R7525",
    "board_vendor": "Dell Inc.",
    "board_name": "0H3K7P",
    "bios_vendor": "Dell Inc.",
    "bios_version": "2.15.2",
    "bios_date": "04/02/2024",
    "bios_release": "5.22",
}
_GIGABYTE = {
    "sys_vendor": "GIGABYTE",
    "product_name": "G262-ZO0-00",
    "board_vendor": "GIGABYTE",
    "board_name": "MZ62-HD5-00",
    "bios_vendor": "GIGABYTE",
    "bios_version": "M05",
    "bios_date": "10/11/2023",
    "bios_release": "5.18",
}


def _mi300(name: str, device: str, memory_bytes: int, vbios: str) -> Product:
    chip = _accelerator(device)
    return Product(
        name, chip, memory_bytes, "gfx942", ("junction", "mem"), ("SPX", "DPX", "QPX", "CPX"), vbios, "oam",
        _split([_cascade(chip, first) for first in _MI300_BUSES]), _cascade_nics(), _SUPERMICRO,
    )  # fmt: skip


def _mi350x() -> Product:
    chip = _accelerator("75a0")
    modes = ("SPX", "DPX", "QPX", "CPX")
    return Product(
        "MI350X", chip, 288 * GIB, "gfx950", ("junction", "mem"), modes, "113-M350K01-103", "oam",
        _split([_broadcom(chip, first, board) for first, board in _MI350_BUSES]), _broadcom_nics(), _SUPERMICRO,
    )  # fmt: skip


def _mi210() -> Product:
    chip = Chip("1002", "740f", "038000", 16.0, subsystem=("1002", "0c34"))
    return Product(
        "MI210", chip, 64 * GIB, "gfx90a", ("edge", "junction", "mem"), ("SPX",), "113-D67301-059", "cem",
        _split([_card(chip, bus) for bus in _MI210_BUSES]), (), _DELL,
    )  # fmt: skip


def _mi250() -> Product:
    chip = Chip("1002", "740c", "038000", 16.0, subsystem=("1002", "0b0c"))
    return Product(
        "MI250", chip, 64 * GIB, "gfx90a", ("edge", "junction", "mem"), ("SPX",), "113-D65209-073", "oam",
        _split([_oam_gen4(chip, *place) for place in _MI250_BUSES]), (), _GIGABYTE,
    )  # fmt: skip


PRODUCTS: dict[str, Product] = {
    product.name: product
    for product in (
        _mi300("MI300X", "74a1", 192 * GIB - 16 * 1024**2, "113-M3000100-102"),
        _mi300("MI325X", "74a5", 256 * GIB - 16 * 1024**2, "113-M3250101-100"),
        _mi350x(),
        _mi210(),
        _mi250(),
    )
}
