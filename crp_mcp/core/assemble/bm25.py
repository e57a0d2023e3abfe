"""BM25 over documents of terms, kept as postings. Documents come and go; scores run from 0 to 1.

A score is the share of the best that any document could reach for the query, so scores of different collections
can be laid side by side.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

K1 = 1.2
B = 0.6
_TF_BITS = 10
_TF_MOST = (1 << _TF_BITS) - 1


@dataclass(slots=True)
class Bm25:
    """An inverted index. `add` gives the document's number; numbers are never used again."""

    postings: dict[str, array[int]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    _total: int = 0

    def add(self, terms: Mapping[str, int]) -> int:
        """Add a document as how often it has each term."""
        number = len(self.lengths)
        length = 0
        postings = self.postings
        for term, times in terms.items():
            length += times
            packed = number << _TF_BITS | (times if times < _TF_MOST else _TF_MOST)
            row = postings.get(term)
            if row is None:
                postings[term] = array("Q", (packed,))
            else:
                row.append(packed)
        self.lengths.append(length)
        self._total += length
        return number

    def remove(self, number: int) -> None:
        """Take a document out of every answer from now on."""
        if number not in self.gone:
            self.gone.add(number)
            self._total -= self.lengths[number]

    def __len__(self) -> int:
        return len(self.lengths) - len(self.gone)

    def search(self, query: Mapping[str, float]) -> list[tuple[int, float]]:
        """(document, score) of all that have a term of the query, the best first; ties in order of arrival."""
        count = len(self)
        if not count:
            return []
        average = max(1.0, self._total / count)
        scores: dict[int, float] = {}
        best = 0.0
        for term in sorted(query):
            row = self.postings.get(term, ())
            idf = math.log(1 + (count - min(len(row), count) + 0.5) / (min(len(row), count) + 0.5))
            weight = idf * query[term]
            best += weight * (K1 + 1)
            self._score(row, weight, average, scores)
        if not best:
            return []
        gone = self.gone
        found = [(number, score / best) for number, score in scores.items() if number not in gone]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def _score(self, row: array[int] | tuple[()], weight: float, average: float, scores: dict[int, float]) -> None:
        lengths, get = self.lengths, scores.get
        top, low, slope = weight * (K1 + 1), K1 * (1 - B), K1 * B / average
        for packed in row:
            number, times = packed >> _TF_BITS, packed & _TF_MOST
            scores[number] = get(number, 0.0) + top * times / (times + low + slope * lengths[number])
