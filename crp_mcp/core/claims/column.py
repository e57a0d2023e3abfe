"""One column of a result: its cells, and typed views of them (numbers, dates, versions) made on first need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

from .celltext import NULLS, Listed, cell_text, cell_when, is_day, month_of, single_number
from .dates import When, find_dates, year_of
from .numbers import Number, cell_number, in_one_unit
from .units import CURRENCIES, Measure, measure_of, unit_in_name
from .versions import Version, version_of
from .words import fold, keys, name_words, split_camel, stem, word_list

_YEARLY = frozenset(
    stem(w) for w in ("year", "season", "date", "since", "founded", "established", "born", "edition", "debut")
)
_NAMING = frozenset(("id", "ids", "uuid", "guid", "key", "pk", "zip", "phone"))
_COUNTED = frozenset(
    stem(w)
    for w in (
        "attendance",
        "population",
        "inhabitants",
        "votes",
        "capacity",
        "spectators",
        "employees",
        "people",
        "passengers",
    )
)
_VERSIONS = frozenset(stem(w) for w in word_list("version ver release firmware build revision semver tag"))
_ACCOUNT = frozenset(
    stem(w)
    for w in word_list("balance amount net profit loss income cash flow change gain variance value total result cost")
)
_BRACKETED = re.compile(r"\(\s*[$€£¥₹]?\s?\d[\d,]*(?:\.\d+)?\s*\)")
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{3})*")


class Column:
    """One column: its name, its cells, and typed views of them made when first asked for."""

    def __init__(self, name: str, cells: Sequence[Any], position: int) -> None:
        self.name = name
        self.cells = cells
        self.position = position
        self.words = name_words(name.rsplit(".", 1)[-1]) or name_words(name)
        self.path_words = name_words(name)

    @cached_property
    def is_link(self) -> bool:
        """Whether the cells are addresses: their parts name nothing a sentence would say."""
        return sum(t.startswith(("http://", "https://")) for t in self.texts) > 0.5 * max(1, self.filled)

    @cached_property
    def is_prose(self) -> bool:
        """Whether the cells are long texts, of which a word says little."""
        return sum(len(t) for t in self.texts) > 160 * max(1, self.filled)

    @cached_property
    def texts(self) -> list[str]:
        return [cell_text(c) for c in self.cells]

    @cached_property
    def parsed(self) -> list[tuple[Number, str] | None]:
        """The number of each cell with its unit, in one unit where the cells name several of a kind."""
        if self._dotted_thousands():
            return [(int(t.replace(".", "")), "") if t.strip() else None for t in self.texts]
        if self.is_version:
            return [None] * len(self.cells)
        out: list[tuple[Number, str] | None] = []
        for cell in self.cells:
            if isinstance(cell, bool) or cell is None:
                out.append(None)
            elif isinstance(cell, int | float):
                out.append((cell, "") if isinstance(cell, int) or isfinite(cell) else None)
            else:
                out.append(cell_number(cell_text(cell)))
        return in_one_unit(self._bracketed(out))

    def _bracketed(self, found: list[tuple[Number, str] | None]) -> list[tuple[Number, str] | None]:
        """Amounts in parentheses as the negative ones they are in accounts; elsewhere parentheses say nothing."""
        held = [r for r, t in enumerate(self.texts) if _BRACKETED.fullmatch(t.strip()) and found[r] is not None]
        money = _ACCOUNT & set(self.words) or any("." in self.texts[r] or "," in self.texts[r] for r in held)
        for row in held if money and len(held) < len(self.cells) else ():
            if (cell := found[row]) is not None and cell[0] > 0:
                found[row] = (-cell[0], cell[1])
        return found

    @cached_property
    def is_version(self) -> bool:
        """Whether the cells are versions, which are compared part by part, and 1.10 is not 1.1."""
        texts = [t.strip() for t in self.texts if fold(t).strip() not in NULLS]
        named = bool(_VERSIONS & set(self.words))
        if not texts or not (named or texts[0].count(".") > 1) or not any("." in t for t in texts):
            return False
        least = 1 if named else 2
        fits = sum(version_of(t) is not None and t.count(".") >= (0 if named else least) for t in texts)
        addresses = sum(_ADDRESS.fullmatch(t) is not None for t in texts)
        return fits >= 0.8 * len(texts) and addresses < len(texts) and not any(map(is_day, texts[:20]))

    @cached_property
    def versions(self) -> list[Version | None]:
        return [version_of(t) for t in self.texts] if self.is_version else [None] * len(self.cells)

    def _dotted_thousands(self) -> bool:
        """Whether the cells of a column of counts use the dot as thousands separator (`12.500` people)."""
        if not _COUNTED & set(self.words):
            return False
        filled = [t.strip() for t in self.texts if t.strip()]
        return any("." in t for t in filled) and all(_DOTTED.fullmatch(t) for t in filled)

    @cached_property
    def numbers(self) -> list[Number | None]:
        return [None if p is None else p[0] for p in self.parsed]

    @cached_property
    def unit(self) -> str:
        """The unit most cells carry, or the one that the column's name has."""
        seen = [p[1] for p in self.parsed if p and p[1]]
        written = Counter(seen).most_common(1)[0][0] if seen else unit_in_name(self.name)
        known = measure_of(written)
        return known[0] if known and known[0] in CURRENCIES | {"%"} else written

    @cached_property
    def measure(self) -> Measure | None:
        """The column's unit as base and factor, where it is a known one."""
        return measure_of(self.unit)

    @cached_property
    def is_mixed(self) -> bool:
        """Whether the cells are amounts of several currencies: then they cannot be ordered or added up."""
        return len({p[1] for p in self.parsed if p and p[1] in CURRENCIES}) > 1

    @cached_property
    def filled(self) -> int:
        return sum(1 for t in self.texts if fold(t).strip() not in NULLS)

    @cached_property
    def is_number(self) -> bool:
        found = sum(n is not None for n in self.numbers)
        return found > 0 and found >= 0.75 * self.filled

    @cached_property
    def is_serial(self) -> bool:
        """Whether the numbers only count the rows off (1, 2, 3 …): a name, not a measure."""
        whole = [n for n in self.numbers if isinstance(n, int)]
        return len(whole) == len(self.cells) > 2 and all(b == a + 1 for a, b in pairwise(whole))

    @cached_property
    def is_measure(self) -> bool:
        """Whether the numbers measure something, rather than name or date the rows."""
        return self.is_number and not self.is_serial and not self.is_date and not _NAMING & set(self.words)

    @cached_property
    def is_id(self) -> bool:
        """Whether the cells are ids by the column's name: no amounts, whatever the rest of the name says."""
        return bool(_NAMING & set(self.words)) and len(self.words) > 1

    @cached_property
    def holds_years(self) -> bool:
        """Whether every number of the column could be a year."""
        found = [n for n in self.numbers if n is not None]
        return bool(found) and all(year_of(n) is not None and n >= 1400 for n in found)

    @cached_property
    def holds_no_share(self) -> bool:
        """Whether no number of the column can be meant in percent: whole ones, some of them above 100."""
        found = [n for n in self.values() or () if n is not None]
        return all(isinstance(n, int) for n in found) and max(found, default=0) > 100

    @cached_property
    def dates(self) -> list[When | None]:
        if self._is_monthly():
            return [month_of(t) for t in self.texts]
        return [cell_when(t, n) for t, n in zip(self.texts, self.numbers, strict=True)]

    def _is_monthly(self) -> bool:
        """Whether every cell is a year and a month (`2008-09`), and not every one could be a season."""
        found = [month_of(t) for t in self.texts if fold(t).strip() not in NULLS]
        months = [w for w in found if w is not None and w.year is not None and w.month is not None]
        seasons = sum(w.month == ((w.year or 0) + 1) % 100 for w in months)
        return len(months) == len(found) and seasons < len(months)

    @cached_property
    def is_date(self) -> bool:
        if not self.filled or isinstance(self.cells[0], float) or self.is_version:
            return False
        if self.is_number:
            years = sum(year_of(n) is not None for n in self.numbers)
            named = bool(_YEARLY & set(self.words))
            return years == self.filled and (named or "" in self.words)
        probe = [cell_when(t, None) for t in self.texts[:200] if t.strip()]
        if len(self.cells) > 1000 and sum(d is not None for d in probe) < 0.3 * len(probe):
            return False
        found = sum(d is not None for d in self.dates)
        return found >= 0.6 * self.filled

    @cached_property
    def embedded_dates(self) -> list[tuple[When, ...]]:
        """Dates that stand among other words of a cell."""
        return [find_dates(t) if len(t) < 400 else () for t in self.texts]

    @cached_property
    def facet(self) -> list[Number | None] | None:
        """The one number among other words (`name (31)`, `hall 18613`), where nearly every cell has exactly one."""
        if self.is_number or self.is_date or self.is_version:
            return None
        out = [single_number(t) for t in self.texts]
        found = sum(n is not None for n in out)
        return out if found >= 0.75 * max(1, self.filled) else None

    def values(self) -> list[Number | None] | None:
        """The column's numbers by which it can be compared, or None when it has none."""
        return self.numbers if self.is_number else self.facet

    @cached_property
    def index(self) -> dict[tuple[str, ...], list[int]]:
        """Words of a cell -> the rows that hold exactly those."""
        cells: dict[str, list[int]] = {}
        for row, text in enumerate(self.texts):
            if text:
                cells.setdefault(text, []).append(row)
        out: dict[tuple[str, ...], list[int]] = {}
        for text, rows in cells.items():
            out.setdefault(keys(text[:200]), []).extend(rows)
            if (apart := keys(split_camel(text[:60]))) and len(apart) > 1 and " " not in text:
                out.setdefault(apart, []).extend(rows)
            for part in text.parts if isinstance(text, Listed) else ():
                out.setdefault(keys(part[:200]), []).extend(rows)
        return out

    @cached_property
    def is_listed(self) -> bool:
        """Whether some cell is a list of several: then a value is had by each row whose list has it."""
        return any(isinstance(t, Listed) for t in self.texts)

    @cached_property
    def postings(self) -> dict[str, set[tuple[str, ...]]]:
        """Stem of a word -> the cells (as words) that have it. Plain numbers have none: they are not named."""
        out: dict[str, set[tuple[str, ...]]] = {}
        for key, rows in self.index.items():
            if self.is_number and self.numbers[rows[0]] is not None:
                continue
            for word in key:
                out.setdefault(stem(word), set()).add(key)
        return out

    @cached_property
    def sorted_values(self) -> tuple[list[Number], list[int]]:
        """The column's numbers in order, and the row of each."""
        pairs = sorted((v, r) for r, v in enumerate(self.values() or ()) if v is not None)
        return [v for v, _ in pairs], [r for _, r in pairs]

    @cached_property
    def moments(self) -> dict[str, list[int]]:
        """Rows by the text of their date, so that each spelling is read once."""
        out: dict[str, list[int]] = {}
        for row, text in enumerate(self.texts):
            if self.dates[row] is not None:
                out.setdefault(text, []).append(row)
        return out

    @cached_property
    def time_order(self) -> Sequence[tuple[Any, ...] | None] | None:
        """A sort key for each row's moment or version, where all moments state the same fields; else None."""
        if self.is_version:
            return [None if v is None else v.key() for v in self.versions]
        keys_ = [None if d is None else d.order() for d in self.dates]
        forms = {tuple(x < 0 for x in k) for k in keys_ if k is not None}
        return keys_ if len(forms) == 1 else None

    @cached_property
    def distinct(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {len(self.cells)} cells)"
