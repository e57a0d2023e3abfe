"""Whether bytes are JSON that every strict reader takes: valid grammar, no lone surrogates, no nesting bombs."""

from __future__ import annotations

import json
import re

from .scan import NotJson, is_deep

MAX_DEPTH = 200
"""Levels of nesting at which common strict readers give up; a message they refuse leaves its sender waiting."""

_SHORT = 16 * 1024
_PAIR = rb"[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"\\(?:u" + _PAIR + rb"|u(?P<lone>[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S)
_PERHAPS = re.compile(rb"\\u[dD][89a-fA-F]")


class TooDeep(NotJson):
    """Nested to `MAX_DEPTH` levels or more."""


def _refuse(constant: str) -> None:
    raise NotJson(f"{constant} is not JSON")


# Long integers are of no interest here, and turning them into numbers is quadratic and limited.
_DECODE = json.JSONDecoder(parse_constant=_refuse, parse_int=str.strip, parse_float=str.strip).decode


def check_sound(data: bytes) -> bool:
    """Check UTF-8 bytes of one JSON text. True where it holds lone surrogates (see `repair_surrogates`).

    Raises:
        NotJson: it is not JSON. `TooDeep` is a subclass.
    """
    if is_deep(data, MAX_DEPTH):
        raise TooDeep(f"nested {MAX_DEPTH} levels deep or more")
    if len(data) > _SHORT and _fast(data):
        return False
    try:
        _DECODE(data.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise NotJson(str(error)) from None
    return bool(_PERHAPS.search(data)) and repair_surrogates(data) != data


def _fast(data: bytes) -> bool:
    # Ten times faster than the standard reader, and not worth its start-up for short messages.
    import msgspec

    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        # It refuses lone surrogates too, which are JSON: the standard reader has the last word.
        return False
    return True


def repair_surrogates(data: bytes) -> bytes:
    r"""Replace escapes of lone surrogates by `\ufffd`. The length stays the same.

    They stand for no character, so nothing that writes UTF-8 can pass them on, and strict readers refuse the message.
    """
    return _ESCAPE.sub(lambda match: b"\\ufffd" if match["lone"] else match[0], data)
