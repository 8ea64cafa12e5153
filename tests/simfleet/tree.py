# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A tree of small files and links, and how it gets onto a disk and is changed there."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Tree:
    """Files (path below /sys to text or bytes) and symbolic links (path below /sys to path below /sys)."""

    files: dict[str, str | bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    dirs: set[str] = field(default_factory=set)

    def put(self, base: str, values: dict[str, object]) -> None:
        """Add files below `base`; a text gets the newline that sysfs adds."""
        for name, value in values.items():
            self.files[f"{base}/{name}"] = value if isinstance(value, bytes) else f"{value}\n"


def write(tree: Tree, root: Path) -> None:
    """Write the tree below `root`; links become relative, so that they hold wherever the tree is mounted."""
    made: set[str] = set()
    places = [path.rpartition("/")[0] for path in (*tree.files, *tree.links)]
    for place in (*places, *tree.dirs):
        if place not in made:
            os.makedirs(root / place, exist_ok=True)
            made.add(place)
    for path, value in tree.files.items():
        descriptor = os.open(f"{root}/{path}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(descriptor, value.encode() if isinstance(value, str) else value)
        os.close(descriptor)
    for path, target in tree.links.items():
        os.symlink(target if target.startswith("/") else os.path.relpath(target, os.path.dirname(path)), root / path)


def change(old: Tree, new: Tree, root: Path) -> None:
    """Turn the written tree `old` into `new`, touching only what differs: what the node itself wrote stays."""
    stale = old.dirs - new.dirs
    for path in (*old.links, *old.files):
        gone = path not in new.files and path not in new.links
        if gone or old.links.get(path) != new.links.get(path):
            (root / path).unlink(missing_ok=True)
            _prune(root, path)
    for folder in sorted(stale, reverse=True):
        if (root / folder).is_dir():
            _prune(root, f"{folder}/")
    files = {path: value for path, value in new.files.items() if old.files.get(path) != value}
    links = {path: target for path, target in new.links.items() if old.links.get(path) != target}
    write(Tree(files, links, new.dirs), root)


def _prune(root: Path, path: str) -> None:
    folder = os.path.dirname(path)
    while folder.count("/") > 0:
        try:
            os.rmdir(root / folder)
        except OSError:
            return
        folder = os.path.dirname(folder)
