# Copyright (c) 2026, fleetops.instinct contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was parsed of a file of the catalog, kept beside it as Python keeps the code that it has compiled.

Parsing the catalog costs every run as much as all of its tasks on the controller together. A copy is used only where
it was made of the very same bytes; where it cannot be read, used or written, the file is parsed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import marshal
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

_DIGEST = hashlib.sha256().digest_size


def compiled(content: bytes, path: str, parse: Callable[[], Any]) -> Any:
    """What ``parse`` makes of a file's content, or made of the same content in an earlier run."""
    kept = kept_at(path)
    digest = hashlib.sha256(content).digest()
    with contextlib.suppress(OSError, EOFError, ValueError, TypeError), open(kept, "rb") as handle:
        if handle.read(_DIGEST) == digest:
            return marshal.loads(handle.read())
    document = parse()
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError, ValueError):
            _keep(kept, digest + marshal.dumps(document))
    return document


def kept_at(path: str) -> str:
    """Where the copy of a file is kept; another Python keeps another one."""
    return f"{importlib.util.cache_from_source(path)[: -len('.pyc')]}.data"


def _keep(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except OSError:
        os.unlink(scratch)
        raise
