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
from urllib.parse import urljoin

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

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
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
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "crp-mcp", "version": __version__},
        },
    }
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": PROTOCOL}
    try:
        async with open_client(spec.url) as client:
            status = await _knock(client, spec, headers, body, WantedScope(provider, scopes))
    except OAuthFlowError as error:
        raise Refused(_in_words(error)) from None
    except httpx2.HTTPError as error:
        raise Refused(f"it {reason_of(error)}") from None
    except ValueError as error:
        raise Refused(f"what it says of its authorization is not understood ({type(error).__name__})") from None
    if kept.tokens is None:
        raise Refused(f"it wants none (HTTP {status})" if status < 400 else f"it answered HTTP {status}")
    return _login(spec, provider, kept)


async def _knock(
    client: httpx2.AsyncClient, spec: RemoteSpec, headers: dict[str, str], body: object, auth: httpx2.Auth
) -> int:
    """A request that needs a token. A server of the older transport is asked for its stream."""
    for method in ("GET",) if spec.transport == "sse" else ("POST", "GET"):
        content = json.dumps(body).encode() if method == "POST" else None
        more = {"content-type": "application/json"} if content else {}
        request = client.build_request(
            method, spec.url, headers={**headers, **more}, content=content, timeout=httpx2.Timeout(SECONDS)
        )
        response = await client.send(request, auth=auth, stream=True)
        status = response.status_code
        session = response.headers.get("mcp-session-id")
        await response.aclose()
        if session:
            await client.delete(spec.url, headers={**headers, "mcp-session-id": session}, auth=auth, timeout=SECONDS)
        if status not in (404, 405):
            break
    return status


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
