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
TENANT = re.compile(r"[^\x00-\x1f\x7f]{1,128}")
TOKEN = re.compile(r"[\x21-\x7e]{16,4096}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_PORT = r"(?::(?:[0-9]{1,5}|\*))?"
_HOST = re.compile(rf"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+){_PORT}")
_ORIGIN = re.compile(rf"null|[A-Za-z][A-Za-z0-9+.-]*://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+){_PORT}")
DAYS = 86_400


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
    return HttpConfig(
        tokens,
        given["token_file"].path_under(path.parent, expander) if "token_file" in given else None,
        _oauth(given["oauth"], expander) if "oauth" in given else None,
        _each(given["hosts"], _HOST, "is no name of a host: write NAME, NAME:PORT or NAME:*")
        if "hosts" in given
        else (),
        _each(given["origins"], _ORIGIN, "is no origin: write https://NAME, without a path")
        if "origins" in given
        else (),
        _public_url(given["public_url"], expander) if "public_url" in given else None,
        _limits(given["limits"]) if "limits" in given else Limits(),
    )


def _token(one: Field, expander: Expander) -> Token:
    given = one.mapping(("token", "tenant", "clearance"))
    for key in ("token", "tenant"):
        if key not in given:
            raise one.error(f"needs `{key}`")
    text = given["token"].text(expander, empty=False)
    if not TOKEN.fullmatch(text):
        raise given["token"].error("must have 16 to 4096 visible ASCII characters: a shorter one can be guessed")
    tenant = given["tenant"].text(expander, empty=False)
    if not TENANT.fullmatch(tenant):
        raise given["tenant"].error("must be 1 to 128 printable characters")
    return Token(text, tenant, given["clearance"].label() if "clearance" in given else None)


def _each(one: Field, form: re.Pattern[str], problem: str) -> tuple[str, ...]:
    """A list of texts of one form."""
    for entry in one.items():
        if not isinstance(entry.value, str) or not form.fullmatch(entry.value):
            raise entry.error(problem)
    return one.names()


def _public_url(one: Field, expander: Expander) -> str:
    url = one.url(expander, "is no address that clients can reach").rstrip("/")
    if "?" in url or "#" in url:
        raise one.error("must be an address alone, without `?` and `#`")
    return url


def _oauth(one: Field, expander: Expander) -> OAuthServer:
    given = one.mapping(_OAUTH_KEYS)
    for key in ("issuer", "audience"):
        if key not in given:
            raise one.error(f"needs `{key}`")
    clearances = given["clearances"].mapping() if "clearances" in given else {}
    return OAuthServer(
        given["issuer"].url(expander),
        given["audience"].text(expander, empty=False),
        _each(given["scopes"], _SCOPE, "is no scope: visible ASCII without quotes") if "scopes" in given else (),
        given["tenant_claim"].text(expander, empty=False) if "tenant_claim" in given else "sub",
        given["jwks_url"].url(expander) if "jwks_url" in given else None,
        {name: label.label() for name, label in clearances.items()},
    )


def _limits(one: Field) -> Limits:
    given = one.mapping(tuple(each.name for each in fields(Limits)))
    return Limits(**{key: member.whole(*_range(key)) for key, member in given.items()})


def _range(limit: str) -> tuple[int, int]:
    """The least and the most that make sense: a request must fit, and something must end some day."""
    if limit.endswith("_bytes"):
        return 1024, (1 << 20 if limit == "header_bytes" else 1 << 30)
    return 1, 30 * DAYS if limit.endswith(("_seconds", "_idle", "drain")) else 1_000_000
