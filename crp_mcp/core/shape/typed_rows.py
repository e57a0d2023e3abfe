"""The fast way through a long list of objects with the same members: decoded as structs, fed as whole columns.

What is not of the learnt form (another key, another type, a number too large) is left to the caller, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from .cells import NotJson, load_json
from .columns import Num

_MOST_COLUMNS = 200
_MOST_LESSONS = 6
_INFINITE = float("inf")
_OBJECT: dict[str, Any] = {}
_LIST: list[Any] = []
_FAILURES = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
_decode_plain = msgspec.json.Decoder().decode
_split = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Row(msgspec.Struct):
    """Base of the learnt forms, so that their rows can be told from plain values."""


class RowForm:
    """Learns the form of the rows from blocks that were decoded the plain way."""

    def __init__(self, lessons: int = _MOST_LESSONS) -> None:
        """`lessons`: how often it may learn anew; with 0 nothing is ever decoded this way."""
        self.names: tuple[str, ...] = ()
        self._left = lessons
        self._types: list[set[type]] = []
        self._nested: list[int] = []
        self.kinds: list[type | None] = []
        """By column, the type that every cell of a decoded row has; None where there are several."""
        self._decode: Callable[[bytes], list[Any]] | None = None

    def learn(self, items: Sequence[Any]) -> None:
        """See these rows too; give up for good where their keys differ."""
        self._left -= 1
        self._decode = None
        if self._left < 0 or not items or not isinstance(items[0], dict):
            return
        names = self.names or tuple(items[0])
        wanted = set(names)
        if (
            not names
            or len(names) > _MOST_COLUMNS
            or any(type(item) is not dict or item.keys() != wanted for item in items)
        ):
            self._left = 0
            return
        if not self.names:
            self.names, self._types = names, [set() for _ in names]
        for name, seen in zip(names, self._types, strict=True):
            seen.update({type(item[name]) for item in items})
        self._build()

    def _build(self) -> None:
        annotations = [_annotation(seen) for seen in self._types]
        if any(annotation is _MIXED for annotation in annotations):
            return
        self._nested = [at for at, annotation in enumerate(annotations) if annotation is msgspec.Raw]
        self.kinds = [annotation if annotation in _SINGLE else None for annotation in annotations]
        fields = [(f"f{at}", annotation) for at, annotation in enumerate(annotations)]
        rename = {f"f{at}": name for at, name in enumerate(self.names)}
        try:
            form = msgspec.defstruct("Form", fields, bases=(Row,), rename=rename, forbid_unknown_fields=True, gc=False)
            self._decode = msgspec.json.Decoder(list[form]).decode  # type: ignore[valid-type]
        except (ValueError, TypeError):  # a name that msgspec cannot spell
            self._decode = None

    def decode(self, chunk: bytes) -> list[Any] | None:
        """The block's rows, or None where they are not all of the learnt form."""
        if self._decode is None:
            return None
        try:
            return self._decode(b"[" + chunk + b"]")
        except _FAILURES:
            return None

    def columns(self, rows: Sequence[Row]) -> list[Sequence[Any]]:
        """The rows turned: one sequence a column, nested cells as an empty object or list."""
        turned: list[Sequence[Any]] = list(zip(*map(msgspec.structs.astuple, rows), strict=True))
        for at in self._nested:
            turned[at] = [_placeholder(cell) for cell in turned[at]]
        return turned


def _placeholder(cell: Any) -> Any:
    if type(cell) is not msgspec.Raw:
        return cell
    first = memoryview(cell)[:1].tobytes()
    return _OBJECT if first == b"{" else _LIST if first == b"[" else None


_MIXED: Any = object()
_SINGLE: tuple[Any, ...] = (bool, int, float, str)


def _annotation(seen: set[type]) -> Any:
    kinds = {float if kind is Num else kind for kind in seen}
    if kinds & {dict, list}:
        return _MIXED if kinds - {dict, list, type(None)} else msgspec.Raw
    annotation: Any = None
    if float in kinds:
        kinds.add(int)  # `2` among floats stays an int: a literal is never made another
    for kind in (bool, int, float, str):
        if kind in kinds:
            annotation = kind if annotation is None else annotation | kind
    if annotation is None or type(None) not in kinds:
        return annotation
    return annotation | None


def decode_block(chunk: bytes) -> list[Any] | None:
    """The items of a block, fractions as floats; None where it is no block of whole items."""
    try:
        return _decode_plain(b"[" + chunk + b"]")  # type: ignore[no-any-return]
    except _FAILURES:
        pass
    try:
        items = load_json(b"[" + chunk + b"]")
    except NotJson:
        return None
    return [with_floats(item) for item in items]


def with_floats(item: Any) -> Any:
    """The item's own numbers as floats (deeper ones stay literals), but for those no float can hold."""
    if type(item) is Num:
        return _as_float(item)
    if type(item) is dict:
        if Num not in map(type, item.values()):
            return item
        return {key: _as_float(cell) if type(cell) is Num else cell for key, cell in item.items()}
    if type(item) is list:
        return [_as_float(cell) if type(cell) is Num else cell for cell in item]
    return item


def _as_float(literal: Num) -> Any:
    value = float(literal)
    return value if -_INFINITE < value < _INFINITE else literal


class BlockLiterals:
    """Finds literals in a block of items; splits it only when first asked."""

    __slots__ = ("_chunk", "_rows")

    def __init__(self, chunk: bytes) -> None:
        self._chunk = chunk
        self._rows: Sequence[Any] | None = None

    def row(self, at: int) -> Any:
        """Item `at` of the block, every number as its literal."""
        if self._rows is None:
            try:
                self._rows = _split(b"[" + self._chunk + b"]")
            except _FAILURES:
                self._rows = load_json(b"[" + self._chunk + b"]")
        item = self._rows[at]
        return load_json(bytes(item)) if type(item) is msgspec.Raw else item


class GivenLiterals(BlockLiterals):
    """The same over items that were read with their literals."""

    __slots__ = ()

    def __init__(self, items: Sequence[Any]) -> None:
        self._rows = items
