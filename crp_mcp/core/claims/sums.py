"""Counts that several results make up together (19 = 1 + 18). Supports only: it never contradicts."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Evidence, Outcome
from .numbers import agrees
from .quantities import find_quantities
from .weigh import Judged


def over_several(text: str, evidence: Sequence[Evidence]) -> Judged | None:
    """A count that is the sum of the rows of results with the same columns."""
    quantities = [q for q in find_quantities(text) if isinstance(q.value, int) and q.compare == "eq"]
    if len(quantities) != 1:
        return None
    groups: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    given = {item.scratch_id for item in evidence}
    for item in evidence:
        if given & set(item.derived_from):
            continue
        table = item.load().main
        if table is not None and table.rows and not item.load().is_error:
            groups.setdefault(tuple(sorted(c.name for c in table.columns)), []).append((item.scratch_id, table.rows))
    for members in groups.values():
        total = sum(rows for _, rows in members)
        if len(members) > 1 and agrees(quantities[0], total):
            sql = " + ".join(f'(SELECT COUNT(*) FROM "{scratch_id}")' for scratch_id, _ in members)
            parts = " + ".join(str(rows) for _, rows in members)
            return Judged(
                Outcome.SUPPORTED,
                0.3,
                f"SELECT {sql}",
                f"{parts} = {total}",
                quantities[0].literal,
                frame="sum-of-rows",
            )
    return None
