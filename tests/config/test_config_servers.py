"""Config files of every host, read: what is understood, what is let pass, what is refused, and what is never shown."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crp_mcp.config import Config, ServerConfig, load_config, parse_config
from crp_mcp.errors import ConfigError

SECRET = "hunter2-s3cret"


def read(text: str, folder: Path = Path("/conf"), **env: str) -> Config:
    return parse_config(text, folder / "mcp.json", env)


def one(entry: str, **env: str) -> ServerConfig:
    return read('{"mcpServers": {"git": ' + entry + "}}", **env).servers[0]


def refusal(text: str, **env: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text, **env)
    return str(caught.value)


def refused_entry(entry: str, **env: str) -> str:
    return refusal('{"mcpServers": {"git": ' + entry + "}}", **env)


def test_claude_desktop_form():
    """`mcpServers` with command, args and env; everything of ours at its default."""
    server = one('{"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "1", "PORT": 8080}}')
    assert (server.name, server.command, server.args) == ("git", "uvx", ("mcp-server-git",))
    assert server.env == {"A": "1", "PORT": "8080"}
    assert (server.prefix, server.allow, server.deny, server.era, server.timeout) == (None, (), (), "auto", None)
    assert (server.inherit_env, server.shared, server.disabled) == ((), False, False)


def test_vs_code_form_with_comments_and_trailing_commas():
    """VS Code's `servers`, with comments, trailing commas and its own keys."""
    text = """
    {   // VS Code
        "inputs": [{"type": "promptString", "id": "key",}],
        "servers": {
            /* the only
               one */
            "git": {"type": "stdio", "command": "git-mcp", "args": ["//not a comment", "/* nor this */",], "dev": {}},
        },
    }"""
    config = read(text)
    assert config.servers[0].args == ("//not a comment", "/* nor this */")
    assert config.warnings == ()


def test_vs_code_settings_form():
    """The servers inside VS Code's settings file are found under `mcp`."""
    assert read('{"mcp": {"servers": {"a": {"command": "x"}}}}').servers[0].name == "a"


def test_our_own_keys():
    """Everything that says how a server is treated."""
    server = one(
        '{"command": "x", "prefix": true, "allow": ["get_*"], "deny": ["drop"], "era": "legacy", "timeout": "PT2M",'
        ' "inherit_env": ["AWS_*"], "shared": true}'
    )
    assert (server.prefix, server.allow, server.deny) == ("git", ("get_*",), ("drop",))
    assert (server.era, server.timeout, server.inherit_env, server.shared) == ("handshake", 120.0, ("AWS_*",), True)
    assert one('{"command": "x", "inherit_env": true, "prefix": "g-1"}').inherit_env == ("*",)
    assert one('{"command": "x", "prefix": false}').prefix is None


@pytest.mark.parametrize(
    ("written", "seconds"), [("30", 30), ("0.5", 0.5), ("60000", 60), ('"PT90S"', 90), ("1000", 1000)]
)
def test_timeouts_in_seconds_milliseconds_and_durations(written: str, seconds: float):
    """Small numbers are seconds, large ones Claude Code's milliseconds."""
    assert one('{"command": "x", "timeout": ' + written + "}").timeout == seconds


@pytest.mark.parametrize("written", ["3600", "0", "-1", "true", '"soon"', '"PT0S"', "[]"])
def test_doubtful_timeouts_are_refused(written: str):
    """A number that could be either unit is refused with what to write instead."""
    assert "PT" in refused_entry('{"command": "x", "timeout": ' + written + "}")


def test_references_are_expanded_once():
    """`${VAR}`, `${env:VAR}` and defaults; what a variable holds is not expanded again; a bare `$` stays."""
    server = one(
        '{"command": "${BIN}", "args": ["${env:A}-${NONE:-d:-e}", "$A", "${EMPTY:-x}"], "env": {"T": "${B}"}}',
        BIN="/opt/my tools/x", A="1", B="${A}", EMPTY="",
    )  # fmt: skip
    assert server.command == "/opt/my tools/x"
    assert server.args == ("1-d:-e", "$A", "x")
    assert server.env == {"T": "${A}"}


def test_folders_of_the_hosts():
    """`${workspaceFolder}` is the folder the file belongs to, outside `.vscode` and its like."""
    text = '{"servers": {"a": {"command": "x", "args": ["${workspaceFolder}", "${userHome}"]}}}'
    assert read(text, Path("/p/.vscode")).servers[0].args == (str(Path("/p").absolute()), str(Path.home()))
    assert read(text, Path("/p")).servers[0].args[0] == str(Path("/p").absolute())


def test_an_unset_variable_is_named_with_its_field():
    """An unset variable is an error that names it, the line and the field."""
    message = refusal('{"mcpServers": {"git": {"command": "x",\n "env": {"TOKEN": "${GITHUB_TOKEN}"}}}}')
    assert "mcp.json:2: mcpServers.git.env.TOKEN: the environment variable GITHUB_TOKEN is not set" in message


@pytest.mark.parametrize("reference", ["${input:key}", "${command:x}", "${a b}", "${A:-${B}}"])
def test_references_that_cannot_be_followed_are_refused(reference: str):
    """Editors' prompts and unknown forms are refused rather than passed on as they stand."""
    assert "mcpServers.git.args[0]" in refused_entry('{"command": "x", "args": [' + json.dumps(reference) + "]}", A="1")


def test_paths(tmp_path: Path):
    """Spaces are kept, `~` is the home folder, and a relative `cwd` or `envFile` starts at the file's folder."""
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "my.env").write_text("# c\nexport A='1 2'\nB=x\nnonsense\nC=\n")
    entry = {"command": "~/bin/my server", "cwd": "sub dir", "envFile": "my.env", "env": {"B": "y"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"a b": entry}, "crp": {"registry": "r.yaml"}}))
    config = load_config(folder / "mcp.json", {})
    assert config.servers[0].command == str(Path.home() / "bin/my server")
    assert config.servers[0].cwd == str(folder / "sub dir")
    assert config.servers[0].env == {"A": "1 2", "B": "y", "C": ""}
    assert (config.registry, config.store) == (folder / "r.yaml", None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_files_as_windows_editors_save_them(tmp_path: Path, encoding: str, newline: str):
    """Byte order marks, UTF-16 and CRLF make no difference."""
    path = tmp_path / "mcp.json"
    path.write_bytes(newline.join(["{", '"mcpServers": {"ä": {"command": "x"} // c', "}}"]).encode(encoding))
    assert load_config(path, {}).servers[0].name == "ä"


def test_a_missing_or_binary_file_is_named(tmp_path: Path):
    """A file that cannot be read, or is not text, is named with what to do."""
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read .*--config"):
        load_config(tmp_path / "none.json", {})
    (tmp_path / "bin.json").write_bytes(b"{\xff\xfe}")
    with pytest.raises(ConfigError, match=r"bin\.json: not utf-8 text .*save the file as UTF-8"):
        load_config(tmp_path / "bin.json", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {\n  "a": {"command": "x"}\n  "b": {}}}', ":3:3: not valid JSON: `,` or `}` is expected"),
        ('{"mcpServers": {\r\n\r\n  "a": x}}', ":3:8: not valid JSON: text must stand in double quotes"),
        ('{"a": 1,,}', ":1:9: not valid JSON: a key in double quotes"),
        ('{"a": [1 2]}', ":1:10: not valid JSON: `,` or `]`"),
        ('{"a": }', ":1:7: not valid JSON: a value is missing"),
        ('{"a": 1', ":1:8: not valid JSON: `}` is missing"),
        ('{"a" 1}', ":1:6: not valid JSON: `:` is expected"),
        ('{"a": NaN}', ":1:7: not valid JSON"),
        ('{"a": "x\ny"}', ":1:9: not valid JSON: invalid control character"),
        ("{} {}", ":1:4: not valid JSON: something follows"),
        ("{ /* x", ":1:3: not valid JSON: this comment is never closed"),
        ("", ":1:1: not valid JSON: the file ends too early"),
        ("[" * 100, "nested deeper"),
        (
            '{"mcpServers": {"a": {"command": "x"},\n "a": {"command": "y"}}}',
            ':2:2: not valid JSON: the key "a" stands',
        ),
        ('{"mcpServers": {"a": {"env": {"T": "1", "\\u0054": "2"}}}}', 'the key "T" stands here twice'),
    ],
)
def test_json_errors_give_line_and_column(text: str, said: str):
    """What is not JSON is refused with line, column and reason; a key that stands twice counts as that."""
    assert said in refusal(text)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('{"comand": "x"}', "mcpServers.git.comand is not a known key; did you mean `command`?"),
        ('{"command": "x", "inheritEnv": []}', "did you mean `inherit_env`?"),
        ("{}", "mcpServers.git needs `command`"),
        ('{"command": "x", "url": "http://y"}', "and not both"),
        ('{"command": ""}', "mcpServers.git.command is empty"),
        ('{"command": ["x"]}', "mcpServers.git.command must be text, not a list"),
        ('{"command": "x", "args": "y"}', "mcpServers.git.args must be a list, not text"),
        ('{"command": "x", "args": [true]}', "mcpServers.git.args[0] must be text, not true or false"),
        ('{"command": "x", "env": []}', "mcpServers.git.env must be an object, not a list"),
        ('{"command": "x", "env": {"A": null}}', "mcpServers.git.env.A must be text, not null"),
        ('{"command": "x", "era": "new"}', "git.era must be one of auto, handshake, legacy, 2026-07-28, modern"),
        ('{"command": "x", "prefix": "a.b"}', "mcpServers.git.prefix must be true"),
        ('{"command": "x", "shared": 1}', "mcpServers.git.shared must be true or false, not a number"),
        ('{"command": "x", "allow": "a"}', "mcpServers.git.allow must be a list, not text"),
        ('{"command": "x", "envFile": "none.env"}', "mcpServers.git.envFile names"),
        ('{"command": "x", "allow": []}', "mcpServers.git.allow names no tool"),
        ("[]", "mcpServers.git must be an object, not a list"),
    ],
)
def test_a_wrong_field_is_named(entry: str, said: str):
    """Every error names the line and the field, and says what is wanted."""
    message = refused_entry(entry)
    assert "mcp.json:1: " in message
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "has neither `mcpServers` nor `servers`"),
        ("[]", "has neither"),
        (
            '{"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "x"}}}',
            "stands under `mcpServers` and",
        ),
        ('{"mcpServers": {"": {"command": "x"}}}', "is not a usable server name"),
        ('{"mcpServers": {}, "crp": {"stoer": "x"}}', "crp.stoer is not a known key; known: registry, store"),
    ],
)
def test_a_wrong_file_is_named(text: str, said: str):
    """Errors of the file as a whole say what it must hold."""
    assert said in refusal(text)


def test_keys_of_other_hosts_are_let_pass():
    """Known keys of other hosts pass in silence, unknown ones with a warning that names the line."""
    config = read(
        '{"mcpServers": {"a": {"command": "x", "type": "stdio", "alwaysLoad": true,\n "autoApprove": [], "zzz": 1}}}'
    )
    assert [warning.split(": ", 1)[1] for warning in config.warnings] == ["`zzz` has no meaning here and is let pass"]


def test_a_disabled_server_is_listed_but_nothing_of_it_is_expanded():
    """A disabled server needs no variables and no command."""
    config = read('{"mcpServers": {"a": {"command": "${NOT_SET}", "disabled": true}, "b": {"disabled": true}}}')
    assert [server.name for server in config.servers] == ["a", "b"]
    assert config.enabled() == ()


def test_a_server_over_http_is_read():
    """A `url` server is understood; it has no program that could be started."""
    server = one('{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}}', T=SECRET)
    assert (server.url, server.headers) == ("https://h/mcp", {"Authorization": f"Bearer {SECRET}"})
    assert server.transport == "http"
    with pytest.raises(ConfigError, match="'git' is reached over HTTP: there is no program"):
        server.stdio()


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("crp-mcp", ["serve"]),
        ("C:\\Tools\\CRP-MCP.exe", ["serve", "--config", "x"]),
        ("python3.11", ["-m", "crp_mcp", "serve"]),
    ],
)
def test_an_entry_that_starts_ourselves_is_left_out(command: str, args: list[str]):
    """Reading the file of the host we stand in must not start us again and again."""
    config = read(json.dumps({"mcpServers": {"me": {"command": command, "args": args}}}))
    assert config.servers == ()
    assert "starts crp-mcp itself" in config.warnings[0]


def test_an_entry_wrapped_in_place_is_unwrapped():
    """A server already wrapped in place is taken by its inner command, so that nothing is captured twice."""
    server = one('{"command": "/v/bin/crp-mcp", "args": ["serve", "--no-tools", "--", "npx", "-y", "s", "--", "z"]}')
    assert server.stdio() == ("npx", ("-y", "s", "--", "z"))


def test_secrets_appear_in_no_repr_and_no_error():
    """Values of env, headers, args and url are shown nowhere."""
    shown = repr(one('{"command": "x", "args": ["--key=${S}"], "env": {"A": "${S}"}}', S=SECRET))
    shown += repr(one('{"url": "https://${S}@h", "headers": {"A": "${S}"}}', S=SECRET))
    shown += repr(read('{"mcpServers": {"a": {"command": "x", "env": {"A": "${S}"}}}}', S=SECRET))
    for bad in (
        '{"command": "x", "env": {"A": "SECRET", "B": ["SECRET"]}}',
        '{"command": "x", "env": {"A": "SECRET" "B": 1}}',
        '{"command": "x", "args": ["SECRET", {"SECRET": 1}]}',
        '{"command": "x", "env": {"A": SECRET}}',
        '{"command": "x", "env": {"A": "SECRET${NOT_SET}"}}',
        '{"command": "x", "env": {"A": "SECRET", "A": "SECRET"}}',
        '{"command": "x", "timeout": "SECRET"}',
        '{"command": "x", "prefix": "SECRET.SECRET"}',
        '{"command": "x", "env": {"A": "SECRET',
    ):
        shown += refused_entry(bad.replace("SECRET", SECRET))
    assert SECRET not in shown


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str):
    """Whatever the file holds, the answer is a Config or a ConfigError."""
    with contextlib.suppress(ConfigError):
        assert isinstance(read(text), Config)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_plain_json_reads_as_the_standard_reader_reads_it(data: object, indent: int | str | None, ascii_only: bool):
    """Text that is plain JSON gives the same value here as in the standard library."""
    from crp_mcp.config.jsonc import parse_jsonc

    assert parse_jsonc(json.dumps(data, indent=indent, ensure_ascii=ascii_only), "x").data == data


@given(JSON)
def test_any_content_under_a_server_is_read_or_refused(data: object):
    """Any JSON in a server's place, or in a field's, is read or refused."""
    for content in (
        {"mcpServers": data},
        {"mcpServers": {"a": data}},
        {"mcpServers": {"a": {"command": "x", "env": data}}},
    ):
        with contextlib.suppress(ConfigError):
            assert isinstance(read(json.dumps(content)), Config)


def test_policy_and_budget_are_read_and_checked(tmp_path: Path) -> None:
    """What is wrong with either is said with its line and field, before any server starts."""

    def read(own: str) -> Config:
        return parse_config('{"mcpServers": {}, "crp": ' + own + "}", tmp_path / "c.json", {})

    config = read('{"policy": "tool-output-stale warn", "budget": {"store_bytes": 1000}}')
    assert config.policy == "tool-output-stale=warn"
    assert config.budget == {"store_bytes": 1000}
    for wrong, named in (
        ('{"policy": "tool-output-stale=maybe"}', "maybe"),
        ('{"budget": {"store_bytes": 0}}', "budget.store_bytes"),
        ('{"budget": {"bytes": 1}}', "budget.bytes"),
    ):
        with pytest.raises(ConfigError, match=named):
            read(wrong)


def test_roots_and_window_of_context_requests_are_read_and_checked() -> None:
    """Folders relative to the file, and a whole number of tokens; absent ones leave the usual."""
    config = read('{"crp": {"roots": ["src", "/else"], "window": 200000}, "mcpServers": {}}')
    assert config.roots == (Path("/conf/src"), Path("/else"))
    assert config.window == 200_000
    assert read('{"mcpServers": {}}').roots is None
    for own, named in (
        ('{"window": 0}', "crp.window"),
        ('{"window": true}', "crp.window"),
        ('{"roots": "src"}', "crp.roots"),
    ):
        assert named in refusal('{"crp": ' + own + ', "mcpServers": {}}')
