"""Requests to an authorization server that need no person: a token renewed, a token revoked. Shows no secret."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import quote, urlencode

import httpx2

from .faults import Fault
from .http import open_client, reason_of, short_body
from .tokens import Login, TokenFile, is_private

SECONDS = 20.0
ERRORS = (
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "invalid_target",
    "access_denied",
    "server_error",
    "temporarily_unavailable",
)
"""What an authorization server may say is wrong (RFC 6749 §4.1.2.1, §5.2; RFC 8707); nothing else of it is repeated."""


class Refused(Exception):
    """The authorization server gives no token."""


async def renew(login: Login) -> Login:
    """A new token in place of the one that ended.

    Raises:
        Refused: only another login brings one.
        Fault: the authorization server could not be asked.
    """
    if not login.refresh_token or not login.token_endpoint:
        raise Refused("it cannot be renewed")
    form = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    if login.resource:
        form["resource"] = login.resource
    return login.renewed(await _ask(login, form), time.time())


async def again(login: Login, secret: str) -> Login:
    """A new token of a client that logs in by itself. Raises as `renew`."""
    form = {"grant_type": "client_credentials"}
    if login.resource:
        form["resource"] = login.resource
    if login.scope:
        form["scope"] = login.scope
    with_secret = {**login.client, "client_secret": secret}
    return login.renewed(await _ask(login, form, with_secret), time.time())


async def revoke(login: Login) -> bool:
    """Have the authorization server forget the login (RFC 7009). Whether it says that it has."""
    if not login.revocation_endpoint:
        return False
    kind = "refresh_token" if login.refresh_token else "access_token"
    form = {"token": login.refresh_token or login.access_token, "token_type_hint": kind}
    try:
        status, _ = await _post(login.revocation_endpoint, form, login.client)
    except Fault:
        return False
    return status == 200


async def log_out(file: TokenFile) -> tuple[bool, bool]:
    """Forget a login. Whether there was one, and whether the authorization server has forgotten it too."""
    login = file.read()
    if login is None:
        return False, False
    revoked = await revoke(login)
    file.remove()
    return True, revoked


async def _ask(login: Login, form: dict[str, str], client: dict[str, Any] | None = None) -> dict[str, Any]:
    status, body = await _post(login.token_endpoint, form, client or login.client)
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        answer = {}
    if status == 200 and isinstance(answer.get("access_token"), str) and answer["access_token"].isascii():
        return answer
    if status >= 500 or status == 429:
        raise Fault(
            f"needs a new token, and its authorization server answered HTTP {status}; try again",
            passing=True,
            reached=False,
        )
    said = answer.get("error")
    raise Refused(f"the authorization server said {said}" if said in ERRORS else f"HTTP {status}")


async def _post(url: str, form: dict[str, str], client: dict[str, Any]) -> tuple[int, bytes]:
    form, headers = _authenticated(form, client)
    if not is_private(url):
        raise Refused("its authorization server is not reached over https")
    async with open_client(url) as http:
        try:
            request = http.build_request(
                "POST",
                url,
                content=urlencode(form).encode(),
                headers={"content-type": "application/x-www-form-urlencoded", "accept": "application/json", **headers},
                timeout=SECONDS,
            )
            response = await http.send(request, stream=True)
            try:
                return response.status_code, await short_body(response)
            finally:
                await response.aclose()
        except httpx2.HTTPError as error:
            text = f"needs a new token, and its authorization server {reason_of(error)}"
            raise Fault(text, sent=False, passing=False) from None


def _authenticated(form: dict[str, str], client: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The form, and headers, that say which client asks (RFC 6749 §2.3.1)."""
    ident, secret = str(client.get("client_id", "")), client.get("client_secret")
    if secret and client.get("token_endpoint_auth_method") == "client_secret_basic":
        pair = f"{quote(ident, safe='')}:{quote(str(secret), safe='')}"
        return {**form, "client_id": ident}, {"authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    if secret and client.get("token_endpoint_auth_method") == "client_secret_post":
        return {**form, "client_id": ident, "client_secret": str(secret)}, {}
    return {**form, "client_id": ident}, {}
