"""Sensitivity labels in a total order: how labels join, and that one never goes down by being unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from crp_mcp.core.model import LABELS

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def is_label_name(text: object) -> bool:
    """Whether this is an upper-case ASCII lattice identifier, nothing before or after it (ECCR parser invariant 3)."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Lattice:
    """Labels from low to high. Raises ValueError when empty, repeated, or not upper-case ASCII identifiers."""

    labels: tuple[str, ...] = LABELS

    def __post_init__(self) -> None:
        if not self.labels:
            raise ValueError("a lattice needs at least one label")
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("a lattice names each label once")
        for label in self.labels:
            if not is_label_name(label):
                raise ValueError(f"label {label!r} is not an upper-case ASCII identifier")

    @property
    def top(self) -> str:
        """The most restricted label: what everything unknown is handled as."""
        return self.labels[-1]

    def knows(self, label: object) -> bool:
        return isinstance(label, str) and label in self.labels

    def effective(self, label: object) -> str:
        """The label itself, or the top if it is not one of ours (never down, ECCR parser invariant 3)."""
        return label if isinstance(label, str) and label in self.labels else self.top

    def rank(self, label: object) -> int:
        """Position from the bottom, 0-based; unknown counts as the top."""
        return self.labels.index(self.effective(label))

    def join(self, labels: Iterable[object]) -> str:
        """The least upper bound. Raises ValueError for no labels at all: nothing has no sensitivity."""
        ranks = [self.rank(label) for label in labels]
        if not ranks:
            raise ValueError("no labels to join")
        return self.labels[max(ranks)]

    def clears(self, clearance: object, label: object) -> bool:
        """Whether a holder of `clearance` may see `label`. An unknown clearance clears nothing above the bottom."""
        held = self.labels.index(clearance) if isinstance(clearance, str) and clearance in self.labels else 0
        return self.rank(label) <= held


DEFAULT_LATTICE = Lattice()
