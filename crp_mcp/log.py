"""Structured log: one JSON object a line on standard error. Never payloads, arguments, environments or secrets.

A line that standard error cannot take at once is dropped: nothing here may hold up a message.
"""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

LEVELS = ("debug", "info", "warning", "error")
_LONGEST = 4000
"""What a pipe takes whole if it takes anything."""

_threshold = LEVELS.index("warning")
_dropped = 0


def set_level(level: str) -> None:
    """Log this level and what is graver.

    Raises:
        ValueError: no such level.
    """
    global _threshold
    _threshold = LEVELS.index(level)


def log(level: str, event: str, **fields: Any) -> None:
    """Write one line. Values are shortened to fit; what is not JSON is written as text."""
    global _dropped
    if LEVELS.index(level) < _threshold:
        return
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + "Z"
    record: dict[str, Any] = {"time": stamp, "level": level, "event": event, "pid": os.getpid(), **fields}
    if _dropped:
        record["dropped_before"] = _dropped
    line = json.dumps(record, default=str)
    if len(line) > _LONGEST:
        line = json.dumps({k: v[:500] if isinstance(v, str) else v for k, v in record.items()}, default=str)[:_LONGEST]
    if _ready():
        _dropped = 0
        try:
            os.write(2, line.encode() + b"\n")
        except OSError:
            # Standard error is closed: there is nowhere left to say so.
            _dropped += 1
    else:
        _dropped += 1


def _ready() -> bool:
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    return bool(poll.poll(0))
