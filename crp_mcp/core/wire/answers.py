"""Messages we write ourselves: errors, results, notifications, and edits of small raw objects."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any, NamedTuple

from .scan import members

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
"""In the handshake revisions; after them it is INVALID_PARAMS."""
CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001
UNSUPPORTED_VERSION = -32022
HTTP_DATA = "dev.crp/http"
"""In an error's data: what HTTP said. `"reached": false`: the server itself has not seen the request."""
UNKNOWN = "unknown"
"""The same, where it may have."""


class Failure(NamedTuple):
    """Why a request got no answer from the server it went to."""

    code: int
    text: str
    data: Any = None


def dump(value: Any) -> bytes:
    """JSON text of a value, as UTF-8."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def error_line(ident: bytes, failure: Failure) -> bytes:
    error: dict[str, Any] = {"code": failure.code, "message": failure.text}
    if failure.data is not None:
        error["data"] = failure.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (ident, dump(error))


def result_line(ident: bytes, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (ident, result)


def request_line(ident: bytes, method: str, params: bytes | None) -> bytes:
    rest = b',"params":' + params if params is not None else b""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b%b}' % (ident, dump(method), rest)


def notification_line(method: str, params: bytes | None = None) -> bytes:
    rest = b',"params":' + params if params is not None else b""
    return b'{"jsonrpc":"2.0","method":%b%b}' % (dump(method), rest)


def failed_call(text: str, modern: bool) -> bytes:
    """A `tools/call` result that tells the model what went wrong. A protocol error would not reach it in every host."""
    kind = b'"resultType":"complete",' if modern else b""
    return b'{%b"content":[{"type":"text","text":%b}],"isError":true}' % (kind, dump(text))


def with_member(obj: bytes, name: str, value: bytes) -> bytes:
    """A raw JSON object with one member set; the others stay as they are, byte for byte."""
    found = members(obj)
    if name in found:
        start, end = found[name]
        return obj[:start] + value + obj[end:]
    end = obj.rindex(b"}")
    return b"%b%b%b:%b%b" % (obj[:end], b"," if found else b"", dump(name), value, obj[end:])


def without_members(obj: bytes, names: Container[str]) -> bytes:
    """A raw JSON object without the members so named; the others keep their bytes."""
    found = members(obj)
    kept = [(name, obj[start:end]) for name, (start, end) in found.items() if name not in names]
    if len(kept) == len(found):
        return obj
    return b"{" + b",".join(dump(name) + b":" + value for name, value in kept) + b"}"
