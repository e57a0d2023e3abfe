"""`crp-mcp hook` and `crp-mcp capture` as a host and a script run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
