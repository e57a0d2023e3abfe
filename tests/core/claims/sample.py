"""Small tables of our own for the claim tests, and the shortest way to a verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from crp_mcp.core.claims import Evidence, Options, Verdict, check_claims
from crp_mcp.core.claims.batch import as_one
from crp_mcp.core.claims.load import read_document

SHOPS = [
    {"shop": "Harbour", "town": "Aalborg", "opened": "2011-03-04", "staff": 14, "revenue": 120500, "rating": 4.2},
    {"shop": "Old Mill", "town": "Bergen", "opened": "2014-07-19", "staff": 9, "revenue": 98000, "rating": 4.8},
    {"shop": "Station", "town": "Bergen", "opened": "2016-01-30", "staff": 21, "revenue": 203750, "rating": 3.9},
    {"shop": "Lindgren", "town": "Uppsala", "opened": "2018-11-02", "staff": 5, "revenue": 41250, "rating": 4.5},
    {"shop": "Northgate", "town": "Bergen", "opened": "2021-05-15", "staff": 12, "revenue": 150000, "rating": 4.1},
]
TICKETS = [
    {"id": n, "status": "open" if n % 3 else "closed", "assignee": None if n % 2 else "mara", "priority": n % 4}
    for n in range(1, 25)
]


def evidence(value: Any, name: str = "scratch_sql_001", **more: Any) -> Evidence:
    """A result as evidence: text as it is, anything else as JSON."""
    payload = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
    document = read_document(payload)
    return Evidence(name, lambda: document, provenance_hash="sha256:" + name, **more)


def verdict(text: str, *values: Any, options: Options | None = None) -> str:
    """The verdict on a whole text against these results."""
    return str(as_one(verdicts(text, *values, options=options))["verdict"])


def verdicts(text: str, *values: Any, options: Options | None = None) -> Sequence[Verdict]:
    given = [v if isinstance(v, Evidence) else evidence(v, f"scratch_sql_{i:03}") for i, v in enumerate(values, 1)]
    return check_claims(text, given, options=options)


def rows(names: Sequence[str], *cells: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows of objects from column names and cells."""
    return [dict(zip(names, row, strict=True)) for row in cells]
