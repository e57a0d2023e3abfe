"""The streams we open ourselves: what a session's server says unasked, and the rest of an answer that broke off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from crp_mcp.log import log

from .events import EventReader
from .faults import Fault, status_fault
from .http import Response
from .outgoing import Outgoing
from .peer import EVENT_STREAM, Peer, media_type

USUAL_WAIT = 1.0
SHORTEST_WAIT = 0.05
LONGEST_WAIT = 60.0
ATTEMPTS = 5
"""So many times in a row an answer's stream may fail to open before the answer is given up."""


class Listening:
    """GET streams at one URL. `headers`: what every request of the session says."""

    def __init__(self, peer: Peer, url: str, headers: Callable[[], dict[str, str]]) -> None:
        self._peer = peer
        self._url = url
        self._headers = headers
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Listen to what the server says unasked, from now on and after each break."""
        self.stop()
        self._task = asyncio.create_task(self._listen())
        self._task.add_done_callback(self._over)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _over(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log("error", "remote_failed", server=self._peer.name, reason=repr(task.exception()))

    async def _listen(self) -> None:
        last_id: str | None = None
        idle = 0
        while True:
            reader = EventReader(self._peer.lines)
            reader.last_id = last_id
            came = False
            try:
                async with self._peer.ask("GET", self._url, self._stream_headers(last_id)) as response:
                    if not _is_stream(response) and response.status_code < 500 and response.status_code != 429:
                        return
                    if _is_stream(response):
                        async for _ in self._peer.read_events(response, reader):
                            came = True
            except Fault as fault:
                if not fault.passing:
                    return
            last_id = reader.last_id
            idle = 0 if came else idle + 1
            usual = USUAL_WAIT if reader.retry is None else max(reader.retry, SHORTEST_WAIT)
            await asyncio.sleep(min(usual * 2 ** min(idle, 10), max(usual, LONGEST_WAIT)))

    async def resume(self, message: Outgoing, reader: EventReader) -> None:
        """Get the rest of what a stream was to bring, from the last event that came.

        Raises:
            Fault: the answer cannot be got any more.
        """
        failed = 0
        while not message.settled:
            await asyncio.sleep(USUAL_WAIT if reader.retry is None else max(reader.retry, SHORTEST_WAIT))
            following = EventReader(self._peer.lines)
            following.last_id, following.retry = reader.last_id, reader.retry
            reader = following
            try:
                async with self._peer.ask("GET", self._url, self._stream_headers(reader.last_id)) as response:
                    if not _is_stream(response):
                        raise status_fault(response.status_code, response.headers, "the rest of a stream")
                    failed = 0
                    async for _ in self._peer.read_events(response, reader):
                        if message.settled:
                            return
            except Fault as fault:
                failed += 1
                if not fault.passing or failed >= ATTEMPTS:
                    raise

    def _stream_headers(self, last_id: str | None) -> dict[str, str]:
        headers = {"accept": EVENT_STREAM, "cache-control": "no-store", **self._headers()}
        return {**headers, "last-event-id": last_id} if last_id else headers


def _is_stream(response: Response) -> bool:
    return response.status_code == 200 and media_type(response) == EVENT_STREAM
