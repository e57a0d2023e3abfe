"""Who we are to a server: configured headers, a client's own credential handed on, or a token of a login."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crp_mcp.mcp.spec import PassThrough, RemoteSpec

if TYPE_CHECKING:
    import httpx2


class Credentials:
    def __init__(self, spec: RemoteSpec, client: httpx2.AsyncClient) -> None:
        self._spec = spec
        self._static = {name.lower(): value for name, value in spec.headers.items()}

    async def headers(self, inbound: Mapping[str, str]) -> dict[str, str]:
        """Headers for one request. `inbound`: those of the request it is made for."""
        auth = self._spec.auth
        if isinstance(auth, PassThrough):
            value = inbound.get(auth.inbound.lower())
            return {**self._static, "authorization": value} if value else dict(self._static)
        return dict(self._static)

    async def renew(self, used: Mapping[str, str]) -> bool:
        """These headers were refused. Whether there are better ones now."""
        return False

    def check(self, status: int, headers: Mapping[str, str]) -> None:
        """Raises Fault where the server does not accept who we are."""
