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

_ERROR_KEYS = frozenset(
    {
        "error",
        "err",
        "exception",
        "fault",
        "errormessage",
        "errormessages",
        "errormsg",
        "errordescription",
        "errordetails",
        "errorinfo",
    }
)
_MESSAGE_KEYS = (
    "message",
    "msg",
    "error_message",
    "errormessage",
    "error_description",
    "detail",
    "details",
    "description",
    "reason",
    "title",
    "error",
    "faultstring",
    "errors",
)
_STATUS_KEYS = frozenset(
    {"status", "statuscode", "httpstatus", "httpstatuscode", "httpcode", "code", "responsecode", "errorcode"}
)
_NO_ERROR = frozenset(
    {"", "none", "null", "nil", "no", "no error", "no errors", "ok", "success", "0", "false", "n/a", "-", "[]", "{}"}
)
_FAILED = frozenset({"error", "fail", "failed", "failure", "exception"})
_REASONS = re.compile(
    r"(?:[45]\d\d )?(?:bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|request timeout|conflict|gone"
    r"|too many requests|internal server error|not implemented|bad gateway|service unavailable|gateway time-?out"
    r"|bad credentials|access denied|permission denied|missing authentication token|requires authentication)[.!]?",
    re.I,
)
_DEPTH = 3


def value_fault(value: Any, depth: int = 0) -> str | None:
    """The message of an error-shaped value, or None where it is a result."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and len(value[0]) <= 4:
        return _listed_fault(value[0])
    if not isinstance(value, dict) or not value or depth > _DEPTH:
        return None
    keys = {_plain(key): key for key in reversed(value)}
    found = (
        _explicit(value, keys) or _failed_flag(value, keys) or _failed_status(value, keys) or _bare_message(value, keys)
    )
    return found or _inner_fault(value, depth)


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _listed_fault(only: Mapping[str, Any]) -> str | None:
    """`[{"message": …, "errorCode": …}]`, `[{"error": …}]`: a list of one that is nothing but the error."""
    plain = {_plain(key): key for key in only}
    if "errorcode" in plain and any(key in plain for key in ("message", "msg")):
        return _message(only)
    if len(only) == 1 and "error" in plain and isinstance(only[plain["error"]], str | dict):
        return value_fault(only)
    return None


def _explicit(value: Mapping[str, Any], keys: Mapping[str, str]) -> str | None:
    """A non-empty member that is named for an error."""
    if "errors" in keys and _nonempty(value[keys["errors"]]) and _graphql(value, keys):
        return _message({"errors": value[keys["errors"]]})
    for plain, key in keys.items():
        if plain in _ERROR_KEYS and _says_error(value[key]) and not _has_rows(value, key):
            return _message({key: value[key], **{k: v for k, v in value.items() if k != key}})
    if _plain_text(value.get("__type")).endswith(("Exception", "Error")) or value.get("isError") is True:
        return _message(value)
    if any(value.get(key) == "error" for key in ("object", "type")) and _message_of(value):
        return _message(value)
    return None


def _plain_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _graphql(value: Mapping[str, Any], keys: Mapping[str, str]) -> bool:
    """`errors` speaks for the whole where nothing else does: GraphQL answers, validation reports; not a batch's tally."""
    errors = value[keys["errors"]]
    if isinstance(errors, list) and not all(isinstance(item, dict | str) for item in errors):
        return False
    if isinstance(errors, int | float | bool):
        return False
    others = {plain for plain in keys if plain != "errors"}
    if others <= {"data", "extensions"}:
        return True
    return not _has_rows(value, keys["errors"]) and not _nonempty(value.get(keys.get("data", "")))


def _nonempty(value: Any) -> bool:
    return value not in (None, "", [], {}, False)


def _says_error(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return value is True
    if isinstance(value, Num | int | float):
        return False
    if isinstance(value, str):
        return value.strip().strip(".!").lower() not in _NO_ERROR and not re.fullmatch(r"[-+0-9.,%eE ]+", value)
    if isinstance(value, dict):
        return any(_nonempty(item) for item in value.values())
    return bool(value) and all(isinstance(item, dict | str) for item in value)


def _has_rows(value: Mapping[str, Any], but: str) -> bool:
    """Is there real data beside the error member? Then the error is a remark about it."""
    for key, item in value.items():
        if key == but or _plain(key) in ("errors", "details", "messages"):
            continue
        rows = getattr(item, "count", None) if not isinstance(item, list | str | tuple) else None
        if isinstance(rows, int) or (isinstance(item, list) and item and isinstance(item[0], dict | list)):
            return True
        if (
            isinstance(item, dict)
            and any(isinstance(inner, list) and inner for inner in item.values())
            and _plain(key) in ("data", "result")
        ):
            return True
    return False


def _failed_flag(value: Mapping[str, Any], keys: Mapping[str, str]) -> str | None:
    """`ok: false`, `success: false`, `status: "error"`; an `error` member that is there and empty says otherwise."""
    silent = any(plain in _ERROR_KEYS for plain in keys)
    for flag in ("ok", "success", "succeeded", "issuccess", "successful"):
        if (
            flag in keys
            and value[keys[flag]] in (False, "false", "False")
            and value[keys[flag]] != 0.5
            and not _number(value[keys[flag]])
        ):
            return None if silent or _has_rows(value, keys[flag]) else _message(value)
    status = value.get(keys.get("status", ""), None)
    if (
        isinstance(status, str)
        and status.lower() in _FAILED
        and len(value) <= 8
        and _message_of(value)
        and not _has_rows(value, "")
    ):
        return _message(value)
    return None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _failed_status(value: Mapping[str, Any], keys: Mapping[str, str]) -> str | None:
    """An HTTP status of 400 or more, in an object that is about it."""
    for plain in _STATUS_KEYS & keys.keys():
        code = value[keys[plain]]
        number = (
            code if _number(code) else int(code) if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code) else 0
        )
        if not 400 <= number <= 599 or _has_rows(value, ""):
            continue
        if plain not in ("status", "code", "errorcode") or (_message_of(value) and len(value) <= 10) or len(value) == 1:
            return _message(value)
    if {"message", "code"} == set(keys) and _number(value[keys["code"]]) and value[keys["code"]] not in (0, 200):
        return _message(value)
    return None


def _bare_message(value: Mapping[str, Any], keys: Mapping[str, str]) -> str | None:
    """`{"message": "Not Found", "documentation_url": …}`, `{"detail": "Not authenticated"}`."""
    for plain in ("message", "detail", "msg"):
        text = value.get(keys.get(plain, ""))
        if isinstance(text, str) and len(value) <= 3:
            if _REASONS.fullmatch(text.strip()) or (len(value) == 1 and text_fault(text)):
                return text
            if "documentationurl" in keys:
                return text
    detail = value.get(keys.get("detail", ""))
    if (
        len(value) == 1
        and isinstance(detail, list)
        and detail
        and all(isinstance(item, dict) and "msg" in item for item in detail)
    ):
        return _message(value)
    return None


def _inner_fault(value: Mapping[str, Any], depth: int) -> str | None:
    """An error inside the one member that holds anything: `{"data": {"error": …}}`."""
    full = [item for item in value.values() if _nonempty(item) and item is not True]
    containers = [item for item in full if isinstance(item, dict)]
    if len(containers) == 1 and len(full) <= 2:
        return value_fault(containers[0], depth + 1)
    return None


def _message_of(value: Mapping[str, Any]) -> str | None:
    plain = {_plain(key): key for key in reversed(value)}
    for name in _MESSAGE_KEYS:
        item = value.get(plain.get(_plain(name), ""))
        if isinstance(item, str) and item.strip():
            return item
    return None


def _message(value: Mapping[str, Any]) -> str:
    """What a person would want to read of it: the message if there is one, else the object itself."""
    for item in value.values():
        if (
            isinstance(item, str)
            and _says_error(item)
            and _plain(next(key for key in value if value[key] is item)) in _ERROR_KEYS
        ):
            return item
        break
    for plain in ("error", "errors", "fault", "exception"):
        for key, item in value.items():
            if _plain(key) == plain and _nonempty(item):
                return _spoken(item)
    return _message_of(value) or compact_json(dict(value), 4_000)


def _spoken(item: Any, depth: int = 0) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and depth < _DEPTH:
        text = _message_of(item)
        code = next(
            (
                item[key]
                for key in ("code", "type", "status", "Code")
                if isinstance(item.get(key), str | int) and item[key] is not True
            ),
            None,
        )
        if text:
            return text if code is None or str(code) in text else f"{code}: {text}"
        inner = [part for part in item.values() if isinstance(part, dict | list)]
        return _spoken(inner[0], depth + 1) if len(inner) == 1 and len(item) <= 2 else compact_json(item, 4_000)
    if isinstance(item, list) and item and depth < _DEPTH:
        return "; ".join(_spoken(part, depth + 1) for part in item[:20])
    return compact_json(item, 4_000)
