"""Answers in the words of the other era: results typed and stamped or not, the handshake and discovery, error codes.

Pure functions. What neither era knows passes as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crp_mcp.core.wire.answers import Failure, dump, with_member, without_members
from crp_mcp.core.wire.catalog import field_of
from crp_mcp.core.wire.eras import MODERN, SERVER_INFO
from crp_mcp.core.wire.frame import Frame, text_of
from crp_mcp.core.wire.scan import items

from . import dialects
from .rewrite import failed, object_members, rewritten, written

_STAMPS = ("resultType", "ttlMs", "cacheScope")
_CAPTURED = "tools/call"
"""What answers it is recorded as it came."""


def without_server_info(meta: bytes | None) -> bytes | None:
    """`_meta` without the stamp that says whose result it is; None where nothing is left."""
    found = object_members(meta)
    if meta is None or SERVER_INFO not in found:
        return meta
    rest = {name: value for name, value in found.items() if name != SERVER_INFO}
    return written(rest) if rest else None


def with_server_info(meta: bytes | None, info: bytes) -> bytes:
    """`_meta` with that stamp, unless there is one."""
    return written({SERVER_INFO: info, **object_members(meta)})


def initialize_result(
    discovered: Mapping[str, bytes], client: Mapping[str, Any], wanted: str | None, name: str
) -> bytes:
    """An answer to `initialize` from one to `server/discover`."""
    meta = discovered.get("_meta")
    info = object_members(meta).get(SERVER_INFO) or discovered.get("serverInfo")
    left_out = ("resultType", "supportedVersions", "ttlMs", "cacheScope", "_meta", "capabilities", "serverInfo")
    result = {
        "protocolVersion": dump(dialects.revision_for(wanted)),
        "capabilities": dialects.server_capabilities(discovered.get("capabilities"), client),
        "serverInfo": info or dump({"name": name, "version": "unknown"}),
        **{member: value for member, value in discovered.items() if member not in left_out},
    }
    rest = without_server_info(meta)
    return written({**result, "_meta": rest} if rest is not None else result)


def discover_result(initialized: Mapping[str, bytes], client: Mapping[str, Any], ttl: int) -> bytes:
    """An answer to `server/discover` from one to `initialize`."""
    left_out = ("protocolVersion", "capabilities", "serverInfo", "_meta")
    info = initialized.get("serverInfo")
    meta = initialized.get("_meta")
    result = {
        "resultType": b'"complete"',
        "supportedVersions": dump([MODERN]),
        "capabilities": dialects.server_capabilities(initialized.get("capabilities"), client),
        **{member: value for member, value in initialized.items() if member not in left_out},
        "ttlMs": b"%d" % ttl,
        "cacheScope": b'"private"',
    }
    if info is not None:
        result["_meta"] = with_server_info(meta, info)
    elif meta is not None:
        result["_meta"] = meta
    return written(result)


# -- for hosts of the handshake --------------------------------------------------------------------------------------


def handshake_answer(method: str, frame: Frame, outer: bytes) -> Frame:
    """A complete result of a server of 2026-07-28."""
    put: dict[str, Any] = {}
    drop = [*_STAMPS]
    meta = frame.part("_meta")
    rest = without_server_info(meta)
    if rest is None:
        drop.append("_meta")
    elif rest != meta:
        put["_meta"] = rest
    if method == "tools/call":
        _structured(frame, put, drop)
    elif method == "tools/list":
        _schemas(frame, put)
    drop = [name for name in drop if name in frame.inner]
    return rewritten(frame, put=put, drop=drop, ident=outer, over=method == _CAPTURED)


def _structured(frame: Frame, put: dict[str, Any], drop: list[str]) -> None:
    """Before 2026-07-28 structured content is an object. Another value is there as text."""
    value = frame.part("structuredContent")
    if value is None or value[:1] == b"{":
        return
    drop.append("structuredContent")
    if (frame.part("content") or b"[]").strip(b"[] \t\r\n") == b"":
        put["content"] = b'[{"type":"text","text":%b}]' % dump(value.decode("utf-8", "replace"))


def _schemas(frame: Frame, put: dict[str, Any]) -> None:
    """Before 2026-07-28 an output schema is that of an object; with another one, hosts refuse the whole list."""
    raw = frame.part("tools")
    if raw is None or raw[:1] != b"[" or b"outputSchema" not in raw:
        return
    tools = [raw[start:end] for start, end in items(raw)]
    fresh = [without_members(tool, ("outputSchema",)) if _odd_schema(tool) else tool for tool in tools]
    if fresh != tools:
        put["tools"] = b"[%b]" % b",".join(fresh)


def _odd_schema(tool: bytes) -> bool:
    schema = object_members(tool).get("outputSchema")
    return schema is not None and field_of(schema, "type") != "object"


def handshake_error(method: str, frame: Frame, outer: bytes) -> Frame:
    """An error of a server of 2026-07-28."""
    code = dialects.code_of(frame)
    return _coded(frame, outer, code, dialects.handshake_code(method, code) if code is not None else None)


def _coded(frame: Frame, outer: bytes, code: int | None, fresh: int | None) -> Frame:
    put = {"code": b"%d" % fresh} if fresh is not None and fresh != code else {}
    return rewritten(frame, put=put, ident=outer)


def plain_result(result: bytes) -> bytes:
    """A result our own side has made of one of 2026-07-28."""
    meta = object_members(result).get("_meta")
    rest = without_server_info(meta)
    fresh = without_members(result, ("resultType", *(("_meta",) if rest is None else ())))
    return with_member(fresh, "_meta", rest) if rest is not None and rest != meta else fresh


# -- for hosts of 2026-07-28 -----------------------------------------------------------------------------------------


def modern_answer(method: str, frame: Frame, outer: bytes, stamp: bytes | None, missing: Mapping[str, Any]) -> Frame:
    """An answer of a server of the handshake. `stamp`: its name; `missing`: capabilities its questions needed."""
    if "error" in frame.top:
        return _modern_error(frame, outer, missing)
    put: dict[str, Any] = {"resultType": b'"complete"'}
    if method in dialects.CACHEABLE:
        put.update({"ttlMs": b"0", "cacheScope": b'"private"'})
    put = {name: value for name, value in put.items() if name not in frame.inner}
    if stamp is not None and ("_meta" not in frame.inner or frame.part("_meta") is not None):
        put["_meta"] = with_server_info(frame.part("_meta"), stamp)
    return rewritten(frame, put=put, ident=outer, over=method == _CAPTURED)


def _modern_error(frame: Frame, outer: bytes, missing: Mapping[str, Any]) -> Frame:
    if missing:
        text = text_of(frame.part("message")) or "The call needs what this host has not declared."
        return failed(outer, Failure(dialects.MISSING_CAPABILITY, text, {"requiredCapabilities": dict(missing)}))
    code = dialects.code_of(frame)
    return _coded(frame, outer, code, dialects.modern_code(code) if code is not None else None)
