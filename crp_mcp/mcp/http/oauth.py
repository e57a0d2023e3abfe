"""An OAuth resource server: access tokens of one issuer, checked with the keys it publishes.

Nothing is fetched before the first token comes; what is fetched is kept, and asked for again only so often.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt

from crp_mcp.config.http import TENANT, OAuthServer
from crp_mcp.log import log

from .auth import bearer, challenge
from .guard import is_safe
from .request import Refusal
from .site import Principal

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with published keys. Anything with a shared secret, and none at all, is refused."""
METADATA_PATH = "/.well-known/oauth-protected-resource"
LONGEST_TOKEN = 16 * 1024
FRESH_SECONDS = 600.0
AGAIN_SECONDS = 30.0
"""The issuer is asked no more often than this, whatever tokens come."""
STALE_SECONDS = 86_400.0
"""So long keys are used while the issuer cannot be reached."""
FETCH_SECONDS = 10.0
LARGEST_DOCUMENT = 1024 * 1024
LEEWAY = 30


class ResourceServer:
    """Checks tokens. `path`: where MCP is spoken; `public_url`: how clients reach us, None: as they name us."""

    def __init__(self, server: OAuthServer, path: str, public_url: str | None, keys: Keys) -> None:
        self._server = server
        self._path = path
        self._public_url = public_url
        self._keys = keys

    async def check(self, headers: Mapping[str, str]) -> Principal:
        token = bearer(headers)
        if token is None:
            raise self._challenge(headers, "This needs a bearer token (header Authorization).")
        claims = await self._claims(headers, token)
        missing = [scope for scope in self._server.scopes if scope not in _scopes(claims)]
        if missing:
            text = f"The token lacks the scope {' '.join(missing)}."
            raise self._challenge(headers, text, error="insufficient_scope", status=403)
        tenant = claims.get(self._server.tenant_claim)
        if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
            raise self._challenge(headers, "The token does not say whose it is.", error="invalid_token")
        subject = claims.get("sub")
        return Principal(tenant, subject if isinstance(subject, str) else "")

    async def _claims(self, headers: Mapping[str, str], token: str) -> dict[str, Any]:
        if len(token) > LONGEST_TOKEN:
            raise self._challenge(headers, "The token is too long.", error="invalid_token")
        try:
            head = jwt.get_unverified_header(token)
            if head.get("alg") not in ALGORITHMS:
                raise jwt.InvalidAlgorithmError
            key = await self._keys.get(head.get("kid"), head["alg"])
            if key is None:
                raise jwt.InvalidKeyError
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[head["alg"]],
                audience=self._server.audience,
                issuer=self._server.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise self._challenge(headers, "The token has expired.", error="invalid_token") from None
        except (jwt.PyJWTError, ValueError, TypeError):
            raise self._challenge(headers, "The token is not valid here.", error="invalid_token") from None
        return claims

    def _challenge(self, headers: Mapping[str, str], text: str, *, error: str = "", status: int = 401) -> Refusal:
        more = {"resource_metadata": self._base(headers) + METADATA_PATH + self._path}
        if self._server.scopes:
            more["scope"] = " ".join(self._server.scopes)
        return challenge(text, error=error, status=status, **more)

    def metadata(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """What clients need to know to get a token (RFC 9728)."""
        document: dict[str, Any] = {
            "resource": self._base(headers) + self._path,
            "authorization_servers": [self._server.issuer],
            "bearer_methods_supported": ["header"],
        }
        return {**document, "scopes_supported": list(self._server.scopes)} if self._server.scopes else document

    def _base(self, headers: Mapping[str, str]) -> str:
        host = "".join(c for c in headers.get("host", "localhost") if c.isalnum() or c in ".-:[]_")
        return self._public_url or f"http://{host}"


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    given = claims.get("scope", claims.get("scp", ""))
    return given.split() if isinstance(given, str) else [str(one) for one in given] if isinstance(given, list) else []


class Keys:
    """The issuer's keys, by their ids. `clock` gives seconds."""

    def __init__(self, server: OAuthServer, clock: Callable[[], float]) -> None:
        self._server = server
        self._clock = clock
        self._keys: list[dict[str, Any]] = []
        self._fetched_at = float("-inf")
        self._asked_at = float("-inf")
        self._lock = asyncio.Lock()

    async def get(self, ident: object, algorithm: str) -> jwt.PyJWK | None:
        """The key of that id. Raises Refusal where the issuer cannot be asked and nothing it said is known."""
        age = self._clock() - self._fetched_at
        found = self._find(ident, algorithm)
        if found is None or age > FRESH_SECONDS:
            await self._renew()
            found = self._find(ident, algorithm)
        if self._clock() - self._fetched_at > STALE_SECONDS:
            raise Refusal(503, "The issuer's keys cannot be had at present.", headers={"retry-after": "30"})
        return found

    def _find(self, ident: object, algorithm: str) -> jwt.PyJWK | None:
        fitting = [one for one in self._keys if _fits(one, algorithm) and ident in (None, one.get("kid"))]
        # A token that does not say which key it is meant for can only mean the one there is.
        return jwt.PyJWK(fitting[0], algorithm) if len(fitting) == 1 or (fitting and ident is not None) else None

    async def _renew(self) -> None:
        """Ask the issuer, once for all who wait, and not too often."""
        async with self._lock:
            if self._clock() - self._asked_at < AGAIN_SECONDS:
                return
            self._asked_at = self._clock()
            try:
                async with httpx2.AsyncClient(timeout=FETCH_SECONDS, follow_redirects=False) as client:
                    url = self._server.jwks_url or await self._discover(client)
                    document = await _document(client, url)
            except (httpx2.HTTPError, ValueError, OSError) as error:
                log("warning", "issuer_unreachable", reason=str(error)[:200])
                return
            given = document.get("keys")
            self._keys = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
            self._fetched_at = self._clock()

    async def _discover(self, client: httpx2.AsyncClient) -> str:
        """Where the keys are, from the issuer's metadata. Raises ValueError."""
        parts = urlsplit(self._server.issuer)
        base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        for url in (
            f"{base}/.well-known/oauth-authorization-server{path}",
            f"{base}/.well-known/openid-configuration{path}",
            f"{base}{path}/.well-known/openid-configuration",
        ):
            try:
                document = await _document(client, url)
            except (httpx2.HTTPStatusError, ValueError):
                continue
            if document.get("issuer") != self._server.issuer:
                raise ValueError("the issuer's metadata names another issuer")
            where = document.get("jwks_uri")
            if isinstance(where, str) and is_safe(where):
                return where
        raise ValueError("the issuer publishes no metadata that names its keys")


async def _document(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    async with client.stream("GET", url, headers={"accept": "application/json"}) as answer:
        answer.raise_for_status()
        body = b""
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > LARGEST_DOCUMENT:
                raise ValueError("the issuer's document is too long")
    value = json.loads(body)
    if not isinstance(value, dict):
        raise ValueError("the issuer's document is no object")
    return value


_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    """Whether a published key is one for such signatures."""
    return (
        key.get("kty") == _KINDS[algorithm[:2]]
        and key.get("alg") in (None, algorithm)
        and key.get("use") in (None, "sig")
    )
