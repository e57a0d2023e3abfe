"""Who we are to a server: configured headers, a client's own credential handed on, or the token of a login."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from crp_mcp.errors import ConfigError
from crp_mcp.log import log
from crp_mcp.mcp.spec import OAuth, PassThrough, RemoteSpec

from .faults import Fault, wanted_scope
from .renewing import Refused, again, renew
from .tokens import Login, TokenFile

UNATTENDED = "client_credentials"


class Credentials:
    """Headers for each request, and what to do where they are refused."""

    def __init__(self, spec: RemoteSpec) -> None:
        self._spec = spec
        self._static = {name.lower(): value for name, value in spec.headers.items()}
        self._file = TokenFile(spec.tokens, spec.url, spec.account)
        self._stamp: object = "not read"
        self._login: Login | None = None
        self._lock = asyncio.Lock()

    @property
    def _logs_in(self) -> bool:
        """Whether a login's token is ours to use here. A configured header is stronger."""
        return bool(self._spec.tokens) and "authorization" not in self._static and not self._passes

    @property
    def _passes(self) -> bool:
        return isinstance(self._spec.auth, PassThrough)

    @property
    def _unattended(self) -> bool:
        return isinstance(self._spec.auth, OAuth) and self._spec.auth.grant == UNATTENDED

    async def headers(self, inbound: Mapping[str, str]) -> dict[str, str]:
        """Headers for one request. `inbound`: those of the request it is made for.

        Raises:
            Fault: a token that is needed cannot be got.
        """
        if isinstance(self._spec.auth, PassThrough):
            value = inbound.get(self._spec.auth.inbound.lower())
            return {**self._static, "authorization": value} if value else dict(self._static)
        login = self._known() if self._logs_in else None
        if self._logs_in and ((login is None and self._unattended) or (login and login.ended(time.time()))):
            login = await self._fresh(login)
        return {**self._static, "authorization": f"Bearer {login.access_token}"} if login else dict(self._static)

    async def renew(self, used: Mapping[str, str]) -> bool:
        """These headers were refused. Whether there are better ones now.

        Raises:
            Fault: see `headers`.
        """
        if not self._logs_in:
            return False
        login = self._known()
        if login is None and not self._unattended:
            return False
        if login is not None and used.get("authorization") != f"Bearer {login.access_token}":
            return True
        fresh = await self._fresh(login)
        return fresh is not None and fresh is not login

    def _known(self) -> Login | None:
        """The login on disk, read again whenever it has changed there."""
        stamp = self._file.stamp()
        if stamp != self._stamp:
            try:
                self._login, self._stamp = self._file.read(), stamp
            except ConfigError as error:
                raise Fault(f"needs a login, and {error}", sent=False) from None
        return self._login

    async def _fresh(self, old: Login | None) -> Login | None:
        """A token in place of one that has ended or was refused: another process's, or one we get now."""
        async with self._lock:
            try:
                held = await self._file.alone()
            except ConfigError as error:
                raise Fault(f"needs a new token, and {error}", sent=False) from None
            try:
                return await self._replaced(old)
            finally:
                self._file.unlock(held)

    async def _replaced(self, old: Login | None) -> Login | None:
        known = self._known()
        if known is not None and (old is None or known.access_token != old.access_token):
            return known
        try:
            fresh = await self._obtain(known)
        except Refused as refusal:
            log("warning", "token_not_renewed", server=self._spec.name, reason=str(refusal))
            return known
        try:
            self._file.write(fresh)
        except ConfigError as error:
            # The token is good all the same; the next process has to get its own.
            log("warning", "token_not_kept", server=self._spec.name, reason=str(error))
            self._login = fresh
            return fresh
        return self._known()

    async def _obtain(self, known: Login | None) -> Login:
        auth = self._spec.auth
        if not self._unattended:
            assert known is not None
            return await renew(known)
        assert isinstance(auth, OAuth)
        if known is not None and known.token_endpoint:
            return await again(known, auth.client_secret or "")
        from importlib import import_module

        # The SDK, which finds the authorization server, takes a second to load.
        login: Any = await asyncio.to_thread(import_module, "crp_mcp.mcp.remote.authorizing")
        found: Login = await login.obtain(self._spec)
        return found

    def check(self, status: int, headers: Mapping[str, str]) -> None:
        """Raises Fault where the server does not accept who we are, or who our client is."""
        scope = wanted_scope(headers)
        lacks = status == 403 and scope is not None
        if status != 401 and not lacks:
            return
        http: dict[str, Any] = {"status": status}
        if self._passes and headers.get("www-authenticate"):
            http["wwwAuthenticate"] = headers["www-authenticate"]
        raise Fault(self._advice(scope if lacks else None, status), http=http, sent=False)

    def _advice(self, scope: str | None, status: int) -> str:
        said = f"(HTTP {status})"
        if scope is not None:
            how = f"run `{self._spec.login} --scope '{scope}'`" if self._logs_in else "get a token that has it"
            return f"allows this only with the scope `{scope}` {said}; {how}"
        if self._passes:
            return f"does not accept the credentials of the client {said}"
        if "authorization" in self._static:
            return f"does not accept the Authorization header configured for it {said}"
        if self._unattended:
            return f"does not accept our client credentials {said}; check client_id, client_secret and scopes"
        if self._login is not None:
            return f"does not accept the login any more {said}; run `{self._spec.login}`"
        return f"wants a login {said}; run `{self._spec.login}`"
