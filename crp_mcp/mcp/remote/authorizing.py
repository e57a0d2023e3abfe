"""Getting a first token through the SDK: finding the authorization server, registering, asking a person where needed.

Loads the SDK, so it is loaded for a login only, and for a client that logs in by itself for the first time.
"""

from __future__ import annotations

import json
import logging
import re
import time
import warnings
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from crp_mcp import __version__
from crp_mcp.mcp.spec import OAuth, RemoteSpec

from .faults import Fault
from .http import open_client, reason_of
from .renewing import ERRORS, Refused
from .tokens import Login, is_private

PROTOCOL = "2025-11-25"
SECONDS = 30.0
_CODE = re.compile(r'"error"\s*:\s*"([a-z_]{1,40})"')
_STATUS = re.compile(r"\((\d{3})\)|HTTP (\d{3})|: (\d{3})\b")

logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("mcp").propagate = False


class Kept:
    """What the SDK stores, in memory: it goes to disk once the login is complete."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.tokens: OAuthToken | None = None
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class WantedScope(httpx2.Auth):
    """The provider, made to ask for the scopes that were configured rather than those the server suggests."""

    requires_response_body = True

    def __init__(self, provider: OAuthClientProvider, scopes: tuple[str, ...]) -> None:
        self._provider = provider
        self._scope = " ".join(scopes)
        self.forced = False
        """Log in though nobody asked for it."""

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                if outgoing is request and self.forced:
                    response.status_code, self.forced = 401, False
                if outgoing is request and response.status_code == 401 and self._scope:
                    said = response.headers.get("www-authenticate", "Bearer")
                    said = re.sub(r',?\s*\bscope\s*=\s*("[^"]*"|[^\s,]+)', "", said).rstrip(" ,")
                    comma = "," if "=" in said else ""
                    response.headers["www-authenticate"] = f'{said}{comma} scope="{self._scope}"'
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


async def authorize(spec: RemoteSpec, provider: OAuthClientProvider, kept: Kept, scopes: tuple[str, ...]) -> Login:
    """Go to the server, have the provider get a token when it wants one, and give that.

    Raises:
        Refused: there is none; the text completes "no login: …".
    """
    if not is_private(spec.url):
        raise Refused("its URL is not https, so a token would be readable on the way")
    try:
        async with open_client(spec.url) as client:
            status = await Knocking(client, spec, WantedScope(provider, scopes), kept).run()
    except OAuthFlowError as error:
        raise Refused(_in_words(error)) from None
    except httpx2.HTTPError as error:
        raise Refused(f"it {reason_of(error)}") from None
    except ValueError as error:
        raise Refused(f"what it says of its authorization is not understood ({type(error).__name__})") from None
    if kept.tokens is None:
        raise Refused(f"it wants none (HTTP {status})" if status < 400 else f"it answered HTTP {status}")
    return _login(spec, provider, kept)


class Knocking:
    """Requests until one of them wants a token. Some servers greet anybody, and want one for what comes after."""

    def __init__(self, client: httpx2.AsyncClient, spec: RemoteSpec, auth: WantedScope, kept: Kept) -> None:
        self._client = client
        self._spec = spec
        self._auth = auth
        self._kept = kept
        self._headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": PROTOCOL}

    async def run(self) -> int:
        """The last status; whether there is a token shows in what is kept."""
        status = 405 if self._spec.transport == "sse" else await self._greet()
        if status in (404, 405) and self._kept.tokens is None:
            status = await self._send("GET", None)
        if self._kept.tokens is None and status < 400 and await self._is_protected():
            self._auth.forced = True
            await self._send("GET" if self._spec.transport == "sse" else "POST", _message("ping", 3))
        session = self._headers.get("mcp-session-id")
        if session:
            await self._client.delete(self._spec.url, headers=self._headers, auth=self._auth, timeout=SECONDS)
        return status

    async def _greet(self) -> int:
        about = {"name": "crp-mcp", "version": __version__}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}
        status = 0
        for message in (
            _message("initialize", 1, params),
            _message("notifications/initialized"),
            _message("tools/list", 2),
        ):
            status = await self._send("POST", message)
            if self._kept.tokens is not None or status in (404, 405):
                break
        return status

    async def _send(self, method: str, message: dict[str, Any] | None) -> int:
        content = json.dumps(message).encode() if message and method == "POST" else None
        more = {"content-type": "application/json"} if content else {}
        headers = {**self._headers, **more}
        waiting = httpx2.Timeout(SECONDS)
        request = self._client.build_request(method, self._spec.url, headers=headers, content=content, timeout=waiting)
        response = await self._client.send(request, auth=self._auth, stream=True)
        await response.aclose()
        if "mcp-session-id" in response.headers:
            self._headers["mcp-session-id"] = response.headers["mcp-session-id"]
        return int(response.status_code)

    async def _is_protected(self) -> bool:
        """Whether it says that there is something to log in for, though nothing we asked for needed it (RFC 9728)."""
        parts = urlsplit(self._spec.url)
        url = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path.rstrip('/')}"
        response = await self._client.get(url, headers={"accept": "application/json"}, timeout=SECONDS)
        return response.status_code == 200 and "authorization_servers" in response.text


def _message(method: str, ident: int | None = None, params: dict[str, Any] | None = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
    return {name: value for name, value in message.items() if value is not None}


def _login(spec: RemoteSpec, provider: OAuthClientProvider, kept: Kept) -> Login:
    context, tokens = provider.context, kept.tokens
    assert tokens is not None
    client = context.client_info
    found = context.oauth_metadata
    base = context.get_authorization_base_url(spec.url)
    with_resource = context.should_include_resource_param(PROTOCOL)
    return Login(
        tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
        scope=tokens.scope,
        token_endpoint=str(found.token_endpoint) if found else urljoin(base, "/token"),
        revocation_endpoint=str(found.revocation_endpoint) if found and found.revocation_endpoint else None,
        resource=context.get_resource_url() if with_resource else None,
        client=client.model_dump(mode="json", exclude_none=True) if client else {},
    )


def _in_words(error: OAuthFlowError) -> str:
    """What went wrong, without what a server wrote: there may be secrets in it."""
    text = str(error)
    said = _CODE.search(text)
    if said and said[1] in ERRORS:
        return f"its authorization server said {said[1]}"
    kind = type(error).__name__
    status = _STATUS.search(text)
    where = f" (HTTP {next(filter(None, status.groups()))})" if status else ""
    if kind == "OAuthRegistrationError":
        return (
            f"its authorization server does not register clients by itself{where}; "
            "register one there, and give its id with --client-id or `auth.client_id`"
        )
    if kind == "OAuthTokenError":
        return f"its authorization server gave no token{where}"
    first = text.splitlines()[0] if text else kind
    known = ("Protected resource", "Authorization server metadata", "No authorization server", "State parameter")
    return f"what it says of its authorization does not fit together{where}" if first.startswith(known) else kind


async def obtain(spec: RemoteSpec) -> Login:
    """A token of a client that logs in by itself.

    Raises:
        Refused, Fault: there is none.
    """
    auth = spec.auth
    assert isinstance(auth, OAuth)
    kept = Kept()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        provider = ClientCredentialsOAuthProvider(
            spec.url,
            kept,
            auth.client_id or "",
            auth.client_secret or "",
            scope=" ".join(auth.scopes) or None,
            issuer=auth.issuer,
        )
    try:
        login = await authorize(spec, provider, kept, auth.scopes)
    except Refused as refusal:
        raise Fault(f"gives no token to our client credentials: {refusal}", sent=False) from None
    # The secret stays where it is configured.
    client = {key: value for key, value in login.client.items() if key != "client_secret"}
    from dataclasses import replace

    return replace(login, client=client)
