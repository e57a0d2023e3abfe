"""The wire-level client's transport over streamable HTTP: one POST for each message, what comes back as lines.

Standard library alone, a thread for each open response. Both eras: sessions, or headers that repeat the envelope.
"""

from __future__ import annotations

import http.client
import json
import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from .peer import Peer
from .probes import META

ACCEPT = "application/json, text/event-stream"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
VERSION = "MCP-Protocol-Version"


class Remote:
    """A server at a URL."""

    pid = 0

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._url = urlsplit(url)
        self._headers = {"Accept": ACCEPT, "Content-Type": "application/json", **headers}
        self._timeout = timeout
        self._open: dict[str, http.client.HTTPConnection] = {}
        self._lock = threading.Lock()
        self.arrived: queue.Queue[str | None] = queue.Queue()

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._url.hostname or "", self._url.port, timeout=timeout)

    @property
    def _path(self) -> str:
        return (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")

    def send(self, line: str) -> None:
        """Requests are answered in a thread of their own; a notification is sent when it has been taken."""
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled" and self._cancel(message):
            return
        if "id" in message and message.get("method") not in (None, "initialize"):
            threading.Thread(target=self._post, args=(line, message), daemon=True).start()
        else:
            self._post(line, message)
        if message.get("method") == "notifications/initialized":
            threading.Thread(target=self._listen, daemon=True).start()

    def _cancel(self, message: dict[str, Any]) -> bool:
        """In 2026-07-28 a request is taken back by closing its response."""
        with self._lock:
            link = self._open.pop(json.dumps((message.get("params") or {}).get("requestId")), None)
        if link is None or VERSION in self._headers:
            return VERSION not in self._headers
        with suppress(OSError):
            assert link.sock is not None
            link.sock.shutdown(2)
        return True

    def _post(self, line: str, message: dict[str, Any]) -> None:
        link, ident = self._connect(self._timeout), json.dumps(message.get("id"))
        with self._lock:
            self._open[ident] = link
        with suppress(OSError, http.client.HTTPException):
            link.request("POST", self._path, line.encode(), {**self._headers, **_envelope(message)})
            response = link.getresponse()
            session = response.headers.get("Mcp-Session-Id")
            if session and message.get("method") == "initialize":
                self._headers["Mcp-Session-Id"] = session
            for text in _texts(response):
                if message.get("method") == "initialize":
                    self._negotiated(text)
                self.arrived.put(text)
        link.close()
        with self._lock:
            self._open.pop(ident, None)

    def _negotiated(self, text: str) -> None:
        version = (json.loads(text).get("result") or {}).get("protocolVersion")
        if isinstance(version, str):
            self._headers[VERSION] = version

    def _listen(self) -> None:
        """The session's own stream."""
        link = self._connect(None)
        with self._lock:
            self._open["(stream)"] = link
        with suppress(OSError, http.client.HTTPException, ValueError):
            link.request("GET", self._path, headers=self._headers)
            response = link.getresponse()
            for text in _texts(response) if response.status == 200 else ():
                self.arrived.put(text)

    def close(self) -> Mapping[str, str]:
        """Say good-bye to the session, and hang up."""
        if "Mcp-Session-Id" in self._headers:
            link = self._connect(self._timeout)
            with suppress(OSError, http.client.HTTPException):
                link.request("DELETE", self._path, headers=self._headers)
                link.getresponse().read()
            link.close()
        with self._lock:
            links = list(self._open.values())
        for link in links:
            with suppress(OSError, AttributeError):
                link.sock.shutdown(2)
        return {}


def _envelope(message: dict[str, Any]) -> dict[str, str]:
    """The headers that repeat what a request of 2026-07-28 says."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(f"{META}protocolVersion") if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return {}
    found = {VERSION: version, "Mcp-Method": str(message.get("method"))}
    named = params.get(NAMED_BY.get(str(message.get("method")), "")) if isinstance(params, dict) else None
    return {**found, "Mcp-Name": named} if isinstance(named, str) and named.isascii() else found


def _texts(response: http.client.HTTPResponse) -> Iterator[str]:
    """The messages of a response, as they come."""
    if not (response.headers.get("Content-Type") or "").startswith("text/event-stream"):
        body = response.read().decode("utf-8", "surrogateescape").strip()
        if body[:1] == "{":
            yield body
        return
    data: list[str] = []
    for raw in response:
        line = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            text, data = "\n".join(data), []
            if text:
                yield text


def open_url(url: str, headers: Mapping[str, str], timeout: float) -> Peer:
    """Talk to a server over HTTP."""
    remote = Remote(url, headers, timeout)
    return Peer(remote, remote.arrived, timeout)
