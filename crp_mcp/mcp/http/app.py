"""The ASGI application: paths, guards, admission, and which protocol version a request speaks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import INTERNAL_ERROR, dump
from crp_mcp.core.wire.eras import HANDSHAKE_VERSIONS
from crp_mcp.log import log
from crp_mcp.proof.wire import MEDIA_TYPE

from .admission import Admission
from .answers import Answers
from .handshake import GET, Handshake
from .headers import VERSION
from .metrics import CONTENT_TYPE
from .modern import LISTEN, Modern
from .reading import frame_of, is_for_modern
from .request import Refusal, Request, check_headers, is_json
from .stream import Gone

if TYPE_CHECKING:
    from .auth import Authenticator
    from .guard import Names
    from .site import Principal, Site

PATH = "/mcp"
POLICY = "crp-safety-policy"
RECEIPTS = "/receipts/"
METADATA_PATHS = ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource" + PATH)
SWEEP_SECONDS = 5.0
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
KNOWN = frozenset(
    [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
        "notifications/initialized",
        "notifications/cancelled",
    ]
)
"""Methods that may be named in the log: the rest is whatever a client makes up."""


class App:
    """See the module's first line. `names`: which `Host` and `Origin` are taken."""

    def __init__(
        self,
        site: Site,
        authenticator: Authenticator,
        names: Names,
        answers: Answers,
        *,
        open_to_all: bool,
        metadata: Callable[[Mapping[str, str]], Mapping[str, Any]] | None = None,
    ) -> None:
        self._site = site
        self._authenticator = authenticator
        self._names = names
        self._open = open_to_all
        self._metadata = metadata
        self._admission = Admission(site.limits, site.metrics)
        self.handshake = Handshake(site, answers)
        self.modern = Modern(site, answers)
        self.draining = False
        self._active = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._sweeper = asyncio.ensure_future(self._sweep())
        self._gauges()

    def _gauges(self) -> None:
        gauges = self._site.metrics.gauges
        gauges["http_requests_in_flight"] = ("Requests being answered", lambda: self._admission.all["request"])
        gauges["http_streams_open"] = ("Streams that stay open", lambda: self._admission.all["stream"])
        gauges["sessions_open"] = ("Sessions of handshake clients", lambda: len(self.handshake.sessions))
        gauges["conversations_open"] = (
            "Conversations of clients without a session",
            lambda: len(self.modern.channels()),
        )
        gauges["tenants_open"] = ("Tenants whose worker may run", lambda: self._site.tenancy.open_count)

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive, send, self._site.limits)
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._active += 1
        self._idle.clear()
        try:
            await self._serve(request)
        except Refusal as refusal:
            if not request.status:
                await self._refuse(request, refusal)
        except Gone:
            log("debug", "client_left", path=_shown(request.path))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client must hear of it, and others be served
            log("error", "request_failed", error=type(error).__name__, where=_where(error))
            if not request.status:
                await self._refuse(request, Refusal(500, "Internal error", code=INTERNAL_ERROR))
        finally:
            self._active -= 1
            if not self._active:
                self._idle.set()
            self._note(request, loop.time() - began)

    async def _refuse(self, request: Request, refusal: Refusal) -> None:
        try:
            await request.refuse(refusal)
        except Gone:
            log("debug", "client_left", path=_shown(request.path))

    def _note(self, request: Request, seconds: float) -> None:
        method = request.method if request.method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD") else "other"
        lasting = request.method != "POST" or request.rpc == LISTEN
        self._site.metrics.done(method, request.status, None if lasting else seconds, request.sent)
        log(
            "info",
            "http",
            method=method,
            path=_shown(request.path),
            rpc=request.rpc,
            status=request.status,
            ms=round(seconds * 1000, 1),
            sent=request.sent,
            tenant=request.tenant,
        )

    # -- one request ---------------------------------------------------------------------------------------------

    async def _serve(self, request: Request) -> None:
        check_headers(request, self._site.limits.header_bytes)
        host = request.headers.get("host")
        if not self._names.host(host):
            raise Refusal(421, "This host name is not served here; see `crp.http.hosts` in the configuration.")
        origin = request.headers.get("origin")
        if not self._names.origin(origin, host):
            raise Refusal(403, "Web pages of this origin may not come here; see `crp.http.origins`.")
        if origin is not None:
            request.extra += [("access-control-allow-origin", origin), ("vary", "origin"), *_EXPOSED]
        if request.path == "/healthz":
            await self._health(request)
            return
        if self.draining:
            raise Refusal(503, "The server is ending.", headers={"retry-after": "5", "connection": "close"})
        if request.path == PATH and request.method == "OPTIONS":
            await request.answer(204, headers=_PREFLIGHT)
        elif request.path == PATH:
            await self._mcp(request)
        elif request.path == "/metrics":
            await self._metrics(request)
        elif request.path in METADATA_PATHS and self._metadata is not None:
            _only(request, "GET", "HEAD")
            await request.answer(200, dump(self._metadata(request.headers)))
        elif request.path.startswith(RECEIPTS):
            await self._receipt(request)
        else:
            raise Refusal(404, f"Nothing is here; MCP is spoken at {PATH}.")

    async def _health(self, request: Request) -> None:
        _only(request, "GET", "HEAD")
        problem = self._site.tenancy.health()
        ready = not (problem or self.draining)
        state = {"status": "ending" if self.draining else "ok" if ready else "failing", "store": problem or "ok"}
        await request.answer(200 if ready else 503, dump(state))

    async def _metrics(self, request: Request) -> None:
        _only(request, "GET", "HEAD")
        if not self._open:
            await self._authenticator.check(request.headers)
        await request.answer(200, self._site.metrics.text().encode(), CONTENT_TYPE)

    async def _receipt(self, request: Request) -> None:
        """A receipt as it was signed, for those whose store holds it."""
        _only(request, "GET", "HEAD")
        principal = await self._authenticator.check(request.headers)
        request.tenant = principal.tenant
        found = _DIGEST.fullmatch(request.path.removeprefix(RECEIPTS))
        if found is None:
            raise Refusal(400, "A receipt is asked for by its digest: sha256: and 64 hexadecimal digits.")
        with self._admission.slot(principal.tenant):
            body = await self._site.receipt(principal.tenant, "sha256:" + found[1])
            await request.answer(200, body, MEDIA_TYPE, (("cache-control", "private, no-cache"),))

    async def _mcp(self, request: Request) -> None:
        _only(request, "GET", "POST", "DELETE")
        principal = await self._authenticator.check(request.headers)
        request.tenant = principal.tenant
        version = request.headers.get(VERSION)
        if request.method == "POST":
            await self._post(request, principal, version)
            return
        if version is not None and version not in HANDSHAKE_VERSIONS:
            raise Refusal(405, "In this protocol version there is only POST.", headers={"allow": "POST"})
        if request.method == "DELETE":
            await self.handshake.delete(request, principal)
            return
        with self._admission.slot(principal.tenant, "stream"):
            await self.handshake.get(request, principal)

    async def _post(self, request: Request, principal: Principal, version: str | None) -> None:
        if not is_json(request):
            raise Refusal(415, "The body must be application/json.")
        with self._admission.slot(principal.tenant) as slot:
            body = await request.body()
            self._site.metrics.received += len(body)
            frame = frame_of(body, request.all(POLICY))
            request.rpc = frame.method if frame.method in KNOWN else "other" if frame.method else "answer"
            if frame.method == LISTEN:
                slot.stay_open()
            if is_for_modern(frame, version):
                await self.modern.post(request, principal, frame)
            else:
                await self.handshake.post(request, principal, frame)

    # -- time, and the end ---------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.handshake.sweep(loop.time())
            self.modern.sweep(loop.time())
            await self._site.sweep()

    async def drain(self, seconds: float) -> None:
        """Take nothing new, and wait for what is under way, but not longer than that."""
        self.draining = True
        self.modern.end_listening()
        for session in self.handshake.sessions.values():
            session.streams[GET].close()
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            log("warning", "drain_cut_short", requests=self._active)

    async def close(self) -> None:
        """End all servers, workers and responses."""
        self.draining = True
        self._sweeper.cancel()
        await asyncio.gather(self.handshake.close(), self.modern.close())
        await self._site.close()


_EXPOSED = (("access-control-expose-headers", "mcp-session-id, www-authenticate"),)
_PREFLIGHT = (
    ("access-control-allow-methods", "GET, POST, DELETE"),
    (
        "access-control-allow-headers",
        "authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, "
        "mcp-name, crp-safety-policy",
    ),
    ("access-control-max-age", "600"),
)


def _only(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise Refusal(405, f"Only {', '.join(methods)} are understood here.", headers={"allow": ", ".join(methods)})


def _shown(path: str) -> str:
    """A path for the log: those that mean something here."""
    known = (PATH, "/healthz", "/metrics", *METADATA_PATHS)
    return path if path in known else RECEIPTS if path.startswith(RECEIPTS) else "other"


def _where(error: BaseException) -> str:
    """File and line where an error was raised, without any of its data."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "?"
