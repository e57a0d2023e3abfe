"""The `crp.http` section of a config file: who may come in over HTTP, under which names, and how much they may take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from .expand import Expander
from .fields import Field

_KEYS = ("tokens", "token_file", "oauth", "hosts", "origins", "public_url", "limits")
_OAUTH_KEYS = ("issuer", "audience", "scopes", "tenant_claim", "jwks_url", "clearances")
_TENANT = re.compile(r"[^\x00-\x1f\x7f]{1,128}")
_LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken. Numbers are for the whole process unless a name says `tenant`."""

    body_bytes: int = 4 * 1024 * 1024
    header_bytes: int = 32 * 1024
    connections: int = 2000
    sessions: int = 1000
    tenant_sessions: int = 250
    requests: int = 1000
    tenant_requests: int = 250
    streams: int = 1000
    """Streams that stay open for what belongs to no request."""
    tenant_streams: int = 250
    tenants: int = 64
    """Tenants whose workers run at the same time."""
    session_idle: int = 1800
    """Seconds after which a session that nobody uses is closed."""
    upstream_idle: int = 600
    """The same for the servers behind clients that have no session."""
    header_seconds: int = 15
    """A connection must have sent the headers of its request within this time."""
    body_seconds: int = 30
    """A body must go on within this time, and be complete within four times as much."""
    stall_seconds: int = 60
    """A client that takes nothing of its answer for so long is cut off."""
    drain: int = 20
    """Seconds that running requests get when the process is told to end."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token, and who comes with it."""

    token: str = field(repr=False)
    tenant: str = ""
    clearance: str | None = None


@dataclass(frozen=True, slots=True)
class OAuthServer:
    """Whose tokens are taken, as an OAuth resource server."""

    issuer: str
    audience: str
    scopes: tuple[str, ...] = ()
    """All of these a token must have."""
    tenant_claim: str = "sub"
    jwks_url: str | None = None
    """None: found through the issuer's metadata."""
    clearances: Mapping[str, str] = field(default_factory=dict)
    """The highest label a tenant may see, by tenant; `*` for all others."""


@dataclass(frozen=True, slots=True)
class HttpConfig:
    tokens: tuple[Token, ...] = ()
    token_file: Path | None = None
    oauth: OAuthServer | None = None
    hosts: tuple[str, ...] = ()
    """Values of `Host` that are taken besides our own address; `NAME:*` for any port."""
    origins: tuple[str, ...] = ()
    public_url: str | None = None
    """Where clients reach us, if a proxy stands before us."""
    limits: Limits = Limits()

    @property
    def authenticates(self) -> bool:
        return bool(self.tokens or self.token_file or self.oauth)


def read_http(one: Field, path: Path, expander: Expander) -> HttpConfig:
    """The section. Raises ConfigError."""
    given = one.mapping(_KEYS)
    tokens = tuple(_token(entry, expander) for entry in given["tokens"].items()) if "tokens" in given else ()
    if "tokens" in given and not tokens:
        raise given["tokens"].error("is empty: name at least one token, or leave it out")
    if len({token.token for token in tokens}) < len(tokens):
        raise given["tokens"].error("holds the same token twice")
    url = given["public_url"].text(expander, empty=False).rstrip("/") if "public_url" in given else None
    if url is not None and not url.startswith(("https://", "http://")):
        raise given["public_url"].error("must begin with https:// (or http://)")
    return HttpConfig(
        tokens,
        given["token_file"].path_under(path.parent, expander) if "token_file" in given else None,
        _oauth(given["oauth"], expander) if "oauth" in given else None,
        given["hosts"].names() if "hosts" in given else (),
        given["origins"].names() if "origins" in given else (),
        url,
        _limits(given["limits"]) if "limits" in given else Limits(),
    )


def _token(one: Field, expander: Expander) -> Token:
    given = one.mapping(("token", "tenant", "clearance"))
    for key in ("token", "tenant"):
        if key not in given:
            raise one.error(f"needs `{key}`")
    text = given["token"].text(expander, empty=False)
    if len(text) < _SHORTEST_TOKEN or not text.isascii() or any(c.isspace() for c in text):
        raise given["token"].error(f"must have {_SHORTEST_TOKEN} or more visible ASCII characters: it can be guessed")
    tenant = given["tenant"].text(expander, empty=False)
    if not _TENANT.fullmatch(tenant):
        raise given["tenant"].error("must be 1 to 128 printable characters")
    return Token(text, tenant, _label(given["clearance"]) if "clearance" in given else None)


def _label(one: Field) -> str:
    if not isinstance(one.value, str) or not _LABEL.fullmatch(one.value):
        raise one.error("is not a label: upper-case letters, digits and `_`, as in the tool registry's `labels`")
    return one.value


def _oauth(one: Field, expander: Expander) -> OAuthServer:
    given = one.mapping(_OAUTH_KEYS)
    for key in ("issuer", "audience"):
        if key not in given:
            raise one.error(f"needs `{key}`")
    clearances = given["clearances"].mapping() if "clearances" in given else {}
    return OAuthServer(
        given["issuer"].text(expander, empty=False),
        given["audience"].text(expander, empty=False),
        given["scopes"].names() if "scopes" in given else (),
        given["tenant_claim"].text(expander, empty=False) if "tenant_claim" in given else "sub",
        given["jwks_url"].text(expander, empty=False) if "jwks_url" in given else None,
        {name: _label(label) for name, label in clearances.items()},
    )


def _limits(one: Field) -> Limits:
    found = {}
    for key, member in one.mapping(tuple(each.name for each in fields(Limits))).items():
        if isinstance(member.value, bool) or not isinstance(member.value, int) or member.value < 1:
            raise member.error("must be a whole number above 0")
        found[key] = member.value
    return Limits(**found)
