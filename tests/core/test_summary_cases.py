"""Summaries of real tool outputs: the cap, safe lines, true numbers, the same text in every process."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.core.model import SummaryOptions
from crp_mcp.core.shape import read_shape
from crp_mcp.core.shape.model import Shape
from crp_mcp.core.summary import render_summary
from tests.core.summary_checks import ID, check_lines, check_numbers, count_tokens, texts_of


def cases(folder: Path) -> Iterator[tuple[str, bytes, Shape]]:
    """(id, payload, shape) of every handed output."""
    for line in (folder / "real_outputs.jsonl").read_text("utf-8").splitlines():
        case: dict[str, Any] = json.loads(line)
        payload = (folder / case["file"]).read_bytes()
        form = "result" if case["form"] == "call_tool_result" else "text"
        yield case["id"], payload, read_shape(payload, form=form)


def summarise(shape: Shape, cap: int) -> str:
    """The summary with the real counter."""
    return render_summary(shape, scratch_id=ID, tool="t", count=count_tokens, options=SummaryOptions(cap=cap))


def digest(folder: Path) -> str:
    """One hash over the summaries of all outputs, and the shapes they came from."""
    whole = hashlib.sha256()
    for name, _, shape in cases(folder):
        whole.update(f"{name}\n{summarise(shape, 256)}\n".encode())
    return whole.hexdigest()


@pytest.fixture(scope="module")
def outputs(request: pytest.FixtureRequest) -> list[tuple[str, bytes, Shape]]:
    """All handed outputs, read once."""
    return list(cases(request.getfixturevalue("shared_cases")))


@pytest.mark.parametrize("cap", [40, 100, 256])
def test_every_summary_is_within_the_cap_and_safe(outputs: list[tuple[str, bytes, Shape]], cap: int) -> None:
    """Whatever the output, the cap holds, our own line is first and every other line has the prefix."""
    for name, _, shape in outputs:
        text = summarise(shape, cap)
        assert count_tokens(text) <= cap, name
        check_lines(text)


def _decoded(payload: bytes) -> Iterator[str]:
    """The payload as text, in every reading a shape may have used, with and without JSON escapes."""
    for encoding in ("utf-8", "utf-16", "latin-1"):
        text = payload.decode(encoding, "replace")
        yield text
        yield text.replace("\\n", "\n").replace("\\t", "\t").replace("\\/", "/").replace('\\"', '"').replace("\\u", " ")


def test_every_number_in_a_summary_is_true(outputs: list[tuple[str, bytes, Shape]]) -> None:
    """Each number stands in the payload as it is shown, or counts something."""
    for name, payload, shape in outputs:
        try:
            check_numbers(shape, summarise(shape, 256), [*_decoded(payload), shape.source, *shape.unwrapped])
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def test_texts_of_a_shape_stand_in_the_payload(outputs: list[tuple[str, bytes, Shape]]) -> None:
    """Digits that a shape carries are those of its payload: nothing is re-formatted on the way."""
    for name, payload, shape in outputs:
        known = "\n".join(_decoded(payload))
        for text in texts_of(shape):
            for run in re.findall(r"[0-9]{4,}", text):
                assert run in known, (name, text)


_PROGRAM = """
import pathlib, sys
from tests.core.test_summary_cases import digest
print(digest(pathlib.Path(sys.argv[1])))
"""


def test_the_same_summaries_in_another_process(shared_cases: Path) -> None:
    """Another hash seed, the same bytes."""
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": str(root)}
    program = [sys.executable, "-c", _PROGRAM, str(shared_cases)]
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(shared_cases)
