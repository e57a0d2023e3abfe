"""An OAuth resource server: access tokens of one issuer, checked with its published keys."""

from __future__ import annotations

from collections.abc import Mapping

from crp_mcp.config.http import OAuthServer

from .auth import bearer, challenge
from .site import Principal


class ResourceServer:
    def __init__(self, server: OAuthServer, public_url: str | None) -> None:
        self._server = server
        self._public_url = public_url

    async def check(self, headers: Mapping[str, str]) -> Principal:
        if bearer(headers) is None:
            raise challenge("This needs a bearer token (header Authorization).")
        raise challenge("No token can be checked.", error="invalid_token")
