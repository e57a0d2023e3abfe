"""Errors and statuses that a value or text states of itself, and JSON that stands inside strings. Knows no tables."""

from __future__ import annotations

import ast
import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any


def decode(text: str) -> Any | None:
    """JSON or a Python literal that stands inside a string, cut ones closed; None where there is none."""
    text = text.strip()
    if len(text) < 2 or text[0] not in "[{" or not re.match(r"[\[{]\s*(?:[\"'\[{\d\]}-]|true|false|null|None)", text):
        return None
    try:
        return json.loads(text)
    except ValueError:
        pass
    except RecursionError:
        return None
    if len(text) > 2_000_000:
        return None
    try:
        value = ast.literal_eval(text)
        return value if isinstance(value, dict | list) else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return closed(text)


MAX_NESTING = 200


def closed(text: str) -> Any | None:
    """A JSON text that was cut off, read up to its last whole member; None when that fails too."""
    stack: list[str] = []
    cut: deque[tuple[int, str]] = deque(maxlen=6)
    quoted = escaped = False
    for i, c in enumerate(text[:200_000]):
        if quoted:
            quoted = not (c == '"' and not escaped)
            escaped = c == "\\" and not escaped
        elif c == '"':
            quoted, escaped = True, False
        elif c in "[{":
            stack.append("]" if c == "[" else "}")
            if len(stack) > MAX_NESTING:
                return None
        elif c in "]}":
            if not stack or stack.pop() != c:
                return None
        elif c == ",":
            cut.append((i, "".join(reversed(stack))))
    for i, closers in reversed(cut):
        try:
            return json.loads(text[:i] + closers)
        except ValueError:
            continue
    return None


_STATUS = re.compile(
    r"(?:status[\s_]*(?:code)?\s*[:=]?\s*|HTTP/\d(?:\.\d)?\s+|\bHTTP\s+|error code:?\s*|"
    r"http error\s+|response code:?\s*|\berror\s+)(?P<code>[1-5]\d\d)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b([45]\d\d):? (?:Not Found|Forbidden|Unauthorized|Bad Request|Internal Server|Service Unavailable|"
    r"Too Many|Bad Gateway|Gateway)",
    re.IGNORECASE,
)


def status_codes(text: str) -> list[int]:
    """HTTP status codes that a text states in so many words."""
    found = [int(m["code"]) for m in _STATUS.finditer(text[:20_000])]
    return list(dict.fromkeys(found or [int(m[1]) for m in _REASON.finditer(text[:20_000])]))


_ERROR_KEYS = ("error", "errors", "exception", "error_message", "errormessage", "fault")


def error_of(value: Any, depth: int = 0) -> str | None:
    """The error an object states, in its own words; None when it states none (an empty `error` member is none)."""
    if isinstance(value, str) and depth and (inner := decode(value)) is not None:
        value = inner
    if not isinstance(value, Mapping):
        return None
    lower = {k.lower(): v for k, v in value.items() if isinstance(k, str)}
    for key in _ERROR_KEYS:
        found = lower.get(key)
        if found not in (None, "", False, [], {}, 0, "null", "None"):
            return found if isinstance(found, str) else json.dumps(found, default=str)[:2000]
    if (
        lower.get("ok") is False
        or lower.get("success") is False
        or str(lower.get("status")).lower() in ("error", "failed", "failure", "fail")
    ):
        return str(lower.get("message") or lower.get("detail") or "stated as failed")
    code = next(
        (lower[k] for k in ("status_code", "statuscode", "code", "status") if isinstance(lower.get(k), int)), None
    )
    if (
        isinstance(code, int)
        and not isinstance(code, bool)
        and 400 <= code <= 599
        and ("message" in lower or "detail" in lower or len(lower) <= 4)
    ):
        return str(lower.get("message") or f"status {code}")
    if depth < 2:
        for key in ("response", "result", "data", "body"):
            if key in lower and (inner := error_of(lower[key], depth + 1)):
                return inner
    return None
