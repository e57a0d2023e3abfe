"""What the parts of the HTTP front share: who comes in, whose store and worker that means, and how a hub is opened."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from crp_mcp.core.wire.frame import Piece
from crp_mcp.mcp.hub import Hub
from crp_mcp.mcp.spec import PassThrough, RemoteSpec

if TYPE_CHECKING:
    from crp_mcp.config.http import Limits
    from crp_mcp.core.wire.proxy import Proxy
    from crp_mcp.mcp.reaper import Reaper
    from crp_mcp.mcp.spec import ServerSpec
    from crp_mcp.mcp.spool import Spool
    from crp_mcp.relay.ports import RelayPort

    from .metrics import Metrics


class Principal(NamedTuple):
    """Who a request comes from, as far as authentication says."""

    tenant: str
    subject: str = ""
    """Tells the users of one tenant apart; "" where nothing does."""


class Tenant(Protocol):
    """One tenant's store and worker."""

    name: str
    spool: Spool

    def relay(self, conversation: Callable[[], str]) -> RelayPort:
        """The relay for one more hub; `conversation` names that of requests which name none."""

    def hold(self) -> None:
        """A hub uses it: it must not be closed."""

    def let_go(self) -> None:
        """That hub has ended."""


class Tenancy(Protocol):
    """All tenants."""

    def get(self, name: str) -> Tenant:
        """Raises Refused where too many run at the same time."""

    async def sweep(self) -> None:
        """Close what nobody has used for a while."""

    async def close(self) -> None:
        """Close all of them."""

    def health(self) -> str:
        """ "" if results can be stored, else why not."""

    @property
    def open_count(self) -> int:
        """How many run."""


class Site(NamedTuple):
    """What stays the same as long as the process runs."""

    specs: Mapping[str, ServerSpec]
    core: Callable[[RelayPort], Proxy]
    tenancy: Tenancy
    reaper: Reaper
    limits: Limits
    metrics: Metrics

    def hub_for(
        self, tenant: Tenant, conversation: Callable[[], str], inbound: Mapping[str, str]
    ) -> Callable[[Callable[[tuple[Piece, ...]], None]], Hub]:
        """Opens the servers of one conversation."""

        def open_hub(to_client: Callable[[tuple[Piece, ...]], None]) -> Hub:
            relay = tenant.relay(conversation)
            hub = Hub(self.core(relay), self.specs, relay, tenant.spool, self.reaper, to_client)
            hub.inbound = inbound
            return hub

        return open_hub

    def handed_on(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Those headers of a request that a server's configuration wants handed on, and no others."""
        names = {spec.auth.inbound.lower() for spec in self.remote() if isinstance(spec.auth, PassThrough)}
        return {name: headers[name] for name in sorted(names) if name in headers}

    def remote(self) -> Sequence[RemoteSpec]:
        return [spec for spec in self.specs.values() if isinstance(spec, RemoteSpec)]


def nameless() -> str:
    """A conversation that nothing else belongs to: what is named only by reference is not found from there."""
    return "http_" + secrets.token_hex(12)
