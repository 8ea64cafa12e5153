# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A test CA and one certificate for all BMCs of a fleet, made by openssl."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

from simfleet.errors import SimfleetError

_CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def _openssl(*words: str) -> None:
    try:
        done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SimfleetError(
            f"openssl cannot be run ({error.strerror}); the BMCs need it for their certificate"
        ) from error
    if done.returncode:
        raise SimfleetError(f"openssl {words[0]}: {done.stderr.strip()}")


def make(folder: Path, ca: Path, addresses: list[str]) -> None:
    """Write the CA's certificate to `ca`, and `key.pem` and `cert.pem`, good for these addresses, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key, request, cert = folder / "key.pem", folder / "request.pem", folder / "cert.pem"
    authority = folder / "ca-key.pem"
    (folder / "ext").write_text(
        "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n"
        "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
        f"subjectAltName={','.join(f'IP:{address}' for address in addresses)}\n",
        encoding="ascii",
    )
    _openssl(
        "req", "-x509", *_CURVE, "-keyout", str(authority), "-out", str(ca), "-days", "3650",
        "-subj", "/CN=Simulated fleet BMC CA", "-addext", "basicConstraints=critical,CA:TRUE",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    )  # fmt: skip
    _openssl("req", *_CURVE, "-keyout", str(key), "-out", str(request), "-subj", "/CN=Simulated BMC")
    _openssl(
        "x509", "-req", "-in", str(request), "-CA", str(ca), "-CAkey", str(authority), "-CAcreateserial",
        "-days", "3650", "-extfile", str(folder / "ext"), "-out", str(cert),
    )  # fmt: skip


def server_context(folder: Path) -> ssl.SSLContext:
    """The server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context
