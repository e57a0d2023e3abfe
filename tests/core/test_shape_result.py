"""A whole CallToolResult: texts, structured content, images, errors by their flag."""

from __future__ import annotations

import base64
import json
from typing import Any

from crp_mcp.core.model import Kind
from crp_mcp.core.shape import Shape, iter_rows, read_shape

ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


def shape_of(**result: Any) -> Shape:
    return read_shape(json.dumps(result).encode(), form="result")


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def test_one_text_block_gives_its_own_shape() -> None:
    """And its rows are found again inside the result."""
    data = json.dumps({"content": [text(json.dumps(ROWS))]}).encode()
    shape = read_shape(data, form="result")
    assert (shape.kind, shape.rows) == (Kind.TABULAR, 2)
    assert list(iter_rows(data, shape)) == [(1, "a"), (2, "b")]


def test_blocks_that_are_one_object_each_are_one_table() -> None:
    """A server that sends one block a row."""
    data = json.dumps({"content": [text(json.dumps(row)) for row in ROWS]}).encode()
    shape = read_shape(data, form="result")
    assert (shape.kind, shape.source, shape.rows) == (Kind.TABULAR, "json_blocks", 2)
    assert list(iter_rows(data, shape)) == [(1, "a"), (2, "b")]


def test_other_blocks_have_a_shape_each() -> None:
    """The one with data leads."""
    shape = shape_of(content=[text("Here you are, as you asked me to."), text(json.dumps(ROWS))])
    assert (shape.kind, shape.rows) == (Kind.TABULAR, 2)
    assert [(at, block.kind) for at, block in shape.blocks] == [(0, Kind.TEXT), (1, Kind.TABULAR)]


def test_structured_content_is_used_where_it_alone_holds_the_data() -> None:
    """The text merely says that it is there."""
    data = json.dumps(
        {"content": [text("Returned 2 rows, see the data.")], "structuredContent": {"rows": ROWS}}
    ).encode()
    shape = read_shape(data, form="result")
    assert (shape.kind, shape.rows, shape.path) == (Kind.TABULAR, 2, "rows")
    assert list(iter_rows(data, shape)) == [(1, "a"), (2, "b")]


def test_structured_content_that_repeats_the_text_changes_nothing() -> None:
    """`{"result": "the text"}`."""
    shape = shape_of(content=[text("Album, Artist, Customer")], structuredContent={"result": "Album, Artist, Customer"})
    assert shape.kind is Kind.TEXT


def test_images_and_files_are_media_by_size_and_never_text() -> None:
    """Base64 appears nowhere in the shape."""
    data = base64.b64encode(b"\x89PNG" + b"x" * 1000).decode()
    shape = shape_of(content=[text("Here is the image:"), {"type": "image", "data": data, "mimeType": "image/png"}])
    assert shape.media == ((1, "image", "image/png", 1004),)
    assert data[:40] not in str(shape)
    only = shape_of(content=[{"type": "image", "data": data, "mimeType": "image/png"}])
    assert only.kind is Kind.BINARY


def test_links_and_embedded_texts_are_told_apart() -> None:
    """A link has no text, an embedded text resource has."""
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"}
    resource = {"type": "resource", "resource": {"uri": "x", "mimeType": "text/plain", "text": "hello there, reader"}}
    shape = shape_of(content=[resource, link])
    assert (shape.kind, shape.media) == (Kind.TEXT, ((1, "resource_link", "text/plain", 0),))


def test_an_error_by_its_flag_has_its_text_as_message() -> None:
    """However little it looks like one."""
    shape = shape_of(content=[text("/usr/share")], isError=True)
    assert (shape.kind, shape.is_error, shape.text["message"]) == (Kind.ERROR, True, "/usr/share")


def test_an_error_without_content_takes_its_message_from_the_structured_content() -> None:
    """Never an empty error."""
    structured = {"error": {"code": "E_LOCKED", "message": "workbook is locked"}}
    shape = shape_of(content=[], isError=True, structuredContent=structured)
    assert shape.text["message"] == "E_LOCKED: workbook is locked"


def test_the_flag_may_be_passed_in_for_a_text() -> None:
    """Where the payload is the text alone."""
    shape = read_shape(b"some words", is_error=True)
    assert (shape.kind, shape.is_error, shape.text["message"]) == (Kind.ERROR, True, "some words")


def test_what_is_no_result_is_read_as_text() -> None:
    """Form is a hint, never a reason to fail."""
    assert read_shape(b"[1, 2", form="result").kind in Kind
    assert read_shape(json.dumps(ROWS).encode(), form="result").rows == 2
