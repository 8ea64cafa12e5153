# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files that a controller needs to work with the fleet: inventory, known hosts, targets, key."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from simfleet.disk import SSH_PORT
from simfleet.fleetfile import FleetSpec
from simfleet.packages import RELEASES, Release
from simfleet.repo import ensure_repo


def known_hosts(state: Path, fleet: FleetSpec) -> str:
    """One line per node, with the host key it keeps over reboots."""
    rows = []
    for node in fleet.nodes:
        kind, key = (state / "nodes" / node.name / "ssh_host_ed25519_key.pub").read_text(encoding="ascii").split()[:2]
        rows.append(f"[{fleet.address(node)}]:{SSH_PORT} {kind} {key}")
    return "\n".join(rows) + "\n"


def inventory(state: Path, fleet: FleetSpec) -> dict[str, Any]:
    """An Ansible inventory with the group `fleet`."""
    options = f"-o UserKnownHostsFile={state}/ssh/known_hosts -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes"
    common = {
        "ansible_port": SSH_PORT, "ansible_user": "root", "ansible_ssh_private_key_file": f"{state}/ssh/id_ed25519",
        "ansible_ssh_common_args": options, "ansible_python_interpreter": "/usr/bin/python3",
    }  # fmt: skip
    hosts = {node.name: {"ansible_host": fleet.address(node), "fleet_rack": node.rack} for node in fleet.nodes}
    for bmc, address in fleet.bmcs():
        hosts[bmc.node]["fleet_bmc_address"] = address
    return {"fleet": {"hosts": hosts, "vars": common}}


def target(release: Release, products: list[str]) -> dict[str, Any]:
    """A target file for these products at one release."""
    repository = {
        "rocm": "http://mirror.example/rocm/apt/{release}",
        "driver": "http://mirror.example/amdgpu/{driver}/ubuntu",
        "suite": "jammy",
        "component": "main",
        "key_file": "rocm.gpg.asc",
    }
    wanted = {"rocm": release.rocm, "driver": release.driver}
    return {
        "schema": 1,
        "name": f"rocm-{release.rocm}",
        "repository": repository,
        "products": {name: dict(wanted) for name in products},
    }


def write_all(state: Path, fleet: FleetSpec) -> None:
    """Write every file into the state directory."""
    (state / "ssh/known_hosts").write_text(known_hosts(state, fleet), encoding="ascii")
    shutil.copy(ensure_repo() / "www/rocm/rocm.gpg.key", state / "rocm.gpg.asc")
    documents = {"inventory.yml": inventory(state, fleet)}
    products = sorted({node.product for node in fleet.nodes})
    for release in RELEASES:
        documents[f"target-{release.rocm}.yml"] = target(release, products)
    for name, document in documents.items():
        (state / name).write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
