"""Gives freed memory back to the system, where the allocator keeps it otherwise (glibc)."""

from __future__ import annotations

import sys


def give_back() -> None:
    """Return what is free. Building the token counter and reading large results leave tens of megabytes behind."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none, and needs none
    if trim is not None:
        trim(0)
