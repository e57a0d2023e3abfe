"""Gives freed memory back to the system, where the allocator keeps it otherwise (glibc)."""

from __future__ import annotations

import sys
from typing import Any

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # malloc.h
LARGE_BLOCK = 300_000
"""Blocks of at least so many bytes go back at once. Those of 256 KiB, a chunk of a payload, are used over and over."""


def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None)


def keep_little() -> None:
    """For a process of several threads that handles large results: one heap for all, and large blocks not kept in it.

    Left alone, the allocator raises that limit with every large block it sees, and keeps tens of megabytes.
    """
    mallopt = getattr(_libc(), "mallopt", None) if sys.platform.startswith("linux") else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, LARGE_BLOCK)
        mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return what is free. Building the token counter and reading large results leave tens of megabytes behind."""
    trim = getattr(_libc(), "malloc_trim", None) if sys.platform.startswith("linux") else None
    if trim is not None:  # musl has none, and needs none
        trim(0)
