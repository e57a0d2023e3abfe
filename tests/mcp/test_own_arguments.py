"""Arguments of our own tools that are not what they must be: an error that says so, never a call without them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from crp_mcp.mcp.relay_side import value_of
from crp_mcp.mcp.tools.definitions import OWN_TOOLS

from .host import MODERN_META, Host, fixture

NAMES = sorted(str(tool["name"]) for tool in OWN_TOOLS)
BIG = 5000 * "9"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("own")
    command = [sys.executable, "-m", "crp_mcp", "serve", "--store", str(folder / "store"), "--", *fixture()]
    with Host(command, env={"HOME": str(folder)}) as host:
        host.initialize()
        host.request("tools/list")
        yield host


def call_raw(host: Host, tool: str, arguments: str, meta: dict | None = None) -> dict:
    host.next_id += 1
    given = f',"arguments":{arguments}' if arguments else ""
    params = f'{{"name":"{tool}"{given},"_meta":{json.dumps(meta or {})}}}'
    line = f'{{"jsonrpc":"2.0","id":{host.next_id},"method":"tools/call","params":{params}}}\n'
    host.write(line.encode())
    return host.wait(host.next_id)["result"]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ('"scratch_sql_001"', "a string"),
        ('""', "a string"),
        ("[]", "a list"),
        ('["a"]', "a list"),
        ("0", "a number"),
        ("1.5", "a number"),
        ("-1e999", "a number"),
        (BIG, "a number"),
        ("false", "a boolean"),
        pytest.param('"' + "x" * 2_000_000 + '"', "a string", id="long"),
    ],
)
@pytest.mark.parametrize("meta", [{}, MODERN_META], ids=["handshake", "modern"])
def test_arguments_that_are_no_object_are_an_error(host: Host, arguments: str, kind: str, meta: dict) -> None:
    """A result the model reads, which says what was given; the same from every one of our tools."""
    for name in NAMES if len(arguments) < 10 else NAMES[:1]:
        result = call_raw(host, name, arguments, meta)
        assert result["isError"]
        assert result["content"][0]["text"] == f"{name}: arguments must be an object, not {kind}"
        assert result.get("resultType") == ("complete" if meta else None)


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
def test_arguments_may_be_absent(host: Host, arguments: str) -> None:
    """Or null, or an empty object: the same."""
    result = call_raw(host, "scratch_list", arguments)
    assert not result["isError"]
    assert result["content"][0]["text"] == "nothing is stored yet"


@pytest.mark.parametrize("number", [BIG, "-" + BIG, "1e999", "-1e999", "1" + "0" * 25])
def test_a_number_beyond_all_bounds_is_not_lost(host: Host, number: str) -> None:
    """It is refused as the number it is; the other arguments are still there."""
    result = call_raw(host, "scratch_list", f'{{"limit":{number}}}')
    assert result["isError"]
    assert "`limit` must be between 1 and" in result["content"][0]["text"]


def test_what_cannot_be_read_is_an_error(host: Host) -> None:
    """Long messages are not checked as they pass."""
    pad = '"' + "x" * 2_000_000 + '"'
    for broken in ("NaN", "tru", "[" * 100_000 + "]" * 100_000):
        result = call_raw(host, "scratch_list", f'{{"tool":{pad},"limit":{broken}}}')
        assert result["isError"]
        assert result["content"][0]["text"].startswith("scratch_list: arguments cannot be read: ")


def test_numbers_keep_their_value() -> None:
    """Those of ordinary size exactly."""
    assert value_of(b"[1,-12345678901234567890,1.5,-0.25e-3]") == [1, -12345678901234567890, 1.5, -0.25e-3]
    assert value_of(b"[1e999,-%b]" % BIG.encode()) == [sys.float_info.max, -sys.float_info.max]
    assert [value_of(raw) for raw in (None, b"", b"null")] == [None] * 3
