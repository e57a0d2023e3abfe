"""The composition root of the HTTP front: which tenants there are, who may come in, and what serves them."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from crp_mcp.config.http import HttpConfig
from crp_mcp.errors import ConfigError
from crp_mcp.log import log
from crp_mcp.mcp.front import core_of
from crp_mcp.mcp.http.answers import Answers
from crp_mcp.mcp.http.app import PATH, App
from crp_mcp.mcp.http.auth import Anyone, Authenticator, Tokens, read_tokens
from crp_mcp.mcp.http.guard import Names, is_loopback, is_safe, own_names
from crp_mcp.mcp.http.server import bind, run_server
from crp_mcp.mcp.http.site import Site
from crp_mcp.mcp.reaper import Reaper
from crp_mcp.mcp.spec import PassThrough, RemoteSpec

from .port import owns_uri
from .tenants import Tenants

if TYPE_CHECKING:
    from crp_mcp.core.wire.proxy import Proxy
    from crp_mcp.mcp.spec import ServerSpec
    from crp_mcp.relay.ports import RelayPort

    from .settings import Settings


class Entry(NamedTuple):
    """Who comes in, and up to which label a tenant sees."""

    authenticator: Authenticator
    clearance: Callable[[str], str | None]


def serve_http(
    address: str,
    specs: Sequence[ServerSpec],
    settings: Settings,
    config: HttpConfig,
    *,
    in_place: bool,
    tools: bool,
) -> int:
    """Serve MCP over HTTP until a signal comes; the exit code of the process. Raises ConfigError."""
    host, port = split_address(address)
    check(host, address, specs, config)
    # Before anybody is told that we listen: all that the configuration names is read here.
    entry = Entry(authenticator_of(config), clearances_of(config))
    listener = bind(host, port)
    name, number = listener.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else name
    log("info", "listening", url=f"http://{shown}:{number}{PATH}", authentication=_kind(config))
    if not is_loopback(host) and not (config.public_url or "").startswith("https://"):
        log(
            "warning",
            "plain_http",
            reason="tokens and results can be read on the way: put TLS before it (docs/http.md)",
        )
    return asyncio.run(_serve(host, listener, entry, specs, settings, config, in_place=in_place, tools=tools))


async def _serve(
    host: str,
    listener: socket.socket,
    entry: Entry,
    specs: Sequence[ServerSpec],
    settings: Settings,
    config: HttpConfig,
    *,
    in_place: bool,
    tools: bool,
) -> int:
    limits, reaper = config.limits, Reaper()
    settings = settings._replace(host_key="")
    tenants = Tenants(
        settings, tools=tools, most=limits.tenants, alone=not config.authenticates, clearances=entry.clearance
    )

    def core(relay: RelayPort) -> Proxy:
        return core_of(specs, relay, in_place)

    site = Site(specs, core, tenants, reaper, limits, time.monotonic)
    app = App(
        site,
        entry.authenticator,
        Names(config.hosts, config.origins, own_names(host)),
        Answers(owns_uri if tools else lambda uri: False),
        open_to_all=not config.authenticates,
        metadata=getattr(entry.authenticator, "metadata", None),
    )
    try:
        return await run_server(app, listener, limits)
    finally:
        reaper.close()


def split_address(address: str) -> tuple[str, int]:
    """`HOST:PORT`, `[V6]:PORT` or `:PORT` (loopback). Raises ConfigError."""
    host, colon, port = address.rpartition(":")
    if not colon or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise ConfigError(f"--http {address!r} is not HOST:PORT, such as 127.0.0.1:8080")
    name = host.strip("[]")
    # One address, and the one that clients try first under this name.
    return "127.0.0.1" if name.lower() in ("", "localhost") else name, int(port)


def check(host: str, address: str, specs: Sequence[ServerSpec], config: HttpConfig) -> None:
    """Refuse what would let strangers in, or our own tokens out. Raises ConfigError."""
    if not is_loopback(host) and not config.authenticates:
        raise ConfigError(
            f"--http {address}: others can reach this address, and nothing says who may come in. Add "
            "`crp.http.tokens`, `crp.http.token_file` or `crp.http.oauth` to the config file, or listen on 127.0.0.1"
        )
    for url in (config.oauth.issuer, config.oauth.jwks_url) if config.oauth else ():
        if url is not None and not is_safe(url):
            raise ConfigError(f"`crp.http.oauth`: {url} can be changed on the way; it must begin with https://")
    for spec in specs:
        auth = spec.auth if isinstance(spec, RemoteSpec) else None
        if isinstance(auth, PassThrough) and auth.inbound.lower() == "authorization" and config.authenticates:
            raise ConfigError(
                f"server {spec.name!r}: `auth.passThrough` hands the client's Authorization on, which here is the "
                "token for crp-mcp itself; name another header, such as X-Upstream-Authorization"
            )


def authenticator_of(config: HttpConfig) -> Authenticator:
    """Who is asked for the principal of a request. Raises ConfigError."""
    if config.oauth is not None:
        if config.tokens or config.token_file:
            raise ConfigError("`crp.http`: give tokens or `oauth`, not both")
        from crp_mcp.mcp.http.oauth import Keys, ResourceServer

        return ResourceServer(config.oauth, PATH, config.public_url, Keys(config.oauth, time.monotonic))
    if config.authenticates:
        return Tokens(config.tokens, config.token_file)
    return Anyone()


def clearances_of(config: HttpConfig) -> Callable[[str], str | None]:
    """The label up to which a tenant sees. Raises ConfigError where the configuration says two things."""
    if config.oauth is not None:
        known = dict(config.oauth.clearances)
        return lambda name: known.get(name, known.get("*"))
    found: dict[str, str | None] = {}
    for token in (*config.tokens, *(read_tokens(config.token_file) if config.token_file else ())):
        if found.setdefault(token.tenant, token.clearance) != token.clearance:
            raise ConfigError(
                f"`crp.http`: tokens of the tenant {token.tenant!r} have different clearances; "
                "a tenant has one store and one clearance, so give them different tenants"
            )
    return found.get


def _kind(config: HttpConfig) -> str:
    return "oauth" if config.oauth else "tokens" if config.authenticates else "none (loopback)"
