"""Is this all of it? Totals and "there is more" markers, in members beside the rows or in lines of text.

Total, returned and shown are three numbers; only what the source itself says counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .cells import compact_json
from .columns import Num
from .vocabulary import COUNT, LAST, LIMIT, MORE, NEXT, PAGES, POINTERS, REMAINING, TOTAL, TRUNCATED, plain


@dataclass(frozen=True, slots=True)
class Extent:
    """What the source says of the whole: how many rows there are in all, and why this is not all of them."""

    total: int | None = None
    why: str | None = None


def read_extent(wrappers: Sequence[dict[str, Any]], rows: int) -> Extent:
    """From the objects around the rows, the outermost first."""
    total: int | None = None
    why: str | None = None
    limit: str | None = None
    facts = [(key, plain(key), value) for key, value in _facts(wrappers)]
    last = any(_says_last(name, value) for _, name, value in facts)
    pointed = any(name in NEXT for _, name, _ in facts)
    for key, name, value in facts:
        number = _as_count(value)
        if _says_more(name, value, last) or (name in POINTERS and not last and not pointed and _is_opaque(value)):
            why = why or _said(key, value)
        elif number is not None:
            if name in TOTAL or (name in COUNT and number > rows):
                total = number if total is None or (number >= rows and name in TOTAL) else total
            elif name in REMAINING and number > 0:
                total, why = rows + number, why or _said(key, value)
            elif name in LIMIT and number == rows and rows > 0:
                limit = _said(key, value)
    if total is not None and total < rows:
        total = None
    if total is not None and total > rows and why is None:
        why = f"{rows} of {total}"
    if why is None and limit is not None and total is None:
        why = f"as many rows as the limit ({limit})"
    return Extent(total, why)


def _facts(wrappers: Sequence[dict[str, Any]]) -> Iterable[tuple[str, Any]]:
    for wrapper in wrappers:
        for key, value in wrapper.items():
            if isinstance(value, dict) and plain(key) in PAGES:
                if key.lower() == "total" and "value" in value:
                    yield "total", value["value"]
                else:
                    yield from ((inner, item) for inner, item in value.items() if _is_fact(inner, item))
            elif not isinstance(value, list):
                yield key, value
            elif plain(key) in ("link", "links"):
                yield from (("next", link.get("href") or link.get("url")) for link in value if _leads_on(link))


def _is_fact(key: str, value: Any) -> bool:
    return plain(key) in NEXT if isinstance(value, dict) else not isinstance(value, list)


def _leads_on(link: Any) -> bool:
    return isinstance(link, dict) and "next" in (link.get("rel"), link.get("relation"))


def _as_count(value: Any) -> int | None:
    if isinstance(value, str) and not isinstance(value, Num) and re.fullmatch(r"\d{1,15}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _says_last(name: str, value: Any) -> bool:
    return (name in MORE and value in (False, "false", "False")) or (name in LAST and value in (True, "true", "True"))


def _is_opaque(value: Any) -> bool:
    """No number and no date: where to go on, in the server's own terms."""
    return isinstance(value, str) and re.fullmatch(r"(?!\d{4}-\d\d)(?![+-]?\d[\d:]*$).{4,}", value) is not None


def _says_more(name: str, value: Any, last: bool) -> bool:
    if name in TRUNCATED:
        return value is True or value in ("true", "True")
    if name in LAST:
        return value is False or value in ("false", "False")
    return name in NEXT and not last and _is_pointer(value)


def _is_pointer(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int):
        return value > 0
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, str) and value.lower() not in ("", "none", "null", "false", "0", "-1", "lte=")


def _said(key: str, value: Any) -> str:
    text = value if isinstance(value, str) and not isinstance(value, Num) else compact_json(value, 80)
    return f"{key}: {text[:80]}"


_NUMBER = r"\d[\d,]*"
_ROWS = "rows?|results?|records?|items?|lines?|entries|matches|files?|messages?"
_SHOWN_OF = re.compile(
    r"\b(?:showing|displaying|shown|returned|returning|listing|results?|rows?|records?|items?|page|first|top"
    rf"|limited to)\b[^.\n]{{0,30}}?\b(?P<a>{_NUMBER})(?:\s*(?:-|–|to)\s*(?P<b>{_NUMBER}))?\s+(?:\w+\s+){{0,2}}?"
    rf"(?:of|out of|from|/)\s+(?:about |approximately |a total of |the )?(?P<total>{_NUMBER})\b",
    re.I,
)
_ROWS_OF = re.compile(
    rf"(?<![\w.])(?P<a>{_NUMBER})\s+(?:\w+\s+)?\(?(?:out )?of (?:about |the |a total of |some )*"
    rf"(?P<total>{_NUMBER})(?![.,]?\d)",
    re.I,
)
_PAGE_OF = re.compile(r"\bpages?:?\s+(\d+)\s*(?:of|/|out of)\s*(\d+)\b(?!\s*(?:rows?|results?|records?|items?))", re.I)
_NO_ROWS = re.compile(r"\b(?:page|part|step|chunk|batch|level|line|section|attempt|day|week|version)s?\W*$", re.I)
_SHOWN_FIRST = re.compile(
    r"\b(?:showing|displaying|shown|returning|limited to|only the)\b(?! all\b)[^.\n]{0,30}?"
    r"\b(?:first|top|last|only)?\s*"
    rf"{_NUMBER}\s+(?:\w+\s+){{0,2}}?(?:{_ROWS})\b",
    re.I,
)
_TOTAL = re.compile(
    rf"\btotal(?: of)?:?\s*(?P<total>{_NUMBER})\s+(?:{_ROWS})\b|(?P<or>{_NUMBER}) total (?:{_ROWS})\b", re.I
)
_MORE = re.compile(
    rf"(?:^|[\s(\[<.…])(?:(?:and|\+)\s*)?{_NUMBER}\s+(?:more|additional|other|further|remaining)\s+"
    rf"(?:{_ROWS}|characters|chars|bytes|above|below|not shown|elements?)\b[^\n]{{0,30}}",
    re.I,
)
_CUT_WORDS = re.compile(
    r"\b(?:output|content|results?|response|text|file|data|list|log|message|rows?|table)\b[^.\n]{0,30}\btruncated\b"
    r"(?! by\b| in\b)"
    r"|[\[(<][^\])>\n]{0,20}\b(?:output|response|content|text|results?|lines?|data)\b[^\])>\n]{0,10}"
    r"\b(?:clipped|omitted|elided|cut|snipped|shortened|abridged)\b"
    r"|[\[(<.…]\s*truncated\b|\btruncated (?:after|at|to|because|due|output|for)\b"
    r"|\bmore (?:results|rows|content|items|pages) (?:are |is )?available\b",
    re.I,
)


def text_extent(lines: Sequence[str], rows: int | None) -> Extent:
    """From the lines around a table or at the edges of a text."""
    page: str | None = None
    for line in lines:
        line = line[:500]
        pages = _PAGE_OF.search(line)
        if pages:  # that many pages, not rows
            page = page or (pages.group() if rows is not None and int(pages[2]) > 1 else None)
            line = line[: pages.start()] + line[pages.end() :]
        found = _SHOWN_OF.search(line)
        if found:
            total, shown = _int(found["total"]), _int(found["b"] or found["a"])
            if total > shown:
                return Extent(total, found.group().strip())
            if rows is not None and total >= rows:
                return Extent(total, None if total == rows else found.group().strip())
        found = _ROWS_OF.search(line)
        if (
            rows
            and found
            and _int(found["a"]) == rows < _int(found["total"])
            and not _NO_ROWS.search(line[: found.start()])
        ):
            return Extent(_int(found["total"]), found.group().strip())
        found = _TOTAL.search(line)
        if rows and found and _int(found["total"] or found["or"]) > rows:
            return Extent(_int(found["total"] or found["or"]), found.group().strip())
        for pattern in (_MORE, _CUT_WORDS):
            found = pattern.search(line)
            if found:
                return Extent(None, line.strip(" ()[]<>.…")[:120])
        found = _SHOWN_FIRST.search(line)
        if found:
            return Extent(None, found.group().strip())
    return Extent(None, page)


def _int(text: str) -> int:
    return int(text.replace(",", ""))
