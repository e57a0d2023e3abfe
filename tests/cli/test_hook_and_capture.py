"""`crp-mcp hook` and `crp-mcp capture` as a host and a script run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from crp_mcp.core.model import Volatility
from tests.relay.support import Clock, bench, text_result

HOOKS = Path(__file__).resolve().parents[1] / "data" / "hooks"


def crp(folder: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "crp_mcp", *arguments, "--store", str(folder / "store")]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=60)


def test_a_hook_says_nothing_where_a_host_would_show_it_to_the_model(tmp_path: Path) -> None:
    """Standard output stays empty, the turn is there."""
    done = crp(tmp_path, "hook", given=(HOOKS / "user_prompt.json").read_bytes())
    assert (done.returncode, done.stdout) == (0, b"")
    stats = json.loads(crp(tmp_path, "scratch", "stats", "--json").stdout)
    assert stats["turns"] == 1


def test_a_hook_that_gets_no_hook_input_says_so(tmp_path: Path) -> None:
    """A sentence on stderr and an exit code that blocks nothing."""
    done = crp(tmp_path, "hook", given=b"hello")
    assert done.returncode == 1
    assert b"not the JSON object a hook is given" in done.stderr


def test_the_lines_of_a_stream_are_chunks_with_one_stream_id(tmp_path: Path) -> None:
    """One entry a line, each under the same stream."""
    given = b'{"n": 1}\n\n{"n": 2}\n{"n": 3}'
    done = crp(tmp_path, "capture", "--tool", "tail:log", "--stream", "job 7", "--json", given=given)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["stream_id"] for line in lines] == ["job 7"] * 3
    assert len({line["scratch_id"] for line in lines}) == 3


def test_an_output_from_elsewhere_is_captured_whole(tmp_path: Path) -> None:
    """Its bytes come back as they were."""
    data = b"a,b\n1,2\n"
    done = crp(tmp_path, "capture", "--tool", "me:csv", "--arguments", '{"of": "x"}', "--json", given=data)
    made = json.loads(done.stdout)["scratch_id"]
    assert crp(tmp_path, "scratch", "export", made).stdout == data


def test_a_wrong_policy_is_refused_before_any_server_starts(tmp_path: Path) -> None:
    """The sentence names the directive and what it may be."""
    command = [sys.executable, "-m", "crp_mcp", "serve", "--policy", "tool-output-stale=maybe", "--store"]
    started = tmp_path / "started"
    upstream = [sys.executable, "-c", f"open({str(started)!r}, 'w')"]
    done = subprocess.run([*command, str(tmp_path), "--", *upstream], capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    assert b"tool-output-stale is 'maybe'; it must be one of reinvoke, warn, exclude" in done.stderr
    assert not started.exists()


def test_doctor_names_what_a_hook_made_alone_and_the_policy(tmp_path: Path) -> None:
    """A hook of a host of which no server is known makes a conversation of its own and doctor says so."""
    crp(tmp_path, "hook", given=(HOOKS / "user_prompt.json").read_bytes())
    findings = {one["what"]: one["says"] for one in json.loads(crp(tmp_path, "doctor", "--json").stdout)["findings"]}
    assert "1 of this project's conversations were made by a hook that knew of no server" in findings["hooks"]
    assert "8c35adc1-7b0e-4f5e-9f5c-0d7c2a1e9b11" in findings["hooks"]
    assert "tool-output-stale=by volatility class" in findings["policy"]


def test_a_stale_reading_is_left_out_on_the_command_line_too(tmp_path: Path) -> None:
    """As JSON as well; asked for as it was, it comes with its age."""
    with bench(tmp_path, clock=Clock(1.0)) as at:
        policy = {"volatility": Volatility.REALTIME, "ttl": 30}
        made = at.capture(text_result('{"load": 71.5}'), tool="load", policy=policy).entry.scratch_id
    shown = json.loads(crp(tmp_path, "scratch", "get", made, "--json").stdout)
    assert "fresh data needed: load" in shown["line"]
    assert shown["text"] == ""
    raw = json.loads(crp(tmp_path, "scratch", "get", made, "--view", "raw", "--json").stdout)
    assert "71.5" in raw["text"]


def test_a_stream_of_blank_lines_says_that_nothing_was_captured(tmp_path: Path) -> None:
    """Silence would look like success."""
    done = crp(tmp_path, "capture", "--tool", "tail:log", "--stream", "job 7", given=b"\n  \n\r\n")
    assert done.returncode != 0
    assert b"nothing was captured: standard input has no line that is not blank" in done.stderr
