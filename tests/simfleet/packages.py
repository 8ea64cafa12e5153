# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The releases in the simulated package repository, as data, in AMD's own version form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """One ROCm release and the driver release that came with it."""

    rocm: str
    code: str  # 6.4.4 -> 60404
    rocm_build: str
    driver: str  # name of the driver repository: 6.4.4, 30.10.2
    module: str  # version of the kernel module
    driver_code: str
    driver_build: str
    firmware_prefix: str
    components: tuple[tuple[str, str], ...]

    @property
    def rocm_version(self) -> str:
        """6.4.4.60404-129~22.04"""
        return f"{self.rocm}.{self.code}-{self.rocm_build}~22.04"

    @property
    def component_suffix(self) -> str:
        """What follows the own version of each component: .60404-129~22.04"""
        return f".{self.code}-{self.rocm_build}~22.04"

    @property
    def dkms_version(self) -> str:
        """What dkms calls the module: 6.12.12-2202139.22.04"""
        return f"{self.module}-{self.driver_build}.22.04"

    @property
    def driver_version(self) -> str:
        """1:6.12.12.60404-2202139.22.04"""
        return f"1:{self.module}.{self.driver_code}-{self.driver_build}.22.04"

    @property
    def firmware_version(self) -> str:
        """1:6.12.12.60404-... up to ROCm 6.4, then 30.10.2.0.30100200-..."""
        return f"{self.firmware_prefix}.{self.driver_code}-{self.driver_build}.22.04"


def _components(comgr: str, hip: str, hsa: str, smi: str, rsmi: str) -> tuple[tuple[str, str], ...]:
    return (
        ("comgr", comgr), ("hip-runtime-amd", hip), ("hsa-rocr", hsa), ("amd-smi-lib", smi),
        ("rocm-smi-lib", rsmi), ("rocminfo", "1.0.0"),
    )  # fmt: skip


RELEASES: tuple[Release, ...] = (
    Release("6.3.3", "60303", "74", "6.3.3", "6.10.5", "60303", "2109964", "1:6.10.5",
            _components("2.8.0", "6.3.42134", "1.14.0", "24.7.1", "7.4.0")),
    Release("6.4.4", "60404", "129", "6.4.4", "6.12.12", "60404", "2202139", "1:6.12.12",
            _components("3.0.0", "6.4.43484", "1.15.0", "25.5.1", "7.7.0")),
    Release("7.0.2", "70002", "56", "30.10.2", "6.14.14", "30100200", "2226257", "30.10.2.0",
            _components("3.0.0", "7.0.51831", "1.18.0", "26.0.2", "7.8.0")),
)  # fmt: skip

BY_ROCM = {release.rocm: release for release in RELEASES}
BY_DRIVER = {release.driver: release for release in RELEASES}
BY_MODULE = {release.module: release for release in RELEASES}
