"""Where a text may be cut so that the parts' token counts add up to the whole's. Knows the o200k pattern, no engine.

The pattern splits a text into pieces left to right, without looking behind, and merges bytes within a piece only.
So a cut is exact wherever some piece must end. Its alternatives, in order (o200k_base; M: marks):

1. [^\\r\\n\\p{L}\\p{N}]? upper-or-M* lower-or-M+ ('s|'t|'re|'ve|'m|'ll|'d)?     2. the same with upper+ lower*
3. \\p{N}{1,3}    4. [ ]?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*    5. \\s*[\\r\\n]+    6. \\s+(?!\\S)    7. \\s+
"""

from __future__ import annotations

import re

_LETTER = (
    rb"(?:[\xe5-\xe9\xeb\xec][\x80-\xbf]{2}"  # ideographs from U+5000, Hangul U+B000-CFFF
    rb"|\xe3(?:\x81[\x81-\xbf]|\x82[\xa1-\xbf]|\x83[\x80-\xba])"  # Hiragana, Katakana
    rb"|\xd0[\x90-\xbf]|\xd1[\x80-\x8f])"  # Cyrillic
)
_CJK_PUNCTUATION = rb"\xe3\x80[\x80-\x82\x88-\x91]|\xef\xbc[\x81-\x8f]"

_RULES = (
    # A letter or the end of a contraction, then neither letter, mark nor apostrophe: 1 and 2 end here.
    rb"[A-Za-z](?=[\x00-&(-@\[-`{-\x7f])",
    # Lower then upper case: 1 and 2 end, but for a contraction, whose letters may be of either case ('lL).
    rb"(?<!')[a-z](?=[A-Z])",
    # A digit, then none: 3 ends.
    rb"[0-9](?=[\x00-/:-\x7f])",
    # Punctuation, then a digit: 4 ends. No prefix, since no letter follows.
    rb"[!-/:-@\[-`{-~](?=[0-9])",
    # Anything that is no white space, then a blank: no piece goes on into one. The byte ends no Unicode space.
    rb"[!-~\x8b-\x9e\xa1-\xa7\xaa-\xae\xb0-\xbf](?=[ \t])",
    # A line end, then no white space and no slash: 4's tail and 5 end.
    rb"[\r\n](?=[!-.0-~\xc3-\xe0\xe4-\xf4])",
    # Letters of scripts that use few blanks, then what is no letter, mark or apostrophe.
    _LETTER + rb"(?=[\x00-&(-@\[-`{-\x7f]|" + _CJK_PUNCTUATION + rb")",
)
_REACH = 8
"""Bytes a rule looks at, at most, and a few more."""

_LAST = re.compile(rb".*(?:" + b"|".join(_RULES) + rb")", re.DOTALL)


def last_cut(data: bytes | bytearray, since: int = 0) -> int:
    """Largest offset at which UTF-8 `data` may be cut exactly; 0 where no rule applies. The rest is never empty.

    `since`: length of a beginning that is known to have no cut, so that a growing buffer is searched once.
    """
    size = len(data)
    floor = max(0, since - _REACH)
    for window in (256, 4096, 65_536, size):
        start = max(floor, size - window)
        found = _LAST.match(data, start)
        if found:
            return found.end()
        if start == floor:
            break
    return 0
