"""Payload text made safe and short for one line of a summary. Knows nothing of shapes.

Whatever comes in, one line without control characters goes out, in which nothing can be taken for a line, a marker or
a pointer of ours. Shortening happens before that, so an escape written here is never cut; and never inside a number,
a character or an escape of the payload's own.
"""

from __future__ import annotations

import re
import unicodedata

_TERMINAL = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]+[0-~]|\x1b[0-Z\\^-~]"
)
# Between digits a stripped sequence would make one number of two, so there it leaves a mark.
_TERMINAL_IN_NUMBER = re.compile(rf"(?<=[0-9.,])(?:{_TERMINAL})+(?=[0-9.,])")
_TERMINAL_ANY = re.compile(_TERMINAL)
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
# Controls, bidi overrides, zero-width and filler characters, tags, variation selectors used to hide text, surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]+"
)
_ACTIVE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_WIDE_SELECTORS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\uffa0\U000e0100-\U000e01ef]")
_MARKS = re.compile(
    r"\||(?<=scratch)[_\u203f\u2040\u2054](?=\w)|(?<=upstream) (?=partial)|(?<=<)(?=base64)", re.IGNORECASE
)
_BASE64 = re.compile(
    r"(?:data:[\w.+/;=-]{0,80};base64,)?(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[A-Za-z0-9+/_=\r\n-]{160,}"
)
_OPEN_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|x[0-9a-fA-F]?)?|&#?\w{0,8}|%[0-9A-Fa-f]?)$")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)|&#?\w{1,8};|%[0-9A-Fa-f]{2}")
_JOINERS = frozenset(".,:-+/'eE%_")
SLACK = 14
"""A text this much over the width is shown whole: the note on its length would be as long."""


def clean(text: str) -> str:
    """One safe line with everything in it."""
    if text.isascii() and text.isprintable() and not _may_mark(text):
        return text
    if not text.isprintable():
        text = (
            _TERMINAL_ANY.sub("", _TERMINAL_IN_NUMBER.sub("\u241b", text)) if "\x1b" in text or "\x9b" in text else text
        )
        text = _LINE_ENDS.sub(r"\\n", text).replace("\t", " ")
        text = _UNSEEN.sub("\ufffd", text)
    if not text.isascii():
        text = _WIDE_SELECTORS.sub("\ufffd", text)
        if _MARKS.search(unicodedata.normalize("NFKC", text)) is not None:
            text = unicodedata.normalize("NFKC", text)
    return _MARKS.sub(_broken, text)


def _may_mark(text: str) -> bool:
    """Whether ASCII text can have one of `_MARKS`: most has none, and this is a fifth of the search for them."""
    return "|" in text or "_" in text or "<" in text or ("m p" in text.lower() and "upstream" in text.lower())


def printable(text: str) -> str:
    """A text of any number of lines without what moves a cursor, starts a command or turns the direction of writing."""
    if _ACTIVE.search(text) is None and _LINE_ENDS.sub("", text) == text.replace("\n", ""):
        return text
    text = _TERMINAL_ANY.sub("", _TERMINAL_IN_NUMBER.sub("\u241b", text))
    return _ACTIVE.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def _broken(mark: re.Match[str]) -> str:
    return "\\" + mark.group()


def short(text: str, width: int, *, whole: int | None = None) -> str:
    """The same within about `width` characters; a cut is shown by … and the whole length.

    `whole`: where the text is itself only the beginning of a longer one, the length of that, or 0 if it is not known.
    """
    if len(text) <= width + SLACK and whole is None:
        return clean(text)
    encoded = _base64_size(text, whole)
    if encoded is not None:
        return encoded
    # Terminal escapes take no room on the line, so look somewhat further than the width.
    near = text[: 4 * width + 64]
    if "\x1b" in near:
        seen_all = len(near) == len(text) and whole is None
        near = _TERMINAL_ANY.sub("", _TERMINAL_IN_NUMBER.sub("\u241b", near))
        if seen_all and len(near) <= width + SLACK:
            return clean(near)
    head = near[: safe_cut(near, max(0, min(width, len(near) - 1)))].rstrip()
    return f"{clean(head)}…({_length(text, whole)} chars)"


def beginning(text: str, width: int) -> str:
    """The same for a text that is an excerpt anyway, so that its length says nothing."""
    return clean(text) if len(text) <= width else f"{clean(text[: safe_cut(text, width)].rstrip())}…"


def ends(text: str, width: int, *, whole: int | None = None) -> str:
    """The same, keeping the beginning and the end: for messages whose cause comes last.

    `whole`: where the text is the two ends of a longer one, the length of that, or 0 if it is not known.
    """
    if len(text) <= width + SLACK and whole is None:
        return clean(text)
    encoded = _base64_size(text, whole)
    if encoded is not None:
        return encoded
    front, back = width // 3, width - width // 3
    head = text[: safe_cut(text[: front + 12], front)].rstrip()
    tail = text[-back - 12 :]
    return f"{clean(head)}…({_length(text, whole)} chars)…{clean(tail[safe_start(tail, 12) :].lstrip())}"


def _length(text: str, whole: int | None, unit: int = 1) -> str:
    size = len(text) if whole is None else whole
    return f"{size // unit}" if size else f"over {len(text) // unit}"


def _base64_size(text: str, whole: int | None) -> str | None:
    if _BASE64.fullmatch(text, 0, 4096) is None:
        return None
    size = len(text) if whole is None else whole
    return f"<base64 {_length(text, whole, 1024)} KB>" if max(size, len(text)) >= 1024 else f"<base64 {size} B>"


def safe_cut(text: str, at: int) -> int:
    """The nearest place at or before `at` where a cut splits no number, character or escape, and rather no word."""
    if at >= len(text):
        return len(text)
    while at > 0:
        if _in_number(text[at - 1], text[at]) or _in_character(text[at - 1], text[at]):
            at -= 1
            continue
        escape = _OPEN_ESCAPE.search(text, max(0, at - 10), at)
        if escape is None or (escape.group()[0] == "&" and ";" not in text[at : at + 9]):
            break
        at = escape.start()
    space = text.rfind(" ", max(0, at - 12), at)
    if space > 0 and at < len(text) and text[at].isalnum():
        return space
    return at


def safe_start(text: str, at: int) -> int:
    """The same for the beginning of an end piece: the nearest place at or after `at`."""
    escape = _OPEN_ESCAPE.search(text, max(0, at - 10), at)
    whole = _ESCAPE.match(text, escape.start()) if escape is not None else None
    if whole is not None:
        at = max(at, whole.end())
    while 0 < at < len(text) and (_in_number(text[at - 1], text[at]) or _in_character(text[at - 1], text[at])):
        at += 1
    space = text.find(" ", at, at + 12)
    return space if space > 0 and text[at - 1 : at].isalnum() else at


def _in_number(before: str, after: str) -> bool:
    if before.isdigit():
        return after.isalnum() or after in _JOINERS
    return after.isdigit() and (before in _JOINERS or before.isalnum())


def _in_character(before: str, after: str) -> bool:
    # Combining marks, variation selectors, skin tones, joined emoji and the two halves of a flag stay together.
    return (
        unicodedata.category(after)[0] == "M"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\u200d" in (before, after)
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
    )
