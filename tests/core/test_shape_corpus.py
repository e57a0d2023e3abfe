"""Real outputs of real tools, where the shared collection is at hand: kind, rows, columns, error flag."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.shape import Shape, iter_rows, read_shape

CASES = Path(os.environ.get("CRP_SHARED") or Path(__file__).resolve().parents[2].parent / "shared") / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared collection of real outputs is not here")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").split("\n") if line]


def cases() -> list[tuple[dict[str, Any], dict[str, Any], bytes]]:
    wanted = {case["id"]: case for case in lines("kinds.jsonl")}
    outputs = lines("real_outputs.jsonl")
    return [(output, wanted[output["id"]], (CASES / output["file"]).read_bytes()) for output in outputs]


def form_of(output: dict[str, Any]) -> str:
    return "text" if output["form"] == "text" else "result"


def faults(shape: Shape, wanted: dict[str, Any]) -> list[str]:
    found = []
    if shape.kind.value not in wanted["kinds"]:
        found.append(f"kind {shape.kind}")
    elif wanted["rows"] is not None and shape.kind.value in ("tabular", "list") and shape.rows not in wanted["rows"]:
        found.append(f"rows {shape.rows}")
    names = [column.name for column in shape.columns or ()]
    if wanted["columns"] and shape.kind.value == "tabular" and names != wanted["columns"]:
        found.append(f"columns {names[:5]}")
    if wanted["is_error"] is not None and shape.is_error != wanted["is_error"]:
        found.append(f"is_error {shape.is_error}")
    return found


def test_at_least_98_in_100_real_outputs_are_recognised() -> None:
    """The ones that are not are named."""
    wrong = {}
    every = cases()
    for output, wanted, data in every:
        found = faults(read_shape(data, form=form_of(output)), wanted)
        if found:
            wrong[output["id"]] = found
    assert len(wrong) <= 0.02 * len(every), wrong


def test_every_table_of_the_collection_gives_its_rows_back() -> None:
    """As many as the shape counts."""
    for output, _, data in cases():
        shape = read_shape(data, form=form_of(output))
        if shape.kind.value in ("tabular", "list") and not shape.is_error:
            assert len(list(iter_rows(data, shape))) == shape.rows, output["id"]
