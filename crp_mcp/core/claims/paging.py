"""What an object says of the rows that stand in it: how many there are in all, and whether these are all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TOTAL_KEYS = (
    "total",
    "total_count",
    "totalcount",
    "total_results",
    "totalresults",
    "count",
    "total_rows",
    "totalsize",
    "num_found",
)
_MORE_KEYS = (
    "truncated",
    "has_more",
    "hasmore",
    "incomplete_results",
    "is_truncated",
    "istruncated",
    "next_page",
    "next_cursor",
    "nextpagetoken",
    "next",
)


def total_of(owner: Mapping[str, Any]) -> int | None:
    for holder in (
        owner,
        *(
            v
            for k, v in owner.items()
            if isinstance(v, dict) and k in ("meta", "metadata", "pagination", "page_info", "paging")
        ),
    ):
        for key, value in holder.items():
            if (
                isinstance(key, str)
                and key.lower().replace("-", "_") in _TOTAL_KEYS
                and isinstance(value, int)
                and not isinstance(value, bool)
            ):
                return value
    return None


def counts_members(key: str, cell: Any, owner: Mapping[str, Any]) -> bool:
    """Whether a member only says how many rows stand beside it: that is known of the rows."""
    lists = [v for v in owner.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    paged = any(
        str(k).lower() in _MORE_KEYS or str(k).lower() in ("page", "per_page", "offset", "limit") for k in owner
    )
    counts = key.lower() in _TOTAL_KEYS and isinstance(cell, int)
    return counts and bool(lists) and (paged or any(len(v) == cell for v in lists))


def is_partial(owner: Mapping[str, Any]) -> bool:
    return any(
        isinstance(k, str) and k.lower() in _MORE_KEYS and v not in (None, False, "", 0) for k, v in owner.items()
    )
