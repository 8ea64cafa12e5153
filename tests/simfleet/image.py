# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The root image of a node: built once with mmdebstrap, unpacked once, used as the lowest overlay layer."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simfleet.errors import SimfleetError

HERE = Path(__file__).parent
RECIPE = "3"
SUITE = "bookworm"
PACKAGES = (
    "python3", "openssh-server", "pciutils", "iproute2", "python3-apt", "kmod", "dkms", "linux-headers-amd64", "gcc",
    "make", "libc6-dev", "procps", "psmisc", "ca-certificates", "tini",
)  # fmt: skip


def cache_dir() -> Path:
    """Where images, packages and layers are kept between fleets."""
    return Path(os.environ.get("SIMFLEET_CACHE") or Path.home() / ".cache" / "fleetops-instinct")


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time build the cached thing of this name."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with open(cache_dir() / f".{name}.lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest(*parts: str | bytes) -> str:
    """A short key over texts and file contents."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update((part.encode() if isinstance(part, str) else part) + b"\0")
    return whole.hexdigest()[:12]


def image_key() -> str:
    """Names the image: another package list, recipe or source gives another image."""
    sources = [path.read_bytes() for path in sorted((HERE / "node" / "src").iterdir())]
    return digest(RECIPE, SUITE, *PACKAGES, *sources)


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command; a failure is a SimfleetError with the end of its output."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SimfleetError(f"`{' '.join(command[:4])} ...` ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done


# In namespaces of its own: an interrupted build leaves neither a mount below the tree nor a process that writes to it.
ALONE = [
    "setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "--pid", "--fork",
    "--kill-child=KILL", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh",
]  # fmt: skip


def host_sources() -> str | None:
    """The host's own apt sources for the suite, one text for mmdebstrap; None where the host has none of its kind."""
    texts = []
    for path in sorted([*Path("/etc/apt/sources.list.d").glob("*.sources")]):
        for stanza in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            if re.search(rf"^Suites:.*\b{SUITE}\b", stanza, re.M):
                texts.append(stanza.strip() + "\n")
    if texts:
        return "\n".join(texts)
    lists = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*.list"))]
    lines = [line for path in lists if path.is_file() for line in path.read_text(encoding="utf-8").splitlines()]
    chosen = [line for line in lines if re.match(rf"deb\s.*\s{SUITE}(-updates|-security)?\s+main", line)]
    return "\n".join(chosen) + "\n" if chosen else None


def kernel_of(root: Path) -> str:
    """The kernel whose headers are in the image: the node says it runs this one."""
    names = sorted(path.name for path in (root / "usr/lib/modules").iterdir())
    return names[-1]


def _bootstrap(root: Path) -> None:
    if shutil.which("mmdebstrap") is None:
        raise SimfleetError("mmdebstrap is not installed; `apt-get install mmdebstrap` gives it")
    sources = host_sources()
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(root)]
    run([*ALONE, *command, *(["-"] if sources else [])], input=sources)


def _compile(root: Path) -> None:
    source = root / "usr/src/build"
    shutil.copytree(HERE / "node" / "src", source)
    run(
        [
            "chroot",
            str(root),
            "gcc",
            "-O2",
            "-fPIC",
            "-shared",
            "-o",
            "/usr/lib/x86_64-linux-gnu/librelease.so",
            "/usr/src/build/release.c",
        ]
    )
    (source / "Makefile").write_text("obj-m := amdgpu.o\n", encoding="ascii")
    kernel = kernel_of(root)
    run(["chroot", str(root), "make", "-s", "-C", f"/usr/lib/modules/{kernel}/build", "M=/usr/src/build", "modules"])
    place = root / f"usr/lib/modules/{kernel}/kernel/drivers/gpu/drm/amd/amdgpu"
    place.mkdir(parents=True)
    shutil.copy(source / "amdgpu.ko", place / "amdgpu.ko")
    shutil.rmtree(source)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        (root / f"usr/lib/modules/{kernel}" / name).write_text("", encoding="ascii")
    run(["chroot", str(root), "depmod", kernel])
    (root / "etc/ld.so.preload").write_text("/usr/lib/x86_64-linux-gnu/librelease.so\n", encoding="ascii")


def _settle(root: Path) -> None:
    """Make the tree a machine: boot files, no package sources but the fleet's own, no host keys."""
    kernel = kernel_of(root)
    for name in ("vmlinuz", "System.map", "config"):
        (root / "boot" / f"{name}-{kernel}").write_text(f"{name} of {kernel}\n", encoding="ascii")
    (root / "boot/grub").mkdir()
    (root / "etc/default/grub.d").mkdir(parents=True)
    for path in [*(root / "etc/ssh").glob("ssh_host_*"), *(root / "etc/apt/apt.conf.d").glob("99mmdebstrap")]:
        path.unlink()
    for path in [root / "etc/apt/sources.list", *(root / "etc/apt/sources.list.d").glob("*")]:
        path.unlink(missing_ok=True)
    os.rename(root / "usr/bin/dmesg", root / "usr/bin/dmesg.real")
    for name in ("root/.ssh", "run/sshd", "usr/libexec/node"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "usr/sbin/policy-rc.d").unlink(missing_ok=True)


def ensure_image() -> Path:
    """The unpacked root image, built if need be (about a minute). An interrupted build is never used."""
    target = cache_dir() / f"image-{image_key()}"
    with locked("image"):
        if target.is_dir():
            return target
        partial = cache_dir() / f"image-{image_key()}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        _bootstrap(partial)
        _compile(partial)
        _settle(partial)
        os.rename(partial, target)
    return target


def program_layer(target: Path) -> None:
    """Lay the node's own programs out below `target`, as they appear in the node."""
    places = {
        "update-grub": ["usr/sbin/update-grub", "usr/sbin/grub-mkconfig"],
        "update-initramfs": ["usr/sbin/update-initramfs"],
        "lsinitramfs": ["usr/bin/lsinitramfs"],
        "power": [f"usr/sbin/{name}" for name in ("shutdown", "reboot", "poweroff", "halt")] + ["usr/bin/systemctl"],
        "kmodctl": [f"usr/sbin/{name}" for name in ("modprobe", "insmod", "rmmod")],
        "dmesg": ["usr/bin/dmesg"],
        "journalctl": ["usr/bin/journalctl"],
        "rc": ["usr/libexec/node/rc"],
    }
    for name, targets in places.items():
        for path in targets:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HERE / "node" / "bin" / name, target / path)
            os.chmod(target / path, 0o755)
