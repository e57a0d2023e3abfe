"""Payload bytes -> shape: kind, rows, columns or tree. Pure; any bytes at all, never an exception."""

from .builder import HEAD, ShapeBuilder
from .codec import shape_from_json, shape_to_json
from .columns import Num
from .model import Column, Shape, Value
from .reading import read_text
from .results import read_result
from .rows import iter_rows, rows_at

__all__ = [
    "Column",
    "Num",
    "Shape",
    "ShapeBuilder",
    "Value",
    "iter_rows",
    "read_shape",
    "rows_at",
    "shape_from_json",
    "shape_to_json",
]
_PIECE = 1_048_576


def read_shape(payload: bytes, *, form: str = "text", is_error: bool = False) -> Shape:
    """The shape of a payload. `form="result"`: it is a whole CallToolResult. Never raises."""
    if len(payload) <= HEAD:
        return read_result(payload, is_error) if form == "result" else read_text(payload, is_error)
    builder = ShapeBuilder(form=form, is_error=is_error)
    view = memoryview(payload)
    for at in range(0, len(payload), _PIECE):
        builder.feed(bytes(view[at : at + _PIECE]))
    return builder.finish()
