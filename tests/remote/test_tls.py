"""TLS: a certificate nobody vouches for is refused in words; an authority of one's own is named in SSL_CERT_FILE."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from .odd import Odd, Request
from .support import connected, run


def certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """A certificate for a host that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(private)
    return files


async def answer(request: Request) -> None:
    await request.result({"ok": 1})


@pytest.mark.parametrize(
    ("host", "trusted", "says"),
    [
        ("127.0.0.1", True, None),
        ("127.0.0.1", False, "has a certificate that cannot be verified"),
        ("127.0.0.2", True, "has a certificate that cannot be verified"),
    ],
)
def test_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, trusted: bool, says: str | None
) -> None:
    """Verified always, also against the host's name; the error says what to do."""
    cert, key = certificate(tmp_path, host)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    async def go() -> None:
        server = Odd(answer)
        await server.start(context)
        async with connected(server.url.replace("http:", "https:"), tmp_path) as core:
            found = await core.ask("tools/list")
            if says is None:
                assert found["result"] == {"ok": 1}
            else:
                assert says in found["error"]["message"]
                assert "SSL_CERT_FILE" in found["error"]["message"]
                assert server.seen == []
        await server.stop()
        await asyncio.sleep(0)

    run(go())
