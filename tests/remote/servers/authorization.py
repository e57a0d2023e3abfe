"""An OAuth authorization server and, at another port, an MCP server that wants its tokens. For tests only.

It consents at once, checks what a real one checks (PKCE, redirect address, resource, client), rotates refresh tokens
and counts what it is asked. `GET /counts` tells. Options: port, port of the MCP server, seconds a token lives.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import sys
import threading
import time
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from sdk_server import build
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

PORT, MCP_PORT, LIFE = (int(value) for value in sys.argv[1:4])
ISSUER = f"http://127.0.0.1:{PORT}"
RESOURCE = f"http://127.0.0.1:{MCP_PORT}/mcp"
METADATA = f"http://127.0.0.1:{MCP_PORT}/.well-known/oauth-protected-resource/mcp"
MACHINE = {"client_id": "machine", "client_secret": "machine-s3cret"}
clients: dict[str, dict[str, Any]] = {"machine": {**MACHINE, "redirect_uris": []}}
codes: dict[str, dict[str, Any]] = {}
tokens: dict[str, tuple[str, float]] = {}
refreshes: dict[str, str] = {}
counts = dict.fromkeys(("register", "code", "refresh", "client_credentials", "revoke", "reused"), 0)


async def metadata(request: Request) -> Response:
    return JSONResponse(
        {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "registration_endpoint": f"{ISSUER}/register",
            "revocation_endpoint": f"{ISSUER}/revoke",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["read", "write"],
        }
    )


async def register(request: Request) -> Response:
    counts["register"] += 1
    client = {**await request.json(), "client_id": secrets.token_hex(8)}
    clients[client["client_id"]] = client
    return JSONResponse(client, 201)


async def authorize(request: Request) -> Response:
    asked = dict(request.query_params)
    client = clients.get(asked["client_id"])
    if client is None or asked["redirect_uri"] not in client["redirect_uris"]:
        return Response("unknown client or address", 400)
    if asked.get("resource") != RESOURCE or asked["code_challenge_method"] != "S256":
        return Response("no resource or no challenge", 400)
    code = secrets.token_hex(16)
    codes[code] = asked
    answer = {"code": code, "state": asked["state"], "iss": ISSUER}
    return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", 302)


async def token(request: Request) -> Response:
    form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
    kind = form["grant_type"]
    if kind == "authorization_code":
        return by_code(form)
    if kind == "refresh_token":
        return by_refresh(form)
    counts["client_credentials"] += 1
    pair = base64.b64encode(f"{MACHINE['client_id']}:{MACHINE['client_secret']}".encode()).decode()
    if request.headers.get("authorization") != f"Basic {pair}":
        return JSONResponse({"error": "invalid_client"}, 401)
    return granted(form.get("scope", "read"), with_refresh=False)


def by_code(form: dict[str, str]) -> Response:
    counts["code"] += 1
    asked = codes.pop(form["code"], None)
    digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
    if asked is None or digest != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
        return JSONResponse({"error": "invalid_grant"}, 400)
    return granted(asked.get("scope", "read"))


def by_refresh(form: dict[str, str]) -> Response:
    counts["refresh"] += 1
    scope = refreshes.pop(form["refresh_token"], None)
    if scope is None:
        counts["reused"] += 1
        return JSONResponse({"error": "invalid_grant"}, 400)
    # Slow, so that two who ask at once meet.
    time.sleep(0.2)
    return granted(scope)


def granted(scope: str, *, with_refresh: bool = True) -> Response:
    access = f"access-{secrets.token_hex(16)}"
    tokens[access] = scope, time.time() + LIFE
    body = {"access_token": access, "token_type": "Bearer", "expires_in": LIFE, "scope": scope}
    if with_refresh:
        body["refresh_token"] = f"refresh-{secrets.token_hex(16)}"
        refreshes[str(body["refresh_token"])] = scope
    return JSONResponse(body)


async def revoke(request: Request) -> Response:
    counts["revoke"] += 1
    form = parse_qs((await request.body()).decode())
    refreshes.pop(form["token"][0], None)
    return Response()


async def forget(request: Request) -> Response:
    """All access tokens are void from now on; with `all`, the refresh tokens too."""
    tokens.clear()
    if "all" in request.query_params:
        refreshes.clear()
    return Response()


async def show_counts(request: Request) -> Response:
    return JSONResponse(counts)


class Guarded:
    """The MCP server, for those who have a token."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith("/.well-known/oauth-protected-resource"):
            body = {"resource": RESOURCE, "authorization_servers": [ISSUER], "scopes_supported": ["read"]}
            await JSONResponse(body)(scope, receive, send)
            return
        said = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        granted_scope, ends = tokens.get(said, ("", 0.0))
        name = dict(scope["headers"]).get(b"mcp-name", b"").decode()
        if ends < time.time():
            await challenge(401, f'Bearer resource_metadata="{METADATA}"')(scope, receive, send)
        elif name == "ask" and "write" not in granted_scope.split():
            text = f'Bearer error="insufficient_scope", scope="write", resource_metadata="{METADATA}"'
            await challenge(403, text)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def challenge(status: int, text: str) -> Response:
    return Response(json.dumps({"error": "no"}), status, {"www-authenticate": text}, "application/json")


if __name__ == "__main__":
    routes = [
        Route("/.well-known/oauth-authorization-server", metadata),
        Route("/register", register, methods=["POST"]),
        Route("/authorize", authorize),
        Route("/token", token, methods=["POST"]),
        Route("/revoke", revoke, methods=["POST"]),
        Route("/forget", forget, methods=["POST"]),
        Route("/counts", show_counts),
    ]
    resource = uvicorn.Server(uvicorn.Config(Guarded(build().streamable_http_app()), port=MCP_PORT, log_level="error"))
    threading.Thread(target=resource.run, daemon=True).start()
    uvicorn.run(Starlette(routes=routes), port=PORT, log_level="error")
