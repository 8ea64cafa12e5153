# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The PCI bus of a node: which functions there are, who hangs below whom and how each link has trained. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from simfleet.faults import Fault
from simfleet.machines import Chip, Product

DOMAIN = "0000"
BOARD_UP = {("1002", "1501"), ("1022", "14c7")}


@dataclass
class Function:
    """One PCI function. `gts` and `width` are what the link towards the root (a port: towards the device) runs at."""

    bdf: str
    chip: Chip
    parent: str | None
    numa: int
    gts: float
    width: int
    gpu: int | None = None  # index of the GPU, on GPUs only

    @property
    def is_bridge(self) -> bool:
        return self.chip.pci_class == "060400"


Bus = dict[str, Function]


def _full(bdf: str) -> str:
    return f"{DOMAIN}:{bdf}"


def _add(bus: Bus, bdf: str, chip: Chip, parent: str | None, numa: int) -> Function:
    if bdf not in bus:
        bus[bdf] = Function(bdf, chip, parent, numa, chip.gts, chip.width)
    return bus[bdf]


def build_bus(product: Product, gpus: int) -> Bus:
    """The bus of a node with the first `gpus` GPUs of the product's machine, all links at their best."""
    bus: Bus = {}
    for index, (numa, path) in enumerate(product.paths[:gpus]):
        parent = None
        for bdf, chip in path:
            function = _add(bus, _full(bdf), chip, parent, numa)
            parent = function.bdf
        bus[parent or ""].gpu = index
    _add_nics(bus, product)
    train(bus)
    return bus


def _add_nics(bus: Bus, product: Product) -> None:
    for port, (bdf, chip) in product.nics:
        switch = _full(f"{int(port[:2], 16) - 1:02x}:00.0")
        if switch in bus:
            below = next(function.chip for function in bus.values() if function.parent == switch)
            _add(bus, _full(port), below, switch, bus[switch].numa)
            _add(bus, _full(bdf), chip, _full(port), bus[switch].numa)


def train(bus: Bus) -> None:
    """Each link runs at the best that both of its ends can do; a port shows the link below it."""
    for lower in bus.values():
        # Between the upstream and the downstream ports of one switch there is no link to train.
        if is_lower_end(bus, lower):
            upper = bus[lower.parent or ""]
            speed, width = min(upper.chip.gts, lower.chip.gts), min(upper.chip.width, lower.chip.width)
            for end in (upper, lower):
                end.gts, end.width = speed, width


def is_lower_end(bus: Bus, function: Function) -> bool:
    """Whether a link ends here from above: true for devices and upstream ports, false for root and downstream ports."""
    if function.parent is None:
        return False
    parent = bus[function.parent]
    return not (parent.parent is not None and is_lower_end(bus, parent))


def path_to(bus: Bus, gpu: int) -> list[Function]:
    """From the GPU of this index up to its root port."""
    function: Function | None = next(item for item in bus.values() if item.gpu == gpu)
    path = []
    while function is not None:
        path.append(function)
        function = bus[function.parent] if function.parent else None
    return path


def hop_link(bus: Bus, gpu: int, hop: str) -> tuple[Function, Function]:
    """The ends (upper, lower) of the named link: `gpu`, `slot` (above the board) or `root` (below the root port)."""
    path = path_to(bus, gpu)
    lower = path[0]
    if hop == "root":
        lower = path[-2]
    elif hop == "slot":
        lower = next((item for item in path if (item.chip.vendor, item.chip.device) in BOARD_UP), path[0])
    return bus[lower.parent or ""], lower


def _remove(bus: Bus, gpu: int) -> None:
    # What hangs below the slot alone goes with the GPU: with the board's link down its switch is not found either.
    upper, lower = hop_link(bus, gpu, "slot")
    upper.gts, upper.width = 2.5, 0
    for function in path_to(bus, gpu):
        del bus[function.bdf]
        if function is lower:
            return


def apply_faults(bus: Bus, faults: list[Fault]) -> None:
    """Let the link and bus faults act on the bus, in place."""
    for fault in faults:
        if fault.effect in ("link_speed", "link_width"):
            for end in hop_link(bus, fault.args["index"], fault.args["hop"]):
                end.gts = fault.args.get("gts", end.gts)
                end.width = fault.args.get("width", end.width)
    for fault in faults:
        if fault.effect == "gpu_missing":
            _remove(bus, fault.args["index"])
