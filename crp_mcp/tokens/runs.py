"""Cutting inside one piece of the pattern: a megabyte of `a`, `=` or blanks. Knows merges, no engine.

What BPE makes of a text determines what it makes of every beginning that ends between two tokens, and two token
sequences join into one exactly if their inner pair of tokens stays as it is when encoded together. Every token is at
most 128 bytes long, so some token of the final text ends in any stretch of 128 bytes. If, whichever of those it is,
a token ends at the cut too, then one does whatever is still to come.
"""

from __future__ import annotations

import re
from typing import Protocol


class Encoder(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...
    def decode_single_token_bytes(self, token: int) -> bytes: ...


_STRETCH = 128
_BACK = 1024
_TRIES = 16

_RUNS = (
    re.compile(rb"[a-z]+"),
    re.compile(rb"[A-Z]+"),
    re.compile(rb"[!-/:-@\[-`{-~]+"),
)
_BLANKS = re.compile(rb"[ \t]+")


def split_run(data: bytearray, engine: Encoder) -> tuple[int, int | None]:
    """An exact cut inside the run that ends `data`, and the tokens before it; (0, None) where there is none.

    Only runs whose two parts are one piece each, alone as well as together: ASCII, the last four kilobytes of the same
    class (see cuts for the pattern); blanks only if all of `data` is, since an earlier line end would join them.
    """
    if not data.isascii() or not _is_run(data):
        return 0, None
    text = data.decode("ascii")
    stops = range(len(text) - 2 * _STRETCH, len(text) - _STRETCH)
    cut = len(text) - _BACK
    tokens = engine.encode_ordinary(text[:cut])
    for count in range(len(tokens), max(len(tokens) - _TRIES, 1), -1):
        last = tokens[count - 1]
        if all(_joins(last, text[cut:stop], engine) for stop in stops):
            return cut, count
        cut -= len(engine.decode_single_token_bytes(last))
    return 0, None


def _is_run(data: bytearray) -> bool:
    tail = data[-4 * _BACK :]
    if len(tail) < 4 * _BACK:
        return False
    return any(run.fullmatch(tail) for run in _RUNS) or _BLANKS.fullmatch(data) is not None


def _joins(last: int, rest: str, engine: Encoder) -> bool:
    """Whether a text whose encoding ends with the token `last` may be followed by `rest` without any change."""
    first = engine.encode_ordinary(rest)[0]
    pair = engine.decode_single_token_bytes(last) + engine.decode_single_token_bytes(first)
    return engine.encode_ordinary(pair.decode("ascii")) == [last, first]
