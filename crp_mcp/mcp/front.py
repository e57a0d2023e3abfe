"""The host's side before the event loop is there: our copies of stdin and stdout, and the first answer.

Loading the event loop takes longer than most servers take to introduce themselves. So while a thread loads it, the
host's first request is passed to its server, and the answer back, with system calls; then the loop takes over.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crp_mcp import __version__
from crp_mcp.core.wire.commands import Command, Open, OwnSide, ToHost, ToServer
from crp_mcp.core.wire.inplace import InPlace
from crp_mcp.errors import UpstreamError

from .framing import LineReader
from .spool import Spool
from .start import Started, start_servers

if TYPE_CHECKING:
    from crp_mcp.core.wire.proxy import Proxy
    from crp_mcp.relay.ports import RelayPort

    from .spec import ServerSpec

GLANCE = 0.01
"""Seconds between looks at whether the event loop is loaded."""
CHUNK = 64 * 1024
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))


class Front:
    """What the event loop takes over: the core, half-read lines, commands not carried out yet."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        relay: RelayPort,
        *,
        in_place: bool,
        spool_dir: Path,
        started: Started | None,
    ) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.relay = relay
        self.started = started or start_servers(specs)
        self.spool = Spool(spool_dir)
        self.proxy = core_of(specs, relay, in_place)
        self.host_in, self.host_out = protect_stdio()
        self.host_lines = LineReader(self.spool)
        self.server_lines = {spec.name: LineReader(self.spool) for spec in specs}
        self.opened: set[str] = set()
        self.left: list[Command] = []
        """Commands that only the event loop can carry out."""
        self.host_ended = False
        self.signal: int | None = None
        """A signal to end that came before the event loop could see it."""
        for number in ENDING_SIGNALS:
            signal.signal(number, self._note_signal)
        if in_place:
            self._pass_first(specs[0].name)

    def _note_signal(self, number: int, _: object) -> None:
        self.signal = number

    # -- the first request and its answer ------------------------------------------------------------------------

    def _pass_first(self, name: str) -> None:
        process = self.started.processes.get(name)
        if (
            process is None
            or isinstance(process, UpstreamError)
            or os.name != "posix"
            or not _has_input(self.host_in, 0)
        ):
            return
        assert process.stdin
        assert process.stdout
        self.left += [command for command in self.proxy.open(name, time.monotonic()) if not isinstance(command, Open)]
        self.left += self.proxy.server_opened(name, time.monotonic())
        self.opened.add(name)
        chunk = os.read(self.host_in, CHUNK)
        self.host_ended = not chunk
        for message in self.host_lines.feed(chunk):
            self._run(self.proxy.from_host(message, time.monotonic()), process)
        loader = threading.Thread(target=import_module, args=("crp_mcp.mcp.stdio",), daemon=True)
        loader.start()
        while self._awaits() and loader.is_alive():
            if not _has_input(process.stdout.fileno(), GLANCE):
                continue
            chunk = os.read(process.stdout.fileno(), CHUNK)
            if not chunk:
                return
            for message in self.server_lines[name].feed(chunk):
                self._run(self.proxy.from_server(name, message, time.monotonic()), process)

    def _awaits(self) -> bool:
        """Whether something is asked, and nothing has come up that needs the event loop."""
        return not self.left and not self.host_ended and self.proxy.next_deadline() is not None

    def _run(self, commands: Sequence[Command], process: subprocess.Popen[bytes]) -> None:
        for command in commands:
            fd = self.host_out if isinstance(command, ToHost) else process.stdin.fileno()  # type: ignore[union-attr]
            small = isinstance(command, ToHost | ToServer) and all(
                isinstance(piece, bytes) and len(piece) < CHUNK for piece in command.pieces
            )
            if self.left or not small:
                # From the first one that has to wait on, everything waits, so that the order stays.
                self.left.append(command)
            else:
                _write(fd, b"".join(command.pieces) + b"\n")  # type: ignore[union-attr,arg-type]


def _has_input(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _write(fd: int, data: bytes) -> None:
    """Write a short message to a pipe that was empty; one that is broken is noticed by the event loop."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except BrokenPipeError:
        return


def core_of(specs: Sequence[ServerSpec], relay: RelayPort, in_place: bool) -> Proxy:
    """The core in front of these servers. `in_place`: there is exactly one, and everything of it passes."""
    rules = [spec.ways.rules(spec.name) for spec in specs]
    if in_place:
        return InPlace(rules[0], own_side(relay))
    from crp_mcp.core.wire.aggregate import Aggregate

    return Aggregate(rules, own_side(relay))


def feeds_interface(definition: Mapping[str, Any] | None) -> bool:
    """Whether a tool's results are shown by a user interface of its server's (MCP Apps), which needs them whole."""
    meta = definition.get("_meta") if definition else None
    return isinstance(meta, dict) and any(name == "ui" or str(name).startswith("ui/") for name in meta)


def own_side(relay: RelayPort) -> OwnSide:
    """The relay as the core sees it."""

    def may_replace(server: str, tool: str, definition: Mapping[str, Any] | None) -> bool:
        return not feeds_interface(definition) and not relay.policy(server, tool, definition).passthrough

    return OwnSide(
        relay.instructions,
        relay.own_tools,
        relay.resource_templates,
        relay.owns_uri,
        may_replace,
        {"name": "crp-mcp", "version": __version__},
        relay.accepts,
        relay.consults,
        relay.learn_roots if relay.wants_roots() else None,
        _secret,
    )


@cache
def _secret() -> bytes:
    """A key of this process alone, made when it is first needed."""
    return os.urandom(32)


def protect_stdio() -> tuple[int, int]:
    """Our own copies of stdin and stdout; what others print goes to stderr, what they read is empty."""
    host_in, host_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return host_in, host_out
