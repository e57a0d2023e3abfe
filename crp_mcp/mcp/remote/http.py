"""The HTTP client of one server: its connections, proxies and redirects, and what went wrong in words.

The one file that knows the library; it takes a while to load.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from urllib.request import getproxies, proxy_bypass

import httpx2

from crp_mcp import __version__
from crp_mcp.errors import ConfigError

from .faults import Fault
from .outgoing import Outgoing
from .unpack import ACCEPTED, Unpackable, unpacked

CONNECTIONS = 128
IDLE_CONNECTIONS = 8
IDLE_SECONDS = 4.0
"""Shorter than what servers commonly allow, so that a request seldom meets a connection that is just being closed."""
CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0
KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A peer that went away without a word is noticed within a minute or so."""
REDIRECTS = 5

Response = httpx2.Response


def open_client(url: str) -> httpx2.AsyncClient:
    """A client for one server. Raises ConfigError where a proxy cannot be used."""
    try:
        transport = httpx2.AsyncHTTPTransport(
            verify=True,
            proxy=_proxy_for(url),
            limits=httpx2.Limits(
                max_connections=CONNECTIONS,
                max_keepalive_connections=IDLE_CONNECTIONS,
                keepalive_expiry=IDLE_SECONDS,
            ),
            socket_options=list(_socket_options()),
        )
    except ImportError:
        raise ConfigError("a SOCKS proxy needs the package `socksio`; install it or unset ALL_PROXY") from None
    except ValueError:
        raise ConfigError("the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is no URL of one") from None
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS, write=WRITE_SECONDS)
    headers = {"user-agent": f"crp-mcp/{__version__}", "accept-encoding": ACCEPTED}
    return httpx2.AsyncClient(transport=transport, timeout=timeout, headers=headers, follow_redirects=False)


def _proxy_for(url: str) -> str | None:
    parsed = httpx2.URL(url)
    proxies = getproxies()
    if proxy_bypass(parsed.host):
        return None
    proxy = proxies.get(parsed.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _socket_options() -> Iterator[tuple[int, int, int]]:
    yield socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1
    yield socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):
            yield socket.IPPROTO_TCP, getattr(socket, name), value


@asynccontextmanager
async def exchange(
    client: httpx2.AsyncClient,
    method: str,
    url: str,
    headers: Mapping[str, str],
    message: Outgoing | None = None,
) -> AsyncIterator[Response]:
    """One request and the head of its answer, whose body is read inside.

    Redirects are followed only to the same origin and with the same method: what is sent was meant for this server.

    Raises:
        Fault: there was no answer.
    """
    target = httpx2.URL(url)
    for _ in range(REDIRECTS + 1):
        sending = Sending(message) if message else None
        more = {"content-length": str(message.size), "content-type": "application/json"} if message else {}
        # What a server wants repeated, such as the id of a session, may be any text: it goes back as it came.
        given = {name: value.encode("utf-8", "surrogateescape") for name, value in {**headers, **more}.items()}
        request = client.build_request(method, target, headers=given, content=sending)  # type: ignore[arg-type]
        response = await _send(client, request, sending)
        following = _redirect(response)
        if following is None:
            try:
                yield response
            finally:
                await response.aclose()
            return
        await response.aclose()
        target = following
    raise Fault(f"redirected more than {REDIRECTS} times; check its URL", sent=False)


class Sending:
    """A message's bytes on their way."""

    def __init__(self, message: Outgoing) -> None:
        self._message = message
        self.whole = False
        """All of them have left: before that, the server cannot have acted on it."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._message.chunks():
            yield chunk
        self.whole = True
        if self._message.id is not None:
            self._message.passed.set()


async def _send(client: httpx2.AsyncClient, request: httpx2.Request, sending: Sending | None) -> Response:
    try:
        return await client.send(request, stream=True)
    except httpx2.HTTPError as error:
        sent = not isinstance(error, _UNSENT) and (sending is None or sending.whole)
        raise Fault(reason_of(error), sent=sent, passing=_passes(error)) from None
    except httpx2.InvalidURL:
        raise Fault("has a URL that cannot be used", sent=False) from None


_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
    httpx2.ProxyError,
)


def _passes(error: BaseException) -> bool:
    """Whether it may be over in a moment: a server that starts, a connection that broke."""
    if isinstance(
        error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError | httpx2.ProxyError | httpx2.ConnectTimeout
    ):
        return False
    return not any(isinstance(cause, ssl.SSLError | socket.gaierror) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _redirect(response: Response) -> httpx2.URL | None:
    """Where to go next; None where this is the answer."""
    following = response.next_request
    if following is None:
        return None
    here, there = response.request.url, following.url
    upgraded = here.host == there.host and (here.scheme, there.scheme) == ("http", "https")
    same = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)
    where = f"{there.scheme}://{there.netloc.decode('ascii', 'replace')}"
    if not same and not (upgraded and here.port is None and there.port is None):
        raise Fault(
            f"redirects to another place, {where}, to which nothing is sent; if that is right, set it as the URL",
            sent=False,
        )
    if following.method != response.request.method or (there.userinfo and there.userinfo != here.userinfo):
        raise Fault(
            f"redirects in a way that would lose the message (HTTP {response.status_code}); set the URL it names",
            sent=False,
        )
    return there


async def body_of(response: Response) -> AsyncIterator[bytes]:
    """The body, unpacked, as it comes.

    Raises:
        Fault: it broke off, or cannot be unpacked.
    """
    try:
        async for chunk in unpacked(response.aiter_raw(), response.headers.get("content-encoding", "")):
            yield chunk
    except Unpackable as error:
        raise Fault(str(error)) from None
    except httpx2.HTTPError as error:
        raise Fault(reason_of(error), passing=True) from None


async def short_body(response: Response, most: int = 1024 * 1024) -> bytes:
    """A body that should be small; b"" where it is not, or broke off."""
    found = b""
    try:
        async for chunk in body_of(response):
            found += chunk
            if len(found) > most:
                return b""
    except Fault:
        return b""
    return found


def reason_of(error: BaseException) -> str:
    """What went wrong, in words that complete "The MCP server X …". Shows no URL."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = cause.verify_message or "unknown reason"
            return (
                f"has a certificate that cannot be verified ({why}); if it is signed by an authority of your own, "
                "name its file in SSL_CERT_FILE"
            )
        if isinstance(cause, ssl.SSLError):
            return f"could not be reached over TLS ({cause.reason or 'protocol error'}); check https:// and the port"
        if isinstance(cause, socket.gaierror):
            return "could not be reached: its host name is not known; check the URL and the network"
        if isinstance(cause, ConnectionRefusedError):
            return "could not be reached: the connection was refused; check that it runs, and its port"
    if isinstance(error, httpx2.LocalProtocolError):
        return "wants something repeated in a header that no header can carry, such as the id of its session"
    if isinstance(error, httpx2.ConnectTimeout):
        return f"could not be reached within {CONNECT_SECONDS:g} s"
    if isinstance(error, httpx2.ProxyError):
        return "could not be reached through the HTTP proxy; check HTTPS_PROXY and NO_PROXY"
    if isinstance(error, httpx2.UnsupportedProtocol):
        return "has a URL that begins neither with http:// nor with https://"
    if isinstance(error, httpx2.ConnectError):
        return "could not be reached"
    if isinstance(error, httpx2.TimeoutException):
        return "stopped taking what is sent to it"
    return "broke the connection off"
