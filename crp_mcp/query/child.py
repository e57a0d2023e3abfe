"""The query process: reads requests on stdin, answers on stdout, and can be killed at any moment without loss.

Standard library alone, so that a new one is ready in a moment. It ends with its stdin.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

from crp_mcp.query import functions, gate

PREFIX = struct.Struct(">I")
MEMORY_BYTES = 1 << 30
CPU_GRACE = 2
"""Seconds of CPU beyond a request's limit after which the system itself ends the process."""
SPAN = 200
"""Characters shown on either side of a match in a long line."""
LONG_LINE = 600


def read_frame(source: BinaryIO) -> bytes | None:
    head = source.read(PREFIX.size)
    if len(head) < PREFIX.size:
        return None
    (size,) = PREFIX.unpack(head)
    body = source.read(size)
    return body if len(body) == size else None


def write_frame(target: BinaryIO, body: bytes) -> None:
    target.write(PREFIX.pack(len(body)) + body)
    target.flush()


def limit_process() -> bool:
    """Limits of the process for its whole life; where the system has them. Whether it can write no file from now on."""
    try:
        import resource
    except ImportError:  # Windows: heap limit, progress handler and the parent's kill remain
        return False
    wanted = {"RLIMIT_AS": MEMORY_BYTES, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 64, "RLIMIT_NPROC": 0}
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None or (name == "RLIMIT_NPROC" and hasattr(os, "geteuid") and os.geteuid() == 0):
            continue
        hard = resource.getrlimit(kind)[1]
        try:
            resource.setrlimit(kind, (value if hard < 0 else min(value, hard), hard))
        except (ValueError, OSError):
            continue  # a system that does not let this one be set; the others hold
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 0


def limit_cpu(seconds: float) -> None:
    """Let the system end this process once it used so many more seconds of CPU."""
    try:
        import resource
    except ImportError:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (used + int(seconds) + 1 + CPU_GRACE, hard))


class Files:
    """The one connection that is kept open, as long as it is the same file."""

    def __init__(self, *, no_files: bool = False) -> None:
        self.no_files = no_files
        self._key: tuple[str, int, int] | None = None
        self._db: sqlite3.Connection | None = None
        self.modules: frozenset[str] = frozenset()

    def get(self, path: str) -> sqlite3.Connection:
        found = os.stat(path)
        key = (path, found.st_dev, found.st_ino)
        if self._db is None or key != self._key:
            self.close()
            self._db, self._key = gate.open_connection(path), key
            self.modules = gate.modules_of(self._db)
        return self._db

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None


def answer(request: dict[str, Any], source: BinaryIO, files: Files) -> dict[str, Any]:
    """The reply to one request."""
    limit_cpu(float(request.get("seconds", 5)))
    try:
        if request["op"] == "query":
            db = files.get(request["path"])
            reply = gate.run(db, files.modules, request, no_files=files.no_files)
            return {**reply, "pattern": functions.take_pattern_fault()}
        if request["op"] == "grep":
            return grep(request, source)
        files.close()
        return {"ok": True}
    except MemoryError:
        return {"ok": False, "error": "out of memory", "late": False}
    except (sqlite3.Error, OSError, ValueError) as error:
        return {"ok": False, "error": str(error), "late": False}


def grep(request: dict[str, Any], source: BinaryIO) -> dict[str, Any]:
    """Lines in which a pattern is found, with lines around them. The text follows, an empty frame ends it."""
    lines = _lines(source)
    try:
        pattern = functions.compile_pattern(request["pattern"])
        found = _grep(pattern, lines, request)
    finally:
        deque(lines, maxlen=0)  # what was sent must be read, whatever became of it
    return found


def _grep(pattern: Any, lines: Iterator[str], request: dict[str, Any]) -> dict[str, Any]:
    around, skip, most = int(request["context"]), int(request["offset"]), int(request["most"])
    before: deque[tuple[int, str]] = deque(maxlen=around)
    shown: list[tuple[int, str, bool]] = []
    matches, follow, last, kept = 0, 0, 0, 0
    for number, line, span in functions.search_lines(pattern, lines):
        last = number
        if span is not None:
            matches += 1
            if matches > skip and kept < most:
                kept += 1
                shown += [(at, text, False) for at, text in before if not shown or at > shown[-1][0]]
                shown.append((number, excerpt(line, span), True))
                follow = around
                continue
            follow = 0
        elif follow:
            follow -= 1
            shown.append((number, excerpt(line, None), False))
            continue
        before.append((number, excerpt(line, None)))
    return {"ok": True, "matches": matches, "shown": shown, "kept": kept, "lines": last}


def excerpt(line: str, span: tuple[int, int] | None) -> str:
    """The line; of a long one what stands around the match."""
    if len(line) <= LONG_LINE:
        return line
    start, end = span or (0, 0)
    first, last = max(0, start - SPAN), min(len(line), max(end, start) + SPAN, start + 3 * SPAN)
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''} [characters {first}-{last}]"


def _lines(source: BinaryIO) -> Iterator[str]:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    while piece := read_frame(source):
        *lines, rest = (rest + decoder.decode(piece)).split("\n")
        yield from (line.removesuffix("\r") for line in lines)
    rest += decoder.decode(b"", True)
    if rest:
        yield rest


def main() -> None:
    """Serve until stdin ends."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    files = Files(no_files=limit_process())
    while (body := read_frame(source)) is not None:
        reply = answer(json.loads(body), source, files)
        try:
            write_frame(target, json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace"))
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
