"""What the parts of the HTTP front share: who comes in, whose store and worker that means, and how a hub is opened."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from crp_mcp.core.nameless import nameless
from crp_mcp.core.wire.frame import Piece
from crp_mcp.errors import CrpError, NotFound, Refused
from crp_mcp.log import log
from crp_mcp.mcp.hub import Hub
from crp_mcp.mcp.shared import SharedServers
from crp_mcp.mcp.spec import PassThrough, RemoteSpec
from crp_mcp.mcp.upstream import Means
from crp_mcp.proof.reasons import Reason

from .metrics import Metrics
from .request import Refusal

if TYPE_CHECKING:
    from crp_mcp.config.http import Limits
    from crp_mcp.core.wire.proxy import Proxy
    from crp_mcp.mcp.reaper import Reaper
    from crp_mcp.mcp.spec import ServerSpec
    from crp_mcp.mcp.spool import Spool
    from crp_mcp.relay.ports import RelayPort


LINGER_SECONDS = 60.0
"""How long shared servers are kept for who comes next."""
Whose = tuple[str, tuple[tuple[str, str], ...]]
"""A tenant, and the credentials handed on to servers."""
_REASONS = frozenset(reason.value for reason in Reason)


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


class Pools:
    """Shared connections (`shared: true`): one set for each tenant and credential that is handed on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: dict[Whose, tuple[SharedServers, set[object], float]] = {}

    def join(self, whose: Whose, means: Means, member: object) -> SharedServers:
        """The connections of these credentials, for one more hub."""
        known = self._open.get(whose)
        pool = known[0] if known else SharedServers(means)
        members = known[1] if known else set()
        members.add(member)
        self._open[whose] = pool, members, self._clock()
        return pool

    def leave(self, whose: Whose, member: object) -> None:
        """That hub has ended."""
        pool, members, _ = self._open[whose]
        members.discard(member)
        self._open[whose] = pool, members, self._clock()

    async def sweep(self) -> None:
        """Close what nobody has used for a while."""
        oldest = self._clock() - LINGER_SECONDS
        for whose, (pool, members, used_at) in list(self._open.items()):
            if not members and used_at < oldest:
                del self._open[whose]
                await pool.close()

    async def close(self) -> None:
        pools, self._open = [pool for pool, _, _ in self._open.values()], {}
        await asyncio.gather(*(pool.close() for pool in pools))


class Site:
    """What stays the same as long as the process runs. `core` makes the core for one hub."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        core: Callable[[RelayPort], Proxy],
        tenancy: Tenancy,
        reaper: Reaper,
        limits: Limits,
        clock: Callable[[], float],
    ) -> None:
        self.tenancy = tenancy
        self.limits = limits
        self.clock = clock
        self.metrics = Metrics()
        self._specs = {spec.name: spec for spec in specs}
        self._core = core
        self._reaper = reaper
        self._pools = Pools(clock)
        self._shares = any(spec.ways.shared for spec in specs)
        remote = [spec.auth for spec in specs if isinstance(spec, RemoteSpec)]
        self._handed_on = sorted({auth.inbound.lower() for auth in remote if isinstance(auth, PassThrough)})

    def tenant(self, name: str) -> Tenant:
        """Raises Refusal where too many are in use."""
        try:
            return self.tenancy.get(name)
        except Refused as error:
            self.metrics.refused["tenants"] += 1
            raise Refusal(503, str(error), headers={"retry-after": "30"}) from None
        except OSError as error:
            log("error", "tenant_not_opened", reason=error.strerror)
            raise Refusal(503, "Results cannot be stored at present.", headers={"retry-after": "30"}) from None

    def handed_on(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Those headers of a request that a server's configuration wants handed on, and no others."""
        return {name: headers[name] for name in self._handed_on if name in headers}

    def lease(self, tenant: Tenant, conversation: Callable[[], str], inbound: Mapping[str, str]) -> Lease:
        """What a new hub needs, held until it is released."""
        return Lease(self, tenant, conversation, inbound)

    def open_hub(self, lease: Lease, to_client: Callable[[tuple[Piece, ...]], None]) -> Hub:
        tenant, relay = lease.tenant, lease.tenant.relay(lease.conversation)
        shared = None
        if self._shares:
            means = Means(self._reaper, tenant.spool, lambda: lease.inbound)
            shared = self._pools.join(lease.whose, means, lease)
        hub = Hub(self._core(relay), self._specs, relay, tenant.spool, self._reaper, to_client, shared=shared)
        hub.inbound = lease.inbound
        # Clients of a service do not expect its first answer to be slower than the rest.
        relay.warm()
        return hub

    def release(self, lease: Lease) -> None:
        if self._shares:
            self._pools.leave(lease.whose, lease)

    async def receipt(self, tenant: str, digest: str) -> bytes:
        """A receipt of a tenant's as it was signed. Raises Refusal."""
        relay = self.tenant(tenant).relay(nobodys)
        try:
            found = await relay.read_resource(f"receipt://{digest}", {}, False)
        except NotFound:
            raise Refusal(404, "There is no such receipt here.") from None
        except CrpError as error:
            if error.code in _REASONS:
                raise Refusal(410, f"The receipt is not valid any more ({error.code}).") from None
            log("error", "receipt_not_read", code=error.code)
            raise Refusal(503, "The store cannot be asked at present.", headers={"retry-after": "5"}) from None
        return str(found["contents"][0]["text"]).encode()

    async def sweep(self) -> None:
        await self._pools.sweep()
        await self.tenancy.sweep()

    async def close(self) -> None:
        await self._pools.close()
        await self.tenancy.close()


class Lease:
    """A hub's claim on its tenant's store, worker and shared servers."""

    def __init__(self, site: Site, tenant: Tenant, conversation: Callable[[], str], inbound: Mapping[str, str]) -> None:
        self._site = site
        self.tenant = tenant
        self.conversation = conversation
        self.inbound = inbound
        self.whose: Whose = (tenant.name, tuple(inbound.items()))
        tenant.hold()

    def open_hub(self, to_client: Callable[[tuple[Piece, ...]], None]) -> Hub:
        return self._site.open_hub(self, to_client)

    def release(self) -> None:
        """The hub has ended."""
        self._site.release(self)
        self.tenant.let_go()


def nobodys() -> str:
    """A conversation for requests that name none: what is named only by reference is not found from there."""
    return nameless(secrets.token_bytes(12))
