"""Structured log lines on stderr: one JSON object each, never a payload, an argument or a secret.

stdout belongs to the protocol. Importing `logging` costs start-up, so this does not.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Final

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}

_threshold = LEVELS["warning"]


def set_level(name: str) -> None:
    """Show events of this level and above. Raises KeyError for a name that is none of `LEVELS`."""
    global _threshold
    _threshold = LEVELS[name]


def log_event(event: str, *, level: str = "warning", **fields: str | int | float | bool | None) -> None:
    """Write one line: time, level, event and fields. Fields name things (ids, codes, sizes); they hold no content."""
    if LEVELS[level] < _threshold:
        return
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = json.dumps({"time": stamp, "level": level, "event": event, **fields})
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # stderr is gone: there is nobody left to tell
