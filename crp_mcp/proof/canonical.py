"""Canonical JSON (RFC 8785): one value, one spelling. Knows nothing of what is signed.

Strategy: where orjson with sorted keys is provably the same bytes (guarded below), use it, 30 times faster;
everything else goes to the reference implementation, which also refuses what has no canonical form.
"""

from __future__ import annotations

from typing import Any

import orjson

_SAFE = 2**53 - 1
_FIRST_SURROGATE = "\ud800"


def canonicalize(value: Any) -> bytes:
    """The RFC 8785 bytes of a value made of dict, list, tuple, str, int, float, bool and None.

    Raises ValueError for what has no canonical form: other types, keys that are not strings, NaN and infinities,
    integers beyond ±(2^53 - 1), lone surrogates, nesting beyond what the interpreter can walk.
    """
    if _is_plain(value):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            pass  # a lone surrogate or very deep nesting: the reference says which
    return canonicalize_reference(value)


def canonicalize_reference(value: Any) -> bytes:
    """As `canonicalize`, always by the reference implementation. Raises ValueError."""
    import rfc8785  # only rare values come here

    try:
        return rfc8785.dumps(value)
    except RecursionError:
        raise ValueError("nested too deeply for a canonical form") from None


def _is_plain(value: Any) -> bool:
    """Whether sorted orjson is exactly RFC 8785 for this value (types are compared exactly: subclasses may differ).

    Integers: within the exact range of a double (§3.2.2.3). Floats: those both print as plain shortest decimals, so
    no integral ones and neither end of the range. Keys: below U+D800, where UTF-16 order is code point order (§3.2.3).
    """
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str or item is None or kind is bool:
            continue
        if kind is int:
            if not -_SAFE <= item <= _SAFE:
                return False
        elif kind is dict:
            for key in item:
                if type(key) is not str or not (key.isascii() or max(key) < _FIRST_SURROGATE):
                    return False
            stack.extend(item.values())
        elif kind is list or kind is tuple:
            stack.extend(item)
        elif not (kind is float and 1e-5 <= abs(item) < 1e16 and not item.is_integer()):
            return False
    return True
