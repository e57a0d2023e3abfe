"""Characters the engine classes by Unicode 17 and tiktoken by Unicode 16, and others that count the same in both.

Where the two disagree, tiktoken sees an unassigned character (no letter, mark or number) and the engine a letter,
mark or number. Each of the 4,699 is counted in the guise of a character that both see as neither and whose bytes
merge alike: the same last byte wherever a merge with the next character exists, the same first byte where one with
a blank before exists, as many tokens between. docs/decisions/0001 says how they were found; the tests prove them.
"""

from __future__ import annotations

import re

_SHIFTED = (
    (0x1ACF, 0x1ADD, 0x1C000),
    (0x1AE0, 0x1AEB, 0x1C000),
    (0x10940, 0x10959, 0xC0000),
    (0x10EC5, 0x10EC7, 0xC0000),
    (0x10EFA, 0x10EFB, 0xC0000),
    (0x11B60, 0x11B67, 0xC0000),
    (0x11DB0, 0x11DDB, 0xC0000),
    (0x11DE0, 0x11DE9, 0xC0000),
    (0x16EA0, 0x16EB8, 0xC0000),
    (0x16EBB, 0x16ED3, 0xC0000),
    (0x16FF2, 0x16FF6, 0xC0000),
    (0x187F8, 0x187FF, 0xC0000),
    (0x18D09, 0x18D1E, 0xC0000),
    (0x18D80, 0x18DF2, 0xC0000),
    (0x1E6C0, 0x1E6DE, 0xC0000),
    (0x1E6E0, 0x1E6F5, 0xC0000),
    (0x1E6FE, 0x1E6FF, 0xC0000),
    (0x2B73A, 0x2B73F, 0xC0000),
    (0x2CEA2, 0x2CEAD, 0xC0000),
    (0x323B0, 0x33479, 0xC0000),
)
"""(first, last, what is added). Plane 0 and 1 become unassigned, plane 1 to 3 unassigned or private characters."""

STANDINS: dict[int, int] = {
    0x088F: 0x0FCF,
    0x0C5C: 0x0BDC,
    0x0CDC: 0x0BDC,
    0xA7CE: 0xA48D,
    0xA7CF: 0xA48F,
    0xA7D2: 0xAAD2,
    0xA7D4: 0xA494,
    0xA7F1: 0xA631,
    **{code: code + offset for first, last, offset in _SHIFTED for code in range(first, last + 1)},
}
"""Code point -> the code point to count instead; one character each, so that offsets in a text stay."""

_LEADS = (b"\xe0", b"\xe1", b"\xea", b"\xf0")
_NEAR = re.compile(
    rb"\xe0(?:\xa2\x8f|[\xb1\xb3]\x9c)|\xe1\xab[\x8f-\xab]|\xea\x9f[\x8e-\xb1]"
    rb"|\xf0(?:\x90[\xa5\xbb]|\x91[\xad\xb6\xb7]|\x96[\xba\xbb\xbf]|\x98[\x9f\xb4\xb6\xb7]|\x9e\x9b|\xab\x9c|\xac\xba"
    rb"|\xb2[\x8e-\xbf]|\xb3[\x80-\x91])"
)
"""Finds every one of them in UTF-8, and few others."""


def needs_standins(data: bytes) -> bool:
    """Whether UTF-8 `data` may hold one of the characters. False is certain."""
    return any(lead in data for lead in _LEADS) and _NEAR.search(data) is not None


def with_standins(text: str) -> str:
    """The text to count instead: as many characters, as many tokens."""
    return text.translate(STANDINS)
