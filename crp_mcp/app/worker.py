"""The worker: a child process that captures, counts and reads, so that the proxy never waits for any of it.

Frames come in on stdin and go out on what was stdout; everything else that is printed goes to stderr. It ends when
its stdin does, also when the proxy was killed. Small jobs, large ones and tools each have a thread of their own.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from crp_mcp.errors import CrpError, StoreGone
from crp_mcp.log import log
from crp_mcp.relay.frames import BadFrame, encode_frame, read_frame

from .memory import give_back, keep_little, keep_more
from .settings import Settings

LARGE = 2 << 20
"""Results of more bytes than this are captured on a thread of their own, so that small ones pass them by."""
TINY = 16 << 10
"""Results of no more bytes than this are captured where they are read: on a busy machine each hand-over is a wait."""
HUGE = 8 << 20
"""While results of more bytes than this are read, memory counts for more than time."""
END_GRACE = 3.0
UPKEEP_EVERY = 5.0

Handler = Callable[["dict[str, Any]", bytes], "tuple[dict[str, Any], bytes]"]


class Worker:
    """Reads frames until the stream ends; answers each one, in whatever order they are done."""

    def __init__(self, settings: Settings, source: BinaryIO, target: BinaryIO) -> None:
        self._settings = settings
        self._source, self._target = source, target
        self._write_lock = threading.Lock()
        self._open_lock = threading.Lock()
        self._engine: Any = None
        self._upkeep_at = time.monotonic()
        self._small, self._large, self._tools, self._queries = (ThreadPoolExecutor(n) for n in (1, 1, 2, 2))

    def run(self) -> None:
        """Serve until the stream ends. Never raises for anything a frame says."""
        self._tools.submit(self._open_ahead)
        while True:
            try:
                frame = read_frame(self._source.read)
            except BadFrame as broken:
                log("warning", "worker_bad_frame", reason=str(broken))
                break
            if frame is None:
                break
            header, blob = frame
            if header.get("op") == "capture" and "spool" not in header and len(blob) <= TINY:
                self._answer(header, blob)
            else:
                self._pool_for(header, blob).submit(self._answer, header, blob)
        self._end()

    def _pool_for(self, header: dict[str, Any], blob: bytes) -> ThreadPoolExecutor:
        if header.get("name") == "scratch_query":
            return self._queries
        if header.get("op") != "capture":
            return self._tools
        return self._large if header.get("spool") or len(blob) > LARGE else self._small

    def _answer(self, header: dict[str, Any], blob: bytes) -> None:
        number, follow_up, spool = header.get("id"), None, header.get("spool")
        huge = isinstance(spool, dict) and spool.get("end", 0) - spool.get("start", 0) > HUGE
        if huge:
            keep_little()
        try:
            reply, out, follow_up = self._handled(header, blob)
            reply = {**reply, "id": number, "ok": True}
        except CrpError as error:
            reply, out = {"id": number, "ok": False, "code": error.code, "message": str(error)}, b""
        except Exception as error:  # noqa: BLE001 - whatever it is, the proxy must hear of it and go on
            log("error", "worker_error", op=header.get("op"), error=type(error).__name__, where=where_of(error))
            reply, out = {"id": number, "ok": False, "code": "INTERNAL", "message": type(error).__name__}, b""
        self._send(reply, out)
        if follow_up is not None:
            self._large.submit(self._later, follow_up)
        if huge:
            self._large.submit(keep_more)
        if spool is not None:
            self._large.submit(give_back)
        self._upkeep()

    def _handled(self, header: dict[str, Any], blob: bytes) -> Any:
        """Whoever deletes the store's folder while a host runs wants it empty, not what comes after lost."""
        engine = self._opened()
        try:
            return engine.handle(header, blob)
        except StoreGone as gone:
            log("warning", "store_gone", reason=str(gone))
            with self._open_lock:
                if self._engine is engine:
                    self._engine = None
            return self._opened().handle(header, blob)

    def _open_ahead(self) -> None:
        """Open the store while the first result is still on its way. What goes wrong is said to whoever asks first."""
        with contextlib.suppress(CrpError):
            self._opened()

    def _opened(self) -> Any:
        if self._engine is None:
            with self._open_lock:
                if self._engine is None:
                    from .engine import open_engine

                    self._engine = open_engine(self._settings)
        return self._engine

    def _send(self, header: dict[str, Any], blob: bytes) -> None:
        head, body = encode_frame(header, blob)
        with self._write_lock:
            try:
                self._target.write(head)
                if body:
                    self._target.write(body)
                self._target.flush()
            except BrokenPipeError:
                os._exit(0)

    def _later(self, work: Callable[[], object]) -> None:
        try:
            work()
        except CrpError as error:
            log("warning", "worker_follow_up_failed", code=error.code, message=str(error))

    def _upkeep(self) -> None:
        now = time.monotonic()
        if self._engine is not None and now - self._upkeep_at > UPKEEP_EVERY:
            self._upkeep_at = now
            self._large.submit(self._later, self._engine.upkeep)

    def _end(self) -> None:
        """Finish what is under way, within reason: the proxy is gone, so nobody waits for an answer."""
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(END_GRACE)
        os._exit(0)

    def _close(self) -> None:
        for pool in (self._small, self._tools, self._queries, self._large):
            pool.shutdown(wait=True)
        if self._engine is not None:
            self._later(self._engine.close)


def where_of(error: BaseException) -> str:
    """File and line where an error was raised, without any of its data."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "?"
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def main() -> None:
    """Entry point: settings are the first argument, as JSON."""
    settings = Settings.from_text(sys.argv[1])
    source = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
    target = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    Worker(settings, source, target).run()


if __name__ == "__main__":
    main()
