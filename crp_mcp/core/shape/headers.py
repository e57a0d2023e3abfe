"""Is the first row a header? Decided by what sets it apart from the rows below. Shared by every reader of text rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_WHOLE = r"(?:\d{1,3}(?:[,. ']\d{3})+|\d+)"
_NUMBER = re.compile(
    rf"[-+]?(?:[$€£¥] ?)?[-+]?(?:{_WHOLE}(?:[.,]\d+)?|[.,]\d+)(?:[eE][-+]?\d+)?(?: ?%|[KMGT]i?B?)?", re.ASCII
)
_CLOCK = r"\d\d?:\d\d(?::\d\d)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DATE = re.compile(
    rf"\d{{4}}-\d\d(?:-\d\d)?(?:[T ]{_CLOCK}(?:[.,]\d+)?(?: ?(?:Z|UTC|[-+]\d\d(?::?\d\d)?))?)?"
    rf"|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}(?: {_CLOCK}(?: ?[AP]M)?)?|\d{{4}}/\d{{1,2}}/\d{{1,2}}(?: .{{0,30}})?"
    rf"|{_CLOCK}(?:Z|[-+]\d\d:?\d\d)?|{_MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}"
)
_WORDS = frozenset({"true", "false", "yes", "no", "null", "none", "na", "n/a", "nan", "inf"})
_NAME = re.compile(r"[^\W\d][\w .()/%#$&:@*+-]{0,80}|[_#%@$] ?\w{0,80}")
_VALUES = tuple(
    map(
        re.compile,
        (
            r"[a-z][a-z0-9+.-]{1,15}://\S+",  # an address
            r"[\w.+-]+@[\w-]+\.[\w.-]+",
            r"(?:\d{1,3}\.){3}\d{1,3}(?:[:/]\d+)?",
            r"(?=.*\d)[0-9a-f]{7,64}(?:-[0-9a-f]{4,12}){0,4}",  # a hash, a UUID
            r"(?:\d+(?:ms|[smhd]))+",  # a duration
            r"(?:~|\.{1,2})?(?:/?[\w.@+-]+/)+[\w.@+-]*\.\w{1,8}|(?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]*",  # a path
        ),
    )
)
"""What is a value and no name, in the sorts that stand in columns of their own."""
_SAMPLE = 200


def is_typed(cell: str) -> bool:
    """A number, a date, a time or a truth value."""
    return bool(sort_of(cell))


def sort_of(cell: str) -> str:
    """`number`, `date`, `word` (true, n/a, …) or ""."""
    text = cell.strip()
    if not text:
        return ""
    if is_number(text):
        return "number"
    if text.lower() in _WORDS:
        return "word"
    return "date" if _DATE.fullmatch(text) is not None else ""


def is_number(text: str) -> bool:
    return text[-1:] in "0123456789.%KMGTBi" and any(map(str.isdecimal, text)) and _NUMBER.fullmatch(text) is not None


def is_name(cell: str) -> bool:
    """Could be a column's name."""
    return _NAME.fullmatch(" ".join(cell.split())) is not None and not is_typed(cell)


def names_columns(row: Sequence[str]) -> bool:
    """Every cell is a name, and no two are the same (the first may be empty: an index)."""
    named = row[1:] if row and not row[0].strip() else row
    return bool(named) and len(set(named)) == len(named) and all(map(is_name, named))


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of these rows names the columns of the others. Without evidence: it does."""
    first, rest = rows[0], rows[1 : _SAMPLE + 1]
    if not rest:
        return not any(map(is_typed, first))
    votes = sum(_vote(cell, [row[at].strip() for row in rest if at < len(row)]) for at, cell in enumerate(first))
    if votes == 0:
        return not all(is_typed(cell) for cell in first if cell.strip()) or not any(cell.strip() for cell in first)
    return votes > 0


def of_one_sort(texts: Sequence[str]) -> bool:
    """Whether these are all addresses, all hashes or the like; paths do not count, a file's name is one too."""
    return any(all(map(value.fullmatch, texts)) for value in _VALUES[:-1])


def goes_on(cell: str, below: Sequence[object]) -> bool:
    """Whether a number, a date or the like stands over texts that are the same: then it is one of them."""
    sort = sort_of(cell)
    full = [text for text in below[:_SAMPLE] if text is not None] if sort else []
    return bool(full) and all(isinstance(text, str) and sort_of(text) == sort for text in full)


def sets_apart(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether a row beyond doubt names the columns below it: names all, over a column of numbers, dates or the like."""
    if not names_columns(first):
        return False
    columns = [[row[at].strip() for row in rest[:_SAMPLE] if at < len(row)] for at in range(len(first))]
    return any(_typed(column) for column in columns) and not any(
        cell.strip() in column for cell, column in zip(first, columns, strict=True)
    )


def _typed(column: Sequence[str]) -> bool:
    full = [text for text in column if text]
    sorts = Counter(map(sort_of, full))
    return bool(full) and any(sort and count >= 0.8 * len(full) for sort, count in sorts.items())


def _vote(cell: str, below: Sequence[str]) -> int:
    """+1: this cell differs in kind from those below it; -1: it is one of them."""
    cell = cell.strip()
    full = [text for text in below if text]
    if not cell or not full:
        return 0
    sorts = Counter(map(sort_of, full))
    sort, count = sorts.most_common(1)[0]
    if sort and count >= 0.8 * len(full):
        return 1 if sort_of(cell) != sort or _year_like(cell, full) else -1
    if is_typed(cell):
        return -1 if sort_of(cell) in sorts else 0
    if any(
        value.fullmatch(cell) and sum(map(bool, map(value.fullmatch, full))) >= 0.8 * len(full) for value in _VALUES
    ):
        return -1
    if len(full) >= 2 and cell in full:
        return -1
    if any(map(str.isalpha, cell)) and not any(map(str.isalpha, "".join(full))):
        return 1
    if len(full) >= 3:
        forms = {_form(text) for text in full}
        if len(forms) <= max(1, len(full) // 10):
            return -1 if _form(cell) in forms and any(map(str.isdigit, cell)) else 1 if _form(cell) not in forms else 0
    return 0


def _year_like(cell: str, full: Sequence[str]) -> bool:
    """A year over numbers that are none: pivoted tables have years as names."""
    return re.fullmatch(r"(?:19|20)\d\d", cell) is not None and not all(
        re.fullmatch(r"(?:19|20)\d\d", text) for text in full[:20]
    )


def _form(text: str) -> str:
    """`7d56b11` and `98198df` are alike: runs of letters and digits count as one."""
    return re.sub(r"[A-Za-z0-9]+", "x", text)
