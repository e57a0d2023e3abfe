"""Payload bytes -> shape: kind, rows, columns or tree. Pure; any bytes at all, never an exception."""

from .codec import shape_from_json, shape_to_json
from .columns import Num
from .model import Column, Shape, Value
from .reading import read_text
from .results import read_result

__all__ = ["Column", "Num", "Shape", "Value", "read_shape", "shape_from_json", "shape_to_json"]


def read_shape(payload: bytes, *, form: str = "text", is_error: bool = False) -> Shape:
    """The shape of a payload. `form="result"`: it is a whole CallToolResult. Never raises."""
    if form == "result":
        return read_result(payload, is_error)
    return read_text(payload)
