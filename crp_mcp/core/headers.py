"""The headers object of an answer as HTTP response headers (SPEC-029 §4.3, §9, §11): which there are, how they look.

Pure. What an answer says of itself is decided in `relay.headers`; here only what may go onto the wire is let through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HEADERS_KEY = "dev.crp/headers"
"""Member of an answer's `_meta` that holds its headers."""

_COUNTS = r"\d{1,15}/\d{1,15}"
_FORMS = {
    "CRP-Context-Scratch-Entries": _COUNTS,
    "CRP-Context-Scratch-Freshness": r"fresh|stale; age=\d{1,15}s; class=(?:REALTIME|VOLATILE|STABLE|STATIC)",
    "CRP-Context-Scratch-Tokens-Saved": r"\d{1,15}",
    "CRP-Context-Scratch-Full": "true",
    "CRP-Safety-Tool-Attribution": _COUNTS,
    "Agent-Memory-Lineage-Receipt": r"sha256:[0-9a-f]{64}",
}
_READ = {name: re.compile(form, re.ASCII) for name, form in _FORMS.items()}
NAMES = tuple(_FORMS)
"""Every header there is. A client that sends one of them is ignored."""


def response_headers(meta: object) -> dict[str, str]:
    """The HTTP response headers of an answer, from its `_meta`: name to value, in a fixed order, exact or absent.

    Only what reads as one of ours passes, so that neither content nor a line break can get into a header.
    """
    given = meta.get(HEADERS_KEY) if isinstance(meta, Mapping) else None
    if not isinstance(given, Mapping):
        return {}
    found = ((name, given.get(name)) for name in NAMES)
    return {name: value for name, value in found if isinstance(value, str) and _READ[name].fullmatch(value)}
