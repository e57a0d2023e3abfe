"""A wire-level client: sends text, keeps every line that comes back, answers what the server asks. No SDK, no models.

The same for every transport; `open_program` is the one over stdio.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, Protocol

from crp_mcp.errors import UpstreamError

from .compare import Recording

ROOTS = [{"uri": "file:///selftest", "name": "selftest"}]
ANSWERS: Mapping[str, Any] = {
    "ping": {},
    "roots/list": {"roots": ROOTS},
    "elicitation/create": {"action": "decline"},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "A fixed answer."},
        "model": "selftest",
        "stopReason": "endTurn",
    },
}
"""What the server gets when it asks us; the same in every run."""
QUIET = 0.02
SILENT = 10.0
"""After so many seconds without an answer to a ping a server has gone silent for good."""
GONE = '{"method":"(gone)"}'
"""Stands at the end of what was said by a server that has gone silent, or has ended."""
SETTLED = 0.5
LATE = 2.0
"""Seconds a message may come later through us than directly."""


class Transport(Protocol):
    """One open connection. `close` gives what is no message: how it ended, what stood on stderr."""

    @property
    def pid(self) -> int: ...

    def send(self, line: str) -> None: ...

    def close(self) -> Mapping[str, str]: ...


class Peer:
    """One connection under test. What arrives is kept until `take`."""

    def __init__(self, transport: Transport, arrived: queue.Queue[str | None], timeout: float) -> None:
        self._transport = transport
        self._arrived = arrived
        self._timeout = timeout
        self._kept: list[str] = []
        self.sent: dict[str, str] = {}
        self.over = False
        self._fences = 0

    @property
    def pid(self) -> int:
        """Of the process at the other end; 0 where there is none of ours."""
        return self._transport.pid

    def send(self, line: str) -> None:
        """Send a line as it is."""
        try:
            self._transport.send(line)
        except OSError:
            self.over = True

    def tell(self, method: str, params: str | None = None) -> None:
        self.send(_message(None, method, params))

    def post(self, ident: str, method: str, params: str | None = "{}") -> None:
        """Send a request. `ident` and `params` are JSON as it goes out."""
        self.sent[ident] = method
        self.send(_message(ident, method, params))

    def ask(self, ident: str, method: str, params: str | None = "{}", timeout: float | None = None) -> str | None:
        """Send a request and wait for the next answer, whatever its id; None where none came in time."""
        self.post(ident, method, params)
        return self.answer(timeout)

    def answer(self, timeout: float | None = None) -> str | None:
        """The next answer."""
        return self._until(lambda message: "method" not in message, self._timeout if timeout is None else timeout)

    def notified(self, method: str, timeout: float) -> str | None:
        """The next notification of a method; None where none came in time."""
        return self._until(lambda message: message.get("method") == method, timeout)

    def fence(self, params: str) -> None:
        """Wait until everything sent before has been dealt with: what is answered by then is answered at all."""
        self._fences += 1
        ident = f"fence {self._fences}"
        self.send(_message(json.dumps(ident), "ping", params))
        wanted = lambda message: message.get("id") == ident and "method" not in message  # noqa: E731
        line = self._until(wanted, min(self._timeout, SILENT))
        if line is not None:
            self._kept.remove(line)
        else:
            self.over = True

    def _until(self, wanted: Any, timeout: float) -> str | None:
        end = time.monotonic() + timeout
        while not self.over:
            line = self._next(max(0.0, end - time.monotonic()))
            if line is None:
                return None
            message = _object(line)
            if message is not None and wanted(message):
                return line
        return None

    def _next(self, timeout: float) -> str | None:
        try:
            line = self._arrived.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            self.over = True
            return None
        self._kept.append(line)
        self._reply(line)
        return line

    def _reply(self, line: str) -> None:
        message = _object(line) or {}
        method, ident = message.get("method"), message.get("id")
        if method is None or ident is None:
            return
        answer = {"jsonrpc": "2.0", "id": ident}
        known = ANSWERS.get(method)
        refused = {"code": -32601, "message": f"no {method} here"}
        self.send(json.dumps({**answer, **({"result": known} if known is not None else {"error": refused})}))

    def settle(self) -> None:
        """Let the server say what it has to say of its own accord after an opening."""
        while self._next(SETTLED) is not None:
            pass

    def take(self, expected: int = 0) -> tuple[str, ...]:
        """Everything that arrived since the last time; `expected`: how many messages are awaited for a while."""
        end = time.monotonic() + LATE
        while not self.over:
            wait = QUIET if len(self._kept) >= expected else max(0.0, end - time.monotonic())
            if self._next(wait) is None:
                break
        taken, self._kept = tuple(self._kept), []
        return (*taken, GONE) if self.over else taken

    def close(self) -> Recording:
        """End the connection; how that went."""
        facts = self._transport.close()
        self.over = self.over or False
        while (line := self._drained()) is not None:
            self._kept.append(line)
        return Recording(tuple(self._kept), facts)

    def _drained(self) -> str | None:
        try:
            return self._arrived.get_nowait()
        except queue.Empty:
            return None


def _message(ident: str | None, method: str, params: str | None) -> str:
    parts = ['"jsonrpc":"2.0"', *([f'"id":{ident}'] if ident is not None else []), f'"method":{json.dumps(method)}']
    return "{" + ",".join([*parts, *([f'"params":{params}'] if params is not None else [])]) + "}"


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Program:
    """A server as a child process."""

    GRACE = 10.0

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=self._errors, env=env, cwd=cwd)
        except OSError as error:
            raise UpstreamError(f"{argv[0]} cannot be started: {error.strerror or error}") from error
        self.arrived: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.arrived.put(line.decode("utf-8", "surrogateescape").rstrip("\r\n"))
        self.arrived.put(None)

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode("utf-8", "surrogateescape") + b"\n")
        self._process.stdin.flush()

    def close(self) -> Mapping[str, str]:
        """End of input, then wait."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        ended = "by itself after the end of its input"
        try:
            self._process.stdin.close()
        except OSError:
            ended = "before the end of its input"
        try:
            self._process.wait(self.GRACE)
        except subprocess.TimeoutExpired:
            ended = f"not within {self.GRACE:g} s of the end of its input"
            self._process.kill()
            self._process.wait()
        self._reader.join(self.GRACE if ended.startswith("by") else 1)
        if not self._reader.is_alive():  # else a process it has left behind holds the pipe open
            self._process.stdout.close()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace")
        self._errors.close()
        return {"shutdown": ended, "stderr": said}


def open_program(argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, timeout: float) -> Peer:
    """Start a server and talk to it over stdio. Raises UpstreamError where it cannot be started."""
    program = Program(argv, dict(os.environ) if env is None else env, cwd)
    return Peer(program, program.arrived, timeout)
