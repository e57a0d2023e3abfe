"""An independent reader of the handed outputs: json, csv and ast alone, no code of the product."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)?(?:\.\d+)?(?:[eE][+-]?\d+)?")


def rows_of(case: Mapping[str, Any], data: bytes) -> tuple[list[str], list[dict[str, Any]]] | None:
    """(columns, rows) of a case, or None where this reader does not know its form."""
    expected = case["expected"]
    if case["form"] == "call_tool_result":
        texts = [block["text"] for block in json.loads(data)["content"] if block.get("type") == "text"]
        if len(texts) != 1:
            return None
        data = texts[0].encode()
        expected = {**expected, **(expected["blocks"][0].get("text") or {})}
    kind = expected.get("class")
    if kind == "json_rows":
        return _objects(json.loads(data.decode("utf-8-sig"), parse_float=Decimal))
    if kind == "json_object":
        document = json.loads(data.decode("utf-8-sig"), parse_float=Decimal)
        lists = [value for value in document.values() if isinstance(value, list)]
        if len(lists) == 1 and lists[0] and all(isinstance(item, dict) for item in lists[0]):
            return _objects(lists[0])
        return None
    if kind == "python_repr_rows":
        return _objects(ast.literal_eval(data.decode()))
    if kind == "csv" and not expected.get("ragged"):
        return _csv(data, expected)
    return None


def _objects(rows: Any) -> tuple[list[str], list[dict[str, Any]]] | None:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    return list(dict.fromkeys(key for row in rows for key in row)), rows


def _csv(data: bytes, expected: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    text = data.decode(expected["encoding_used"], "replace").removeprefix("\ufeff").replace("\0", "")
    records = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=expected["delimiter"]) if row]
    names = records[0]
    return names, [dict(zip(names, row, strict=False)) for row in records[1:]]


def numbers_of(name: str, rows: list[dict[str, Any]]) -> list[Decimal] | None:
    """The numbers of a column, where every value it has is one; texts count where they are spelled as numbers."""
    cells = [row.get(name) for row in rows]
    full = [cell for cell in cells if cell is not None and cell != ""]
    if not full or any(isinstance(cell, bool | dict | list) for cell in full):
        return None
    kinds = {isinstance(cell, str) for cell in full}
    if len(kinds) > 1:
        return None
    texts = [str(cell).strip() if isinstance(cell, str) else str(cell) for cell in full]
    if not all(text and _NUMBER.fullmatch(text) for text in texts):
        return None
    return [Decimal(text) for text in texts]
