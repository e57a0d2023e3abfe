"""Does a line say that there is nothing? `No matches found` does, `No errors found` speaks of something else."""

from __future__ import annotations

import re

_LONGEST = 160
_NOTHING = re.compile(
    r"(?i)\W*(?:(?:no|zero|0)\s+(?:\w+\s+){0,4}?(?:found|matched|returned|available|match(?:es)?|results?|rows?|records?|items?"
    r"|data|entries|documents?|hits|files?|output|content)\b[^\n]{0,100}|nothing (?:found|to show|matched)"
    r"|(?:query|search|request)?\s*(?:returned|found|got|listed|matched|fetched|retrieved|showing)\s+(?:no|0|zero)\b[^\n]{0,80}"
    r"|empty (?:set|result|list|response)\b[^\n]{0,40}|null|none|nil|undefined|n/a"
    r"|\(0 rows\)|\(\)|\(empty\)|no output|no data)\W*"
)
_NOT_NOTHING = re.compile(
    r"(?i)\b(?:errors?|problems?|warnings?|broken|conflicts?|vulnerabilit\w+|such|longer|need|changes?)\b"
)


def says_nothing(line: str) -> bool:
    """Whether this is all that a result without rows says."""
    return len(line) <= _LONGEST and _NOTHING.fullmatch(line) is not None and not _NOT_NOTHING.search(line)
