"""Gives freed memory back to the system, where the allocator keeps it otherwise (glibc)."""

from __future__ import annotations

import sys
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
LARGE_BLOCK = 300_000
"""Blocks of at least so many bytes go back at once. Those of 256 KiB, a chunk of a payload, are used over and over."""


def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None)


def keep_little() -> None:
    """For as long as a very large result is read: large blocks go back at once, which costs time, and saves 14 MB.

    Left alone, the allocator raises its limit with every large block it sees, and keeps tens of megabytes.
    """
    _limit(LARGE_BLOCK, 128 << 10)


def keep_more() -> None:
    """Speed again: the limits that the allocator comes to by itself."""
    _limit(32 << 20, 64 << 20)


def _limit(block: int, top: int) -> None:
    mallopt = getattr(_libc(), "mallopt", None) if sys.platform.startswith("linux") else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, block)
        mallopt(_TRIM_THRESHOLD, top)


def give_back() -> None:
    """Return what is free. Building the token counter and reading large results leave tens of megabytes behind."""
    trim = getattr(_libc(), "malloc_trim", None) if sys.platform.startswith("linux") else None
    if trim is not None:  # musl has none, and needs none
        trim(0)
