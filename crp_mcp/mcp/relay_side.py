"""The relay's part of a conversation: results handed to it, our own tools and resources asked of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crp_mcp.core.wire.answers import INTERNAL_ERROR, INVALID_PARAMS, dump
from crp_mcp.core.wire.commands import CallOwn, Capture, Consult, Lend
from crp_mcp.core.wire.frame import Piece
from crp_mcp.errors import BadRequest, CrpError, NotFound
from crp_mcp.log import log

from .spool import SpoolFile

if TYPE_CHECKING:
    from crp_mcp.relay.ports import RawResult, RelayPort

Settled = Callable[[int, bytes | None], None]
Refused = Callable[[int, int, str], None]


class RelaySide:
    """Runs what the core wants of the relay, and reports: `settled(key, result)` or `refused(key, code, text)`."""

    def __init__(self, relay: RelayPort, settled: Settled, refused: Refused) -> None:
        self._relay = relay
        self._settled = settled
        self._refused = refused

    async def capture(self, command: Capture) -> None:
        """Have a result recorded."""
        from crp_mcp.core.model import ToolCall
        from crp_mcp.relay.ports import CapturedCall

        raw_arguments = bytes_of(command.arguments) or b"{}"
        call = ToolCall(command.server, command.tool, object_of(raw_arguments), raw_arguments)
        captured = CapturedCall(call, object_of(command.meta), command.modern, command.definition, command.server)
        try:
            fresh = await self._relay.capture(captured, raw_result(command.result))
        except Exception as error:  # noqa: BLE001 - the tool ran: whatever went wrong with us, its result is the host's
            log("error", "capture_failed", server=command.server, tool=command.tool, reason=repr(error))
            fresh = None
        self._settled(command.key, fresh)

    async def consult(self, command: Consult) -> bytes | None:
        """What to answer in place of a call; None: make it."""
        from crp_mcp.core.model import ToolCall
        from crp_mcp.relay.ports import CapturedCall

        raw_arguments = bytes_of(command.arguments) or b"{}"
        call = ToolCall(command.server, command.tool, {}, raw_arguments)
        asked = CapturedCall(call, object_of(command.meta), command.modern, command.definition, command.server)
        try:
            return await self._relay.before(asked)
        except Exception as error:  # noqa: BLE001 - the host must get an answer, and the proxy must go on
            log("error", "consulting_failed", server=command.server, tool=command.tool, reason=repr(error))
            return None

    async def lend(self, command: Lend) -> tuple[bytes | None, str | None, str | None]:
        """Arguments with stored values in place, or the question to ask first, or why the call must not be made."""
        from crp_mcp.core.model import ToolCall
        from crp_mcp.relay.ports import CapturedCall

        call = ToolCall(command.server, command.tool, {}, command.arguments)
        asked = CapturedCall(call, object_of(command.meta), False, command.definition, command.server)
        try:
            return *await self._relay.lend(asked, command.agreed), None
        except CrpError as error:
            return None, None, str(error)
        except Exception as error:  # noqa: BLE001 - the host must get an answer, and the proxy must go on
            log("error", "lending_failed", server=command.server, tool=command.tool, reason=repr(error))
            return None, None, "The stored value could not be read."

    async def serve(self, command: CallOwn) -> None:
        """Have a request answered by our own side."""
        try:
            result = await self._ask(command)
        except CrpError as error:
            code = INVALID_PARAMS if isinstance(error, NotFound | BadRequest) else INTERNAL_ERROR
            self._refused(command.key, code, str(error))
        except Exception as error:  # noqa: BLE001 - the host must get an answer, and the proxy must go on
            log("error", "own_request_failed", kind=command.kind, target=command.target, reason=repr(error))
            self._refused(command.key, INTERNAL_ERROR, "Internal error")
        else:
            self._settled(command.key, dump(result))

    async def _ask(self, command: CallOwn) -> dict[str, Any]:
        request = command.request
        meta = object_of(request.part("_meta"))
        if command.kind == "resource":
            result = await self._relay.read_resource(command.target, meta, command.modern)
        elif command.kind == "complete":
            result = await self._relay.complete(object_of(bytes_of(request.top_piece("params"))))
        else:
            span = request.inner.get("arguments")
            try:
                arguments = value_of(bytes_of(request.piece(span)) if span else None)
            except (ValueError, RecursionError) as error:
                said = f"{command.target}: arguments cannot be read: {error}"
                result = {"content": [{"type": "text", "text": said}], "isError": True}
            else:
                result = await self._relay.call_tool(command.target, arguments, meta, command.modern)
        return {"resultType": "complete", **result} if command.modern else result


def raw_result(piece: Piece) -> RawResult:
    """A result as the relay takes it."""
    from crp_mcp.relay.ports import RawResult

    if isinstance(piece, bytes):
        return RawResult(piece)
    assert isinstance(piece.source, SpoolFile)
    return RawResult(None, piece.source.path, piece.start, piece.end)


def bytes_of(piece: Piece | None) -> bytes | None:
    """A piece in memory, wherever it lies."""
    if piece is None or isinstance(piece, bytes):
        return piece
    assert isinstance(piece.source, SpoolFile)
    return piece.source.read(piece.start, piece.end)


def value_of(raw: bytes | None) -> Any:
    """Raw JSON as Python sees it; None where there is none. Numbers beyond all bounds become the largest there are.

    Raises:
        ValueError, RecursionError: it is no JSON, or nested too deeply.
    """
    if not raw:
        return None
    return json.loads(raw, parse_int=_number, parse_float=_number, parse_constant=_refuse)


def _number(text: str) -> int | float:
    """Infinity would be lost on the way to the tool: the largest number is refused there as what it is."""
    if len(text) <= 100 and text.lstrip("-").isdigit():
        return int(text)
    return max(-sys.float_info.max, min(float(text), sys.float_info.max))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def object_of(raw: bytes | None) -> dict[str, Any]:
    """A raw JSON object as Python sees it; {} for anything else."""
    try:
        value = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
