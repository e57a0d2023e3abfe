"""Delimited rows from a stream of bytes: a block of whole records at a time. Cuts never change what a row is."""

from __future__ import annotations

import csv
import io
import re

from .delimited import LONGEST_CELL, Dialect

_BLOCK = 262_144
_ESCAPED = re.compile("[\udc80-\udcff]")


class CsvBlocks:
    """Feed bytes, get rows."""

    def __init__(self, dialect: Dialect, codec: str = "utf-8") -> None:
        self._dialect = dialect
        self._codec = codec
        self._buffer = bytearray()
        self._room = _BLOCK
        self._offset = self._records = 0
        self.starts: list[tuple[int, int]] = []
        """(record number, byte offset from the first byte fed) where blocks begin, and where the second record does."""

    def feed(self, piece: bytes) -> list[list[str]]:
        """The rows that are complete by now."""
        self._buffer += piece
        rows: list[list[str]] = []
        while len(self._buffer) >= self._room:
            rows += self._take(self._room, final=False)
        return rows

    def finish(self) -> list[list[str]]:
        """The rows that are left."""
        rows: list[list[str]] = []
        while len(self._buffer) > self._room:
            rows += self._take(self._room, final=False)
        return rows + self._take(len(self._buffer), final=True)

    def _take(self, size: int, *, final: bool) -> list[list[str]]:
        """Rows of the next block. The last one is left for the next block: it may go on there."""
        block = bytes(self._buffer[:size])
        text = block.decode(self._codec, "surrogateescape")
        valid = text.isascii() or self._codec != "utf-8" or not _ESCAPED.search(text)
        lines = list(io.StringIO(text, newline=""))
        rows, begins = self._parse(lines)
        used = size if final or not begins else self._length(lines[: begins[-1]])
        if not used and not final:
            self._room *= 2
            return []
        kept = rows if final else rows[:-1]
        full = [number for number, row in enumerate(kept) if row and (len(row) > 1 or row[0].strip())]
        if full and self._records == 0 and len(full) > 1:
            self.starts.append((1, self._length(lines[: begins[full[1]]])))
        elif full and self._records:
            self.starts.append((self._records, self._offset))
        del self._buffer[:used]
        self._offset += used
        self._room = _BLOCK
        self._records += len(full)
        rows = kept if len(full) == len(kept) else [kept[number] for number in full]
        if not valid:
            rows = [list(map(_valid, row)) for row in rows]
        if self._dialect.outer:
            rows = [row[1:-1] for row in rows]
        return [list(map(str.strip, row)) for row in rows] if self._dialect.trim else rows

    def _length(self, lines: list[str]) -> int:
        return len("".join(lines).encode(self._codec, "surrogateescape"))

    def _parse(self, lines: list[str]) -> tuple[list[list[str]], list[int]]:
        """(records, number of the line on which each begins)."""
        csv.field_size_limit(LONGEST_CELL)
        reader = csv.reader(
            lines,
            delimiter=self._dialect.delimiter,
            quoting=csv.QUOTE_MINIMAL if self._dialect.quoted else csv.QUOTE_NONE,
            skipinitialspace=self._dialect.padded,
        )
        rows: list[list[str]] = []
        begins = [0]
        for row in reader:
            rows.append(row)
            begins.append(reader.line_num)
        return rows, begins[:-1]


def _valid(cell: str) -> str:
    """Bytes that were no UTF-8 become U+FFFD."""
    return cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
