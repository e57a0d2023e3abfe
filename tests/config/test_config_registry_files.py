"""Registry files on disk: lines in errors, the cache, which files count, and following them as they change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crp_mcp.config import LiveRegistry, load_registry, registry_paths, shipped_registry_path
from crp_mcp.core.model import Volatility
from crp_mcp.errors import ConfigError


def write(folder: Path, body: str, name: str = "tools.yaml") -> Path:
    path = folder / name
    path.write_text("version: 1\n" + body)
    return path


def test_the_operators_file_stands_over_the_shipped_one(tmp_path: Path):
    """A rule of the operator's wins; tools it does not name keep what is shipped."""
    path = write(tmp_path, 'tools:\n  - {match: "*:my_tool", volatility: STATIC}\n')
    registry = load_registry([path])
    assert registry.policy("s", "my_tool").volatility is Volatility.STATIC
    assert registry.policy("s", "read_text_file") == load_registry().policy("s", "read_text_file")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("tools:\n  - match: '*:a'\n    volatilty: STATIC\n", ":4: tools[0].volatilty is not a known key"),
        ("tools:\n  - match: '*:a'\n\n    ttl: soon\n", ":5: tools[0].ttl is not a duration"),
        ("tools:\n  - match: '*:a'\n    ttl: 1\n    ttl: 2\n", ":5: the key `ttl` stands here twice"),
        ("tools: [\n", "not valid YAML"),
        ("tools: !!python/object:os.system {}\n", "tools"),
        ("tools: [!x y]\n", ":2:9: not valid YAML"),
        ("? [a]\n: b\n", ":2: a key must be plain text"),
        ("a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
         "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n",
         "too many"),
    ],
)  # fmt: skip
def test_errors_name_file_and_line(tmp_path: Path, body: str, said: str):
    """Every fault of a YAML file is refused with the line it stands in."""
    path = write(tmp_path, body)
    with pytest.raises(ConfigError) as caught:
        load_registry([path])
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_the_cache_gives_the_same_registry_without_yaml(tmp_path: Path):
    """From a warm cache the registry is the same, and the YAML reader is not even imported."""
    path, cache = write(tmp_path, 'tools:\n  - {match: "*:x", ttl: PT7S}\n'), tmp_path / "c a c h e"
    first = load_registry([path], cache=cache)
    code = (
        "import sys; from pathlib import Path; from crp_mcp.config import load_registry;"
        "r = load_registry([Path(sys.argv[1])], cache=Path(sys.argv[2]));"
        "print(r.policy('s', 'x').ttl, 'yaml' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code, path, cache], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["7", "False"]
    assert load_registry([path], cache=cache).layers[0].defaults == first.layers[0].defaults
    assert load_registry([path], cache=cache).policy("s", "x") == first.policy("s", "x")


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"version": 9}', b"\xff"])
def test_a_spoilt_cache_is_read_past(tmp_path: Path, kept: bytes):
    """A torn or foreign cache file costs time, never a wrong registry or an error."""
    cache = tmp_path / "cache"
    expected = load_registry(cache=cache).policy("s", "read_text_file")
    files = list(cache.iterdir())
    assert files
    for file in files:
        file.write_bytes(kept)
    assert load_registry(cache=cache).policy("s", "read_text_file") == expected
    assert json.loads(files[0].read_bytes())["version"] == 1


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path: Path):
    """Where the cache's place is taken by a file, the registry is read all the same."""
    (tmp_path / "cache").write_text("in the way")
    assert load_registry(cache=tmp_path / "cache").labels


def test_the_cache_is_private_and_bounded(tmp_path: Path):
    """Cache files are for the owner alone, and old ones go."""
    cache = tmp_path / "cache"
    for number in range(12):
        load_registry([write(tmp_path, f'tools:\n  - {{match: "*:x", ttl: {number}}}\n')], cache=cache)
    files = list(cache.iterdir())
    assert 2 <= len(files) <= 8
    if os.name == "posix":
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_live_registry_follows_its_file(tmp_path: Path):
    """An edit is taken at the next look; a broken one leaves the last good registry; a file may come late."""
    path = tmp_path / "tools.yaml"
    live = LiveRegistry([path])
    before = live.current().policy("s", "x").ttl
    write(tmp_path, 'tools:\n  - {match: "*:x", ttl: 7}\n')
    assert (live.changed(), live.current().policy("s", "x").ttl, live.changed()) == (True, 7, False)
    write(tmp_path, "tools: nonsense\n")
    assert live.current().policy("s", "x").ttl == 7
    assert live.problem is not None
    assert str(path) in live.problem
    path.unlink()
    assert (live.current().policy("s", "x").ttl, live.problem) == (before, None)


def test_a_file_broken_from_the_start(tmp_path: Path):
    """Who stores results is refused; who only shows tools goes on with the shipped registry until it is mended."""
    path = write(tmp_path, "tools: nonsense\n")
    with pytest.raises(ConfigError):
        LiveRegistry([path])
    live = LiveRegistry([path], strict=False)
    assert live.problem is not None
    assert live.current().policy("s", "read_query") == load_registry().policy("s", "read_query")
    write(tmp_path, 'tools:\n  - {match: "*:x", ttl: 7}\n')
    assert (live.current().policy("s", "x").ttl, live.problem) == (7, None)


def test_which_files_count(tmp_path: Path):
    """A named file comes before $CRP_MCP_REGISTRY, that before the user's usual one; a named one must exist."""
    named, other = write(tmp_path, "", "a.yaml"), write(tmp_path, "", "b.yaml")
    assert registry_paths({"CRP_MCP_REGISTRY": str(other)}, named) == (named,)
    assert registry_paths({"CRP_MCP_REGISTRY": str(other)}) == (other,)
    assert registry_paths({"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path)})[0].parent.parent == tmp_path
    with pytest.raises(ConfigError, match=r"none\.yaml: there is no registry file"):
        registry_paths({}, tmp_path / "none.yaml")


def test_the_shipped_registry_is_found():
    """The shipped file stands in the package or beside it."""
    assert shipped_registry_path().name == "tool_registry.yaml"
    assert shipped_registry_path().is_file()
