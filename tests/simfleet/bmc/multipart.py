# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parts of a multipart/form-data body."""

from __future__ import annotations

import re

from simfleet.bmc.messages import Refused


def parts_of(content_type: str, data: bytes) -> list[tuple[str, bytes]]:
    """(name, content) of each part, in their order; raises Refused when the body is no such form."""
    found = re.search(r'boundary="?([^";]+)"?', content_type)
    if not content_type.startswith("multipart/form-data") or found is None:
        raise Refused(415, "SimBmc.1.0.NoMultipart", text="multipart/form-data is wanted")
    mark = b"--" + found[1].encode()
    rows = []
    for chunk in data.split(mark)[1:]:
        if chunk.startswith(b"--"):
            break
        head, gap, content = chunk.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head)
        if not gap or name is None:
            raise Refused(400, "SimBmc.1.0.NoMultipart", text="a part has no name")
        rows.append((name[1].decode(), content.removesuffix(b"\r\n")))
    return rows
