# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node's disk: made once, kept over its boots, with what makes the node itself: name, keys, command line."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from simfleet import space
from simfleet.errors import SimfleetError
from simfleet.fleetfile import FleetSpec, NodeSpec
from simfleet.sysfs import stable_hex

SSH_PORT = 2222


@dataclass(frozen=True)
class Places:
    """Where a node's things are: `room` inside the supervisor's own mounts, `keep` in the state directory."""

    room: Path
    keep: Path
    lower: tuple[Path, ...]
    authorized_key: str

    @property
    def root(self) -> Path:
        """The node's root, as the supervisor sees it."""
        return self.room / "root"


def create(spec: NodeSpec, fleet: FleetSpec, places: Places) -> None:
    """Make the disk. Nothing runs yet."""
    places.keep.mkdir(parents=True, exist_ok=True)
    disk = space.fresh_tmpfs(places.room / "disk", f"{spec.disk_mb}m")
    space.overlay(places.root, list(places.lower), disk / "upper", disk / "work")
    _identity(spec.name, fleet.mirror, places.root)
    _sshd(fleet.address(spec), places)
    _boot_loader(spec, places.root)


def _identity(name: str, mirror: str, root: Path) -> None:
    files = {
        "etc/hostname": f"{name}\n",
        "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {name}\n{mirror} mirror.example\n",
        "etc/machine-id": stable_hex(name, "machine-id", digits=32) + "\n",
        "etc/resolv.conf": "",
    }
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8")


def host_key(places: Places, another: bool = False) -> None:
    """Give sshd its host key, or another one that stands in nobody's known hosts."""
    key = places.keep / ("another_host_key" if another else "ssh_host_ed25519_key")
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "host", "-f", str(key)], check=True)
    for suffix in ("", ".pub"):
        shutil.copy(f"{key}{suffix}", places.root / f"etc/ssh/ssh_host_ed25519_key{suffix}")


def _sshd(address: str, places: Places) -> None:
    host_key(places)
    config = (
        f"Port {SSH_PORT}\nListenAddress {address}\nHostKey /etc/ssh/ssh_host_ed25519_key\n"
        "PermitRootLogin prohibit-password\nPasswordAuthentication no\nUsePAM no\nUseDNS no\nPrintMotd no\n"
        "MaxStartups 100\nMaxSessions 100\nAcceptEnv LANG LC_*\nSubsystem sftp internal-sftp\n"
    )
    (places.root / "etc/ssh/sshd_config").write_text(config, encoding="ascii")
    folder = places.root / "root/.ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "authorized_keys").write_text(places.authorized_key, encoding="ascii")


def _boot_loader(spec: NodeSpec, root: Path) -> None:
    text = f'GRUB_CMDLINE_LINUX="{spec.cmdline}"\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_TIMEOUT=5\n'
    (root / "etc/default/grub").write_text(text, encoding="utf-8")
    done = subprocess.run(["chroot", str(root), "update-grub"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SimfleetError(f"{spec.name}: update-grub: {done.stderr}")
