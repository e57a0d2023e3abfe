"""What a summary says beside counts and ranges: words around a table, what objects hold, what an empty result said."""

from __future__ import annotations

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape import read_shape
from crp_mcp.core.summary import render_summary
from tests.core.summary_checks import count_tokens


def _lines(payload: str, form: str = "text") -> list[str]:
    shape = read_shape(payload.encode(), form=form)
    options = SummaryOptions(cap=256, sample_rows=3)
    text = render_summary(shape, scratch_id="scratch_x_001", tool="x", count=count_tokens, options=options)
    return text.splitlines()[1:]


def test_words_around_a_table_are_told_but_for_its_count() -> None:
    """A title says what the rows are of; a footer that counts them says nothing new."""
    lines = _lines("Open orders of Ann:\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n\n2 rows returned.\n")
    assert "| around the rows: Open orders of Ann:" in lines
    assert not any("2 rows returned" in line for line in lines)
    warned = _lines("Warning: 2 of its columns were dropped\n\n| id | n |\n|---|---|\n| 1 | a |\n| 2 | b |\n")
    assert "| around the rows: Warning: 2 of its columns were dropped" in warned
    assert not any("around" in line for line in _lines(" id | n \n----+---\n  1 | a\n  2 | b\n(2 rows)\n"))


def test_a_total_is_told_before_anything_is_added_up() -> None:
    """The row stays among the rows."""
    lines = _lines("region,units\nNorth,10\nSouth,20\nEast,5\nTotal,35\n")
    assert "| the last row is a total, counted with the others: Total" in lines


def test_objects_in_cells_say_what_they_hold() -> None:
    """By the first of them."""
    rows = ",".join(f'{{"id":{at},"fields":{{"name":"n{at}","price":{at}.5}}}}' for at in range(9))
    assert "| fields: object, e.g. with name, price" in _lines(f"[{rows}]")


def test_few_short_items_are_shown_and_objects_of_objects_name_their_keys() -> None:
    """In an outline, where there is room for them."""
    lines = _lines('{"id":1,"email":["Enter a valid address."],"paths":{"/a":{"get":{}},"/b":{"get":{}}}}')
    assert "| email: list of 1 text: Enter a valid address." in lines
    assert "| paths: object, 2 keys (/a, /b)" in lines


def test_an_empty_result_keeps_its_words() -> None:
    """What was not found matters."""
    assert _lines("No pods found in default namespace.\n") == ["| text", "| No pods found in default namespace."]


def test_a_link_has_no_size() -> None:
    """What is behind it was not sent."""
    result = '{"content":[{"type":"text","text":"1 file"},{"type":"resource_link","uri":"file:///a","name":"a"}]}'
    assert _lines(result, "result")[-1] == "| block 1: resource_link"
