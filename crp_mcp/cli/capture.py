"""`crp-mcp capture`: records an output that did not come through the proxy; with --stream, every line as a chunk."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from crp_mcp.errors import BadRequest, ConfigError

from . import common

if TYPE_CHECKING:
    from crp_mcp.app.engine import Engine
    from crp_mcp.core.model import Entry

MAX_CHUNK = 64 << 20


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tool", required=True, metavar="SERVER:NAME", help="whose output standard input is")
    parser.add_argument("--arguments", default="{}", metavar="JSON", help="the arguments of the call")
    parser.add_argument("--conversation", metavar="NAME", help="whose it is (default: this host's and folder's)")
    parser.add_argument("--stream", nargs="?", const="", metavar="NAME", help="every line is a chunk of one stream")
    parser.add_argument("--name", help="a name for the result; it is not pinned by that")
    common.add_store(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> int:
    from crp_mcp.app.engine import open_engine

    server, found, tool = options.tool.partition(":")
    if not found or not server or not tool:
        raise ConfigError(f"--tool: {options.tool!r} is not of the form SERVER:NAME")
    arguments = arguments_of(options.arguments)
    stream_id = None if options.stream is None else options.stream or "stream_" + secrets.token_hex(8)
    engine = open_engine(common.settings_of(options, host=True))
    count = 0
    try:
        for chunk in chunks(sys.stdin.buffer, stream_id is not None):
            count += 1
            entry = record(engine, server, tool, arguments, chunk, options, stream_id)
            report = {"scratch_id": entry.scratch_id, "stream_id": entry.stream_id, "bytes": entry.payload_bytes}
            if options.json:
                common.print_json(report)
            else:
                common.print_text(" · ".join(f"{key} {value}" for key, value in report.items() if value is not None))
    finally:
        engine.close()
    if not count:
        raise BadRequest("nothing was captured: standard input has no line that is not blank")
    return 0


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a call. Raises BadRequest for what is no JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadRequest(f"--arguments: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise BadRequest("--arguments: must be a JSON object")
    return value


def chunks(source: BinaryIO, by_line: bool) -> Iterator[bytes]:
    """All of the input, or its lines as they come, without the line's end; blank lines are no chunks."""
    if not by_line:
        yield source.read()
        return
    lines: Iterable[bytes] = iter(lambda: source.readline(MAX_CHUNK), b"")
    for line in lines:
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if text.strip():
            yield text


def record(
    engine: Engine,
    server: str,
    tool: str,
    arguments: dict[str, Any],
    data: bytes,
    options: argparse.Namespace,
    stream_id: str | None,
) -> Entry:
    """Capture one output, or one chunk of a stream."""
    from crp_mcp.core.model import ToolCall
    from crp_mcp.relay.results import read_text
    from crp_mcp.relay.service import Job

    meta = {"dev.crp/conversation": options.conversation} if options.conversation else {}
    scope = engine.conversations.scope(meta)
    if stream_id is not None:
        engine.streams.new_chunk(scope, stream_id, tool)
    call = ToolCall(server, tool, arguments, json.dumps(arguments).encode())
    job = Job(
        call,
        scope,
        engine.policy(server, tool),
        b"",
        keep=True,
        host_key=engine.settings.host_key or None,
        turn_id=engine.turns.of_call(scope, meta),
        stream_id=stream_id,
        name=options.name,
        audited=engine.life.operator.audits,
    )
    outcome = engine.service.settle(job, read_text(data))
    engine.service.count_later(outcome)
    return outcome.entry
