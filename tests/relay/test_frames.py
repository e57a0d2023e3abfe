"""Frames between the proxy and its worker."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from crp_mcp.relay.frames import BadFrame, FrameBuffer, encode_frame, read_frame


def _through(header: dict[str, Any], blob: bytes = b"") -> tuple[dict[str, Any], bytes] | None:
    return read_frame(io.BytesIO(b"".join(encode_frame(header, blob))).read)


def test_a_frame_comes_back_as_it_was() -> None:
    """Header and blob, also empty ones."""
    assert _through({"op": "tool", "é": [1, None, 2.5]}, b"\0\xff") == ({"op": "tool", "é": [1, None, 2.5]}, b"\0\xff")
    assert _through({}) == ({}, b"")
    assert read_frame(io.BytesIO(b"").read) is None


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\udfff":"a\\ud83d b"}', "1" + "0" * 40, "[-18446744073709551617]"])
def test_whatever_a_host_may_send_can_be_framed(text: str) -> None:
    """Lone surrogates in keys and values, and numbers no machine word holds."""
    found = _through({"arguments": json.loads(text), "name": "scratch_get"})
    assert found is not None
    json.dumps(found[0], ensure_ascii=False).encode()
    assert found[0]["name"] == "scratch_get"


@pytest.mark.parametrize("step", [1, 3, 7, 8, 50, 10_000])
def test_frames_come_out_of_pieces_of_any_size(step: int) -> None:
    """Each as soon as its last byte is there, and none of the next is lost."""
    frames = [({"id": n, "text": "é" * n}, bytes(range(n))) for n in range(40)]
    sent = b"".join(b"".join(encode_frame(*frame)) for frame in frames)
    buffer, found = FrameBuffer(), []
    for at in range(0, len(sent), step):
        found += list(buffer.feed(sent[at : at + step]))
    assert found == frames


def test_what_is_no_frame_is_refused_before_it_is_waited_for() -> None:
    """Lengths beyond all bounds are those of something else."""
    with pytest.raises(BadFrame):
        list(FrameBuffer().feed(b"\xff" * 64))
