"""Access tokens of an issuer: what is taken, what is refused, and what a client is told about it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.http.support import Front, config, fixture, initialize

AUDIENCE = "https://crp.example/mcp"


class Issuer:
    """Publishes metadata and keys on loopback, and signs tokens."""

    def __init__(self) -> None:
        self.keys = {"r1": rsa.generate_private_key(65537, 2048), "e1": ec.generate_private_key(ec.SECP256R1())}
        self.published = ["r1", "e1"]
        self.asked: list[str] = []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                body = issuer.answer(self.path)
                self.send_response(200 if body else 404)
                self.end_headers()
                self.wfile.write(json.dumps(body or {}).encode())

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/realm"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> dict[str, Any] | None:
        if path == "/realm/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": self.url + "/keys"}
        if path == "/realm/keys":
            return {"keys": [self._public(name) for name in self.published] + [{"kty": "oct", "kid": "o", "k": "eA"}]}
        return None

    def _public(self, name: str) -> dict[str, Any]:
        algorithm = jwt.algorithms.RSAAlgorithm if name[0] == "r" else jwt.algorithms.ECAlgorithm
        return {**algorithm.to_jwk(self.keys[name].public_key(), as_dict=True), "kid": name, "use": "sig"}

    def token(self, key: str = "r1", algorithm: str | None = None, kid: Any = "", **claims: Any) -> dict[str, str]:
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "exp": time.time() + 60, "scope": "mcp", "org": "acme"}
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        header = {"kid": kid or key} if kid is not None else {}
        signed = jwt.encode(given, self.keys[key], algorithm or ("RS256" if key[0] == "r" else "ES256"), headers=header)
        return {"authorization": f"Bearer {signed}"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    one = Issuer()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture(scope="module")
def front(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("oauth")
    oauth = {"issuer": issuer.url, "audience": AUDIENCE, "scopes": ["mcp"], "tenant_claim": "org"}
    path = config(folder, {"fixture": fixture()}, {"oauth": oauth})
    with Front(folder / "store", "--config", path) as one:
        assert issuer.asked == []
        yield one


@pytest.mark.parametrize("how", [{}, {"key": "e1"}, {"algorithm": "PS256"}, {"scope": None, "scp": ["x", "mcp"]}])
def test_a_good_token_comes_in(front: Front, issuer: Issuer, how: dict[str, Any]) -> None:
    """Signed by a published key, for us, in time, with the scope, in any of the usual forms."""
    assert front.modern("server/discover", **issuer.token(**how)).status_code == 200


@pytest.mark.parametrize(
    "how",
    [
        {"exp": 1000},
        {"exp": None},
        {"aud": "https://other.example"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"kid": "unknown"},
        {"kid": "e1"},
        {"org": None},
        {"org": ["acme"]},
        {"org": "a\nb"},
        {"nbf": time.time() + 3600},
    ],
)
def test_a_bad_token_does_not(front: Front, issuer: Issuer, how: dict[str, Any]) -> None:
    """401 with `invalid_token`, and where to learn more."""
    answer = front.modern("server/discover", **issuer.token(**how))
    assert answer.status_code == 401
    said = answer.headers["www-authenticate"]
    assert 'error="invalid_token"' in said
    assert f'resource_metadata="{front.base}/.well-known/oauth-protected-resource/mcp"' in said


def test_tokens_without_a_real_signature_are_refused(front: Front, issuer: Issuer) -> None:
    """No algorithm, a shared secret made of the public key, a changed body, or nothing that looks like a token."""
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "a", "exp": time.time() + 60, "scope": "mcp", "org": "acme"}
    good = issuer.token()["authorization"]
    head, _, tail = good.rpartition(".")
    for token in (
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims, issuer._public("r1")["n"], algorithm="HS256", headers={"kid": "r1"}),
        jwt.encode(claims, "x" * 40, algorithm="HS256", headers={"kid": "o"}),
        head.removeprefix("Bearer ") + "." + ("A" * len(tail)),
        "a.b.c",
        "x" * 20_000,
    ):
        assert front.modern("server/discover", authorization=f"Bearer {token}").status_code == 401, token[:40]


def test_a_token_without_the_scope_is_403(front: Front, issuer: Issuer) -> None:
    """With the scope that is missing."""
    answer = front.modern("server/discover", **issuer.token(scope="other"))
    assert answer.status_code == 403
    said = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in said
    assert 'scope="mcp"' in said


def test_the_resource_says_who_gives_out_tokens(front: Front, issuer: Issuer) -> None:
    """The document is open to all, under both of its paths."""
    for path in ("", "/mcp"):
        document = front.client.get("/.well-known/oauth-protected-resource" + path).json()
        assert document["resource"] == front.url
        assert document["authorization_servers"] == [issuer.url]
        assert document["scopes_supported"] == ["mcp"]


def test_users_of_one_tenant_do_not_share_sessions(front: Front, issuer: Issuer) -> None:
    """They share a store; a session belongs to who opened it."""
    ann, bob = issuer.token(), issuer.token(sub="bob")
    session = front.session(**ann)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert front.post(ping, mcp_session_id=session.id, **bob).status_code == 404
    assert front.post(ping, mcp_session_id=session.id, **issuer.token(exp=time.time() + 99)).status_code == 200


def test_users_of_one_tenant_do_not_share_servers(front: Front, issuer: Issuer) -> None:
    """Nobody gets into another user's conversation by its name, nor is asked what a server asks another user."""

    def pid(name: str | None, **token: str) -> str:
        meta = {"dev.crp/conversation": name} if name else None
        return front.modern("tools/call", {"name": "pid", "arguments": {}}, meta=meta, **token).text

    ann, bob = issuer.token(), issuer.token(sub="bob")
    assert pid("one", **ann) == pid("one", **ann)
    assert len({pid(name, **user) for name in ("one", None) for user in (ann, bob)}) == 4


def test_the_issuer_is_asked_seldom(front: Front, issuer: Issuer) -> None:
    """However many tokens with unknown keys come."""
    for _ in range(50):
        assert front.modern("server/discover", **issuer.token(kid="nobody")).status_code == 401
    assert issuer.asked.count("/realm/keys") <= 2


def test_without_the_issuer_nobody_comes_in(tmp_path: Path, issuer: Issuer) -> None:
    """503: whether a token is good cannot be known. The public address is what clients are told."""
    oauth = {"issuer": "http://127.0.0.1:9/none", "audience": AUDIENCE}
    section = {"oauth": oauth, "public_url": "https://crp.example/"}
    with Front(tmp_path / "store", "--config", config(tmp_path, {"fixture": fixture()}, section)) as front:
        assert front.post(initialize(), **issuer.token()).status_code == 503
        told = front.post(initialize()).headers["www-authenticate"]
        assert told == 'Bearer resource_metadata="https://crp.example/.well-known/oauth-protected-resource/mcp"'
