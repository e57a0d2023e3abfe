"""Is this result an error although nothing says so? Looks at JSON values; texts are in fault_texts.

False alarms cost as much as misses: `error: ""`, a column called error and a log that mentions one are no errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .cells import compact_json
from .columns import Num
from .fault_texts import text_fault
from .lists import ListFacts
from .vocabulary import ERRORS, MESSAGES, plain

_Members = Mapping[str, Any]
_STATUS_KEYS = ("statuscode", "httpstatus", "httpstatuscode", "httpcode", "responsecode", "errorcode", "status", "code")
_LOOSE_STATUS = frozenset({"status", "code", "errorcode"})
"""Members that hold other things too: an HTTP status only beside a message."""
_FLAGS = ("ok", "success", "succeeded", "issuccess", "successful")
_NO_ERROR = frozenset(
    ("", "[]", "{}", "-", "n/a", "no error", "no errors", "none", "null", "nil", "no", "ok", "success", "0", "false")
)
_FAILED = frozenset({"error", "fail", "failed", "failure", "exception"})
_REASONS = re.compile(
    r"(?:[45]\d\d )?(?:bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|gone"
    r"|conflict|request timeout|too many requests|internal server error|not implemented|bad gateway|service unavailable"
    r"|gateway time-?out|bad credentials|access denied|permission denied|missing authentication token"
    r"|requires authentication|not authenticated)[.!]?",
    re.I,
)
_DEPTH = 3
_LONGEST = 4_000


def value_fault(value: Any, depth: int = 0) -> str | None:
    """The message of an error-shaped value, or None where it is a result."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and len(value[0]) <= 4:
        return _listed_fault(value[0])
    if not isinstance(value, dict) or not value or depth > _DEPTH:
        return None
    keys = _plain_keys(value)
    return (
        _explicit(value, keys)
        or _failed_flag(value, keys)
        or _failed_status(value, keys)
        or _bare_message(value, keys)
        or _inner_fault(value, depth)
    )


def _plain_keys(value: _Members) -> dict[str, str]:
    keys: dict[str, str] = {}
    for key in value:
        keys.setdefault(plain(key), key)
    return keys


def _listed_fault(only: _Members) -> str | None:
    """`[{"message": …, "errorCode": …}]`, `[{"error": …}]`: a list of one that is nothing but the error."""
    keys = _plain_keys(only)
    if "errorcode" in keys and ("message" in keys or "msg" in keys):
        return _message(only)
    if len(only) == 1 and isinstance(only.get(keys.get("error", "")), str | dict):
        return value_fault(only)
    return None


# --- what names itself an error ---


def _explicit(value: _Members, keys: Mapping[str, str]) -> str | None:
    if "errors" in keys and _speaks_for_all(value, keys):
        return _message({"errors": value[keys["errors"]]})
    for name, key in keys.items():
        if name in ERRORS and _says_error(value[key]) and not _has_rows(value, key):
            return _message({key: value[key], **{other: item for other, item in value.items() if other != key}})
    named = value.get("__type")
    if (isinstance(named, str) and named.endswith(("Exception", "Error"))) or value.get("isError") is True:
        return _message(value)
    if "error" in (value.get("object"), value.get("type")) and _message_of(value):
        return _message(value)
    return None


def _speaks_for_all(value: _Members, keys: Mapping[str, str]) -> bool:
    """`errors` of a GraphQL answer or a validation report; not a batch's tally of what went wrong."""
    errors = value[keys["errors"]]
    if isinstance(errors, list):
        if not errors or not all(isinstance(item, dict | str) for item in errors):
            return False
    elif not isinstance(errors, dict) or not errors:
        return False
    if keys.keys() - {"errors"} <= {"data", "extensions"}:
        return True
    return not _has_rows(value, keys["errors"]) and not _full(value.get(keys.get("data", "")))


def _full(value: Any) -> bool:
    return value not in (None, "", [], {}, False)


def _says_error(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return value is True
    if isinstance(value, Num | int | float):
        return False
    if isinstance(value, str):
        return value.strip().strip(".!").lower() not in _NO_ERROR and not re.fullmatch(r"[-+0-9.,%eE ]+", value)
    if isinstance(value, dict):
        return any(map(_full, value.values()))
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict | str) for item in value)


def _has_rows(value: _Members, but: str) -> bool:
    """Is there real data beside this member? Then the error is a remark about it."""
    for key, item in value.items():
        if key == but or plain(key) in ("errors", "details", "messages"):
            continue
        if isinstance(item, ListFacts) or (isinstance(item, list) and item and isinstance(item[0], dict | list)):
            return True
        inner = item.values() if isinstance(item, dict) and plain(key) in ("data", "result") else ()
        if any(isinstance(part, list | ListFacts) and part for part in inner):
            return True
    return False


# --- flags and statuses ---


def _failed_flag(value: _Members, keys: Mapping[str, str]) -> str | None:
    """`ok: false`, `success: false`, `status: "error"`; an `error` member that is there and empty says otherwise."""
    for flag in _FLAGS:
        if flag in keys and _is_false(value[keys[flag]]):
            silent = not ERRORS.isdisjoint(keys)
            return None if silent or _has_rows(value, keys[flag]) else _message(value)
    status = value.get(keys.get("status", ""))
    if not isinstance(status, str) or status.lower() not in _FAILED or _has_rows(value, ""):
        return None
    alone = keys.keys() <= {"status", "data", "code"}
    return _message(value) if alone or (len(value) <= 8 and _message_of(value)) else None


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.lower() == "false")


def _is_failure(code: Any) -> bool:
    """An HTTP status of 400 to 599, as a number or as text."""
    if isinstance(code, str):
        return re.fullmatch(r"[45]\d\d", code) is not None
    return isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _failed_status(value: _Members, keys: Mapping[str, str]) -> str | None:
    """An HTTP status of 400 or more, in an object that is about it."""
    for name in _STATUS_KEYS:
        code = value.get(keys.get(name, ""))
        if not _is_failure(code) or _has_rows(value, ""):
            continue
        if name not in _LOOSE_STATUS or len(value) == 1 or (_message_of(value) and len(value) <= 10):
            return _message(value)
    code = value.get(keys.get("code", ""))
    if keys.keys() <= {"message", "code", "data"} and "message" in keys and _is_number(code) and code not in (0, 200):
        return _message(value)
    return None


def _bare_message(value: _Members, keys: Mapping[str, str]) -> str | None:
    """`{"message": "Not Found", "documentation_url": …}`, `{"detail": "Not authenticated"}`."""
    for name in ("message", "detail", "msg"):
        text = value.get(keys.get(name, ""))
        if not isinstance(text, str) or len(value) > 3:
            continue
        if _REASONS.fullmatch(text.strip()) or "documentationurl" in keys:
            return text
        if len(value) == 1 and text_fault(text):
            return text
    detail = value.get("detail")
    listed = isinstance(detail, list) and detail and all(isinstance(item, dict) and "msg" in item for item in detail)
    return _message(value) if listed and len(value) == 1 else None


def _inner_fault(value: _Members, depth: int) -> str | None:
    """An error inside the one member that holds anything: `{"data": {"error": …}}`."""
    full = [item for item in value.values() if _full(item) and item is not True]
    containers = [item for item in full if isinstance(item, dict)]
    if len(containers) == 1 and len(full) <= 2:
        return value_fault(containers[0], depth + 1)
    return None


# --- the message ---


def _message_of(value: _Members) -> str | None:
    keys = _plain_keys(value)
    for name in MESSAGES:
        item = value.get(keys.get(name, ""))
        if isinstance(item, dict):
            item = item.get("value")
        if isinstance(item, str) and item.strip():
            return item
    return None


def _message(value: _Members) -> str:
    """What a person would want to read of it: the message if there is one, else the object itself."""
    keys = _plain_keys(value)
    for name, key in keys.items():
        item = value[key]
        if name in ERRORS and isinstance(item, str) and _says_error(item):
            return item
    for name in ("error", "errors", "errormessages", "fault", "exception"):
        item = value.get(keys.get(name, ""))
        if _full(item) and item is not True:
            return _spoken(item, 0)
    return _message_of(value) or compact_json(dict(value), _LONGEST)


def _spoken(item: Any, depth: int) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, list) and item and depth < _DEPTH:
        return "; ".join(_spoken(part, depth + 1) for part in item[:20])
    if isinstance(item, dict) and depth < _DEPTH:
        return _spoken_object(item, depth)
    return compact_json(item, _LONGEST)


def _spoken_object(item: _Members, depth: int) -> str:
    text = _message_of(item)
    if text:
        codes = (item.get(key) for key in ("code", "Code", "type", "status"))
        code = next((code for code in codes if isinstance(code, str | int) and not isinstance(code, bool)), None)
        return text if code is None or str(code) in text else f"{code}: {text}"
    inner = [part for part in item.values() if isinstance(part, dict | list)]
    if len(inner) == 1 and len(item) <= 2:
        return _spoken(inner[0], depth + 1)
    return compact_json(dict(item), _LONGEST)
