"""How a config file says that a server is reached over HTTP: address, transport, headers, credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .expand import Expander
from .fields import Field
from .jsonc import decode

TRANSPORTS = {"http": "http", "streamable-http": "http", "streamableHttp": "http", "sse": "sse"}
_OAUTH_KEYS = {
    "scopes": "scopes",
    "scope": "scopes",
    "clientid": "client_id",
    "clientsecret": "client_secret",
    "clientmetadataurl": "client_metadata_url",
    "redirectport": "redirect_port",
    "callbackport": "redirect_port",
    "grant": "grant",
    "issuer": "issuer",
}
"""Our names without their underscores; with them those of Claude Code (`callbackPort`) and Cursor (`CLIENT_ID`)."""
GRANTS = ("authorization_code", "client_credentials")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_RESERVED = ("content-length", "content-type", "host", "transfer-encoding", "connection", "mcp-session-id")


@dataclass(frozen=True, slots=True)
class OAuthConfig:
    """How tokens for a server are got. Secrets are kept out of the repr."""

    scopes: tuple[str, ...] = ()
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    client_metadata_url: str | None = None
    redirect_port: int | None = None
    grant: str = "authorization_code"
    issuer: str | None = None
    """The authorization server that client id and secret belong to; they are sent to no other."""


def read_remote(keys: Mapping[str, Field], folder: Path, expander: Expander) -> dict[str, Any]:
    """What `url` and its neighbours say, as members of a ServerConfig."""
    headers = _headers(keys, folder, expander)
    found: dict[str, Any] = {
        "url": keys["url"].url(expander),
        "headers": headers,
        "transport": _transport(keys),
    }
    for key in ("auth", "oauth"):
        if key in keys and keys[key].value is not None:
            found |= _auth(keys[key], headers, expander)
    return found


def _transport(keys: Mapping[str, Field]) -> str:
    for key in ("type", "transport"):
        kind = keys[key].value if key in keys else None
        if kind is None:
            continue
        if not isinstance(kind, str) or kind not in TRANSPORTS:
            raise keys[key].error("of a server with a `url` must be http, streamable-http or sse")
        return TRANSPORTS[kind]
    return "auto"


def _headers(keys: Mapping[str, Field], folder: Path, expander: Expander) -> dict[str, str]:
    """Those of `headersFile`, those of `headers` over them."""
    found: dict[str, tuple[str, str]] = {}
    if "headersFile" in keys:
        where = keys["headersFile"]
        file = where.path_under(folder, expander)
        try:
            text = decode(file.read_bytes(), str(file))
        except OSError as problem:
            raise where.error(f"names {file}, which cannot be read ({problem.strerror})") from None
        for name, value in read_headers(where, text).items():
            found[name.lower()] = name, _checked(where, name, value)
    if "headers" in keys:
        for name, one in keys["headers"].mapping().items():
            found[name.lower()] = name, _checked(one, name, one.text(expander))
    return dict(found.values())


def read_headers(where: Field, text: str) -> dict[str, str]:
    """`Name: value` lines; blank ones and those that begin with `#` are skipped."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise where.error(f"names a file whose line {number} is no `Name: value`")
        found[name.strip()] = value.strip()
    return found


def _checked(where: Field, name: str, value: str) -> str:
    problem = header_problem(name, value)
    if problem:
        raise where.error(problem)
    return value.strip()


def header_problem(name: str, value: str) -> str | None:
    """What is wrong with a header; None if nothing is. Never shows the value."""
    if not _NAME.fullmatch(name):
        return "is not the name of a header"
    if name.lower() in _RESERVED:
        return "is a header that is set by itself; remove it"
    if not _VALUE.fullmatch(value):
        return f"has a value for {name} with line ends or characters beyond ASCII, which headers cannot carry"
    return None


def _auth(one: Field, headers: Mapping[str, str], expander: Expander) -> dict[str, Any]:
    if isinstance(one.value, str):
        one.one_of(("oauth",))
        found: dict[str, Any] = {"oauth": OAuthConfig()}
    elif "passThrough" in one.mapping():
        name = one.mapping(("passThrough",))["passThrough"].text(expander, empty=False)
        if not _NAME.fullmatch(name):
            raise one.member("passThrough").error("is not the name of a header")
        found = {"pass_through": name}
    else:
        found = {"oauth": OAuthConfig(**_oauth(one, expander))}
    if "authorization" in map(str.lower, headers):
        raise one.error("and a header Authorization exclude each other; remove one")
    return found


def _oauth(one: Field, expander: Expander) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, member in one.mapping().items():
        name = _OAUTH_KEYS.get(key.lower().replace("_", ""))
        if key == "type" or member.value is None:
            continue
        if name is None:
            known = ", ".join(dict.fromkeys(_OAUTH_KEYS.values()))
            raise member.error(f"is not a known key; known: {known}, passThrough")
        found[name] = _oauth_value(name, member, expander)
    needed = ("client_id", "client_secret", "issuer")
    if found.get("grant") == "client_credentials" and not all(map(found.get, needed)):
        raise one.error(f"with grant client_credentials needs {', '.join(needed)}")
    return found


def _oauth_value(name: str, member: Field, expander: Expander) -> object:
    if name == "scopes":
        if isinstance(member.value, str):
            return tuple(member.text(expander).split())
        return member.names()
    if name == "redirect_port":
        return member.whole(1, 65_535)
    if name == "grant":
        return member.one_of(GRANTS)
    if name in ("client_metadata_url", "issuer"):
        return member.url(expander)
    return member.text(expander, empty=False)
