"""What is needed to reach one server: over stdio, or over HTTP. Filled by the application from its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from crp_mcp.core.wire.commands import ServerRules


class Ways(NamedTuple):
    """How a server is treated, however it is reached. Named tuples here are made before anything else: see `start`."""

    prefix: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    era: str = "auto"
    timeout: float | None = None
    """Seconds a request, or the handshake, may take without a sign of progress; None: the defaults."""
    ceiling: float | None = None
    shared: bool = False
    """Over stdio there is one host, so nothing is shared whatever this says."""

    def rules(self, name: str) -> ServerRules:
        """What the core decides by."""
        from crp_mcp.core.wire.commands import ServerRules

        usual = ServerRules(name)
        return ServerRules(
            name,
            prefix=self.prefix,
            allow=self.allow,
            deny=self.deny,
            era=self.era,
            idle=usual.idle if self.timeout is None else self.timeout,
            handshake=usual.handshake if self.timeout is None else self.timeout,
            ceiling=usual.ceiling if self.ceiling is None else self.ceiling,
        )


class UpstreamSpec(NamedTuple):
    """One server over stdio."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    """Its whole environment; None: ours as it is."""
    cwd: str | None = None
    ways: Ways = Ways()

    def __repr__(self) -> str:
        # Arguments and environment may hold secrets.
        return f"UpstreamSpec({self.name!r})"


class OAuth(NamedTuple):
    """How to get a token for a server. What is empty is found out, or asked for, at login."""

    scopes: tuple[str, ...] = ()
    client_id: str | None = None
    client_secret: str | None = None
    client_metadata_url: str | None = None
    """Where our client id metadata document is published, for authorization servers that read one."""
    redirect_port: int | None = None
    """Port of the listener on the loopback address; None: any that is free."""
    grant: str = "authorization_code"
    """Or `client_credentials`: no person is asked."""
    issuer: str | None = None
    """The authorization server that client id and secret belong to; they are sent to no other."""

    def __repr__(self) -> str:
        return "OAuth()"


class PassThrough(NamedTuple):
    """The client's own credential is handed on: the value of its header `inbound` becomes `Authorization` upstream."""

    inbound: str = "Authorization"


class RemoteSpec(NamedTuple):
    """One server over HTTP."""

    name: str
    url: str
    transport: str = "auto"
    """`http` (streamable HTTP), `sse` (the older pair of stream and endpoint), or `auto`: the first it answers."""
    headers: Mapping[str, str] = MappingProxyType({})
    auth: OAuth | PassThrough | None = None
    """None: tokens of an earlier login are used if there are any."""
    tokens: str = ""
    """The folder where tokens are kept."""
    account: str = ""
    """Whose token of this URL is used: the server's name in a config file, so that one URL can have several."""
    login: str = "crp-mcp login --url URL"
    """The command that logs in to it."""
    ways: Ways = Ways()

    def __repr__(self) -> str:
        # The URL may hold a key, headers most likely do.
        return f"RemoteSpec({self.name!r})"


ServerSpec = UpstreamSpec | RemoteSpec
