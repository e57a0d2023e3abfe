"""Phrases of a sentence -> the columns and cells of one table they may mean. Knows no operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .document import Column, Table
from .lexicon import ATTRIBUTES, SYNONYMS
from .words import LIGHT, STOP, Token, stem

MAX_PHRASE = 12
MAX_PARTIAL = 4000


@dataclass(frozen=True, eq=False)
class ValueRef:
    """Cells of one column that a phrase names: whole ones (`exact`) or ones it is part of."""

    column: Column
    rows: frozenset[int]
    exact: bool
    text: str


@dataclass(frozen=True, eq=False)
class ColumnRef:
    """A column that a phrase names. `quality`: 1 its whole name, less for a part of it or a synonym."""

    column: Column
    quality: float


def link_values(table: Table, words: Sequence[Token], at: int) -> tuple[int, tuple[ValueRef, ...]]:
    """The longest phrase from word `at` that names cells: (how many words, what it may mean)."""
    best = 0
    refs: list[ValueRef] = []
    for column in table.columns:
        length, ref = _longest(column, words, at)
        if ref is None or length < best:
            continue
        if length > best:
            best, refs = length, []
        refs.append(ref)
    exact = [r for r in refs if r.exact]
    return best, tuple(exact or refs)


def _longest(column: Column, words: Sequence[Token], at: int) -> tuple[int, ValueRef | None]:
    first = words[at]
    alive = column.postings.get(first.stem)
    if not alive or (first.low in STOP and len(alive) > 50):
        return 0, None
    phrase: list[str] = []
    last: tuple[int, list[tuple[str, ...]]] = (0, [])
    for offset in range(min(MAX_PHRASE * 2, len(words) - at)):
        word = words[at + offset]
        if not word.low[0].isalnum():
            continue
        alive = alive & column.postings.get(word.stem, frozenset()) if offset else alive
        phrase.append(word.stem)
        alive = (
            {k for k in alive if _starts_or_holds(k, phrase)} if len(alive) <= MAX_PARTIAL or len(phrase) > 1 else alive
        )
        if not alive and len(phrase) > 1 and (near := _misspelt(last[1], phrase)):
            alive = set(near)
            phrase[-1] = stem(near[0][_place(near[0], phrase)])
        if not alive:
            break
        last = (offset + 1, list(alive))
    return _refer(column, words, at, *last, phrase[: sum(w.low[0].isalnum() for w in words[at : at + last[0]])])


def _place(key: tuple[str, ...], phrase: list[str]) -> int:
    """Where in a cell the last word of the phrase would stand, when the words before it fit."""
    before = phrase[:-1]
    stems = [stem(k) for k in key]
    for i in range(len(stems) - len(before)):
        if stems[i : i + len(before)] == before:
            return i + len(before)
    return -1


def _misspelt(found: Sequence[tuple[str, ...]], phrase: list[str]) -> list[tuple[str, ...]]:
    """Cells that go on with nearly the phrase's last word: one letter more, less or other in a long word."""
    word = phrase[-1]
    out = []
    for key in found[:200] if len(word) > 5 else ():
        place = _place(key, phrase)
        if place > 0 and len(key[place]) > 4 and _one_off(stem(key[place]), word):
            out.append(key)
    return out if len({k[_place(k, phrase)] for k in out}) == 1 else []


def _one_off(a: str, b: str) -> bool:
    if abs(len(a) - len(b)) > 1 or a == b:
        return a == b
    i = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return a[i + 1 :] == b[i + 1 :] or a[i + 1 :] == b[i:] or a[i:] == b[i + 1 :]


def _refer(
    column: Column, words: Sequence[Token], at: int, length: int, found: Sequence[tuple[str, ...]], phrase: list[str]
) -> tuple[int, ValueRef | None]:
    """Turn the cells that hold the phrase into a reference: whole cells when there are any."""
    if not length:
        return 0, None
    whole = [k for k in found if len(k) == len(phrase)]
    if not whole:
        for shorter in range(len(phrase) - 1, 0, -1):
            key = [
                k
                for k in column.postings.get(phrase[0], ())
                if len(k) == shorter and [stem(x) for x in k] == phrase[:shorter]
            ]
            if key and shorter > 1:
                whole, phrase = key, phrase[:shorter]
                length = _span(words, at, shorter)
                break
    content = [p for p in phrase if p not in STOP and p not in LIGHT]
    if not whole and (column.is_link or (column.is_prose and len(content) < 3)):
        return 0, None
    if not whole and (len(found) > MAX_PARTIAL or not content or (len(phrase) == 1 and not _telling(words[at]))):
        return 0, None
    if not whole and words[at].low in STOP:
        return 0, None
    cells = whole or found
    rows = frozenset(r for k in cells for r in column.index[k])
    return length, ValueRef(column, rows, bool(whole), column.texts[column.index[cells[0]][0]])


def _telling(word: Token) -> bool:
    """Whether one word alone may stand for a longer cell."""
    return len(word.low) >= 3 and (word.is_word or len(word.low) >= 4)


def _span(words: Sequence[Token], at: int, count: int) -> int:
    offset = seen = 0
    while seen < count:
        seen += words[at + offset].low[0].isalnum()
        offset += 1
    return offset


def _starts_or_holds(key: tuple[str, ...], phrase: list[str]) -> bool:
    size = len(phrase)
    stems = [stem(k) for k in key]
    return any(stems[i : i + size] == phrase for i in range(len(stems) - size + 1))


def link_columns(table: Table, words: Sequence[Token], at: int) -> tuple[int, tuple[ColumnRef, ...]]:
    """The longest phrase from word `at` that names columns, by their own words, parts of them, or synonyms."""
    best = 0
    refs: list[ColumnRef] = []
    for column in table.columns:
        length, quality = _names(column, words, at)
        if length > best:
            best, refs = length, []
        if length == best and length:
            refs.append(ColumnRef(column, quality))
    if refs:
        top = max(r.quality for r in refs)
        best_leaf = next(r.column.words for r in refs if r.quality == top)
        refs = [
            r
            for r in refs
            if r.quality >= top - 0.05
            or (top < 0.9 and r.quality >= top - 0.25)
            or (r.column.words == best_leaf and r.quality >= top - 0.2)
        ]
    return best, tuple(refs)


def _names(column: Column, words: Sequence[Token], at: int) -> tuple[int, float]:
    mine, leaf = column.path_words[-8:], set(column.words)
    if not mine or not words[at].low[0].isalnum():
        return 0, 0.0
    hit, length, last, core = 0, 0, -1, 0
    for offset in range(min(6, len(words) - at)):
        word = words[at + offset]
        if word.low in ("of", "the", "per", "to", "'s", "'", "-", "_", "/") and offset and word.stem not in mine:
            continue
        if len(word.low) == 1 and len(leaf) > 1 and not word.low.isdigit():
            break
        place = next((i for i, m in enumerate(mine) if i > last and alike(m, word.stem)), None)
        if place is None:
            place = next((i for i, m in enumerate(mine) if i != last and alike(m, word.stem)), None) if hit else None
        if place is None or (word.low in STOP and offset and hit + 1 < len(mine) and place != last + 1):
            break
        hit, length, last = hit + 1, offset + 1, place
        core += mine[place] in leaf
    if not core and at + 1 < len(words) and stem(words[at].low + words[at + 1].low) in mine:
        return 2, 0.95
    if not core:
        return _by_synonym(column, words[at])
    if words[at].low in STOP and len(mine) > 1 and hit == 1:
        return 0, 0.0
    content = [m for m in leaf if len(m) > 1 or len(leaf) == 1]
    outside = min(3, column.name.count(".") - (hit - core > 0))
    return length, min(1.0, 0.55 + 0.45 * core / max(1, len(content))) - 0.06 * max(0, outside)


def alike(a: str, b: str) -> bool:
    if a == b:
        return True
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    return (shared >= 5 and max(len(a), len(b)) - shared <= 4) or (shared >= 4 and shared == len(a))


def _by_synonym(column: Column, word: Token) -> tuple[int, float]:
    if word.low in ("times", "like", "around", "against"):
        return 0, 0.0
    others = SYNONYMS.get(word.stem, frozenset()) | ATTRIBUTES.get(word.stem, frozenset())
    if column.words and others and any(m in others for m in column.words):
        return 1, 0.5 if len(column.words) <= 2 else 0.42
    return 0, 0.0


def names_of(columns: Sequence[ColumnRef]) -> Iterator[str]:
    """Names of referenced columns, for messages."""
    for ref in columns:
        yield ref.column.name
