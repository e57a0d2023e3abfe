"""Servers over HTTP in config files: every way the hosts write them, and errors that never show a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from crp_mcp.app.upstreams import from_config, remote_in_place, tokens_folder
from crp_mcp.config.servers import ServerConfig, parse_config
from crp_mcp.errors import ConfigError
from crp_mcp.mcp.spec import OAuth, PassThrough, RemoteSpec

SECRET = "hunter2-s3cret"
ENV = {"T": SECRET, "HOME": "/home/u", "CRP_MCP_TOKENS": "/home/u/tokens"}


def one(entry: str, folder: Path = Path("/nowhere")) -> ServerConfig:
    (server,) = parse_config(f'{{"mcpServers": {{"s": {entry}}}}}', folder / "f.json", ENV).servers
    return server


def spec(entry: str, folder: Path = Path("/nowhere")) -> RemoteSpec:
    found = from_config(one(entry, folder), ENV)
    assert isinstance(found, RemoteSpec)
    return found


@pytest.mark.parametrize(
    ("kind", "transport"),
    [
        ("", "auto"),
        ('"type": "http",', "http"),
        ('"type": "streamable-http",', "http"),
        ('"transport": "streamableHttp",', "http"),
        ('"type": "sse",', "sse"),
    ],
)
def test_the_hosts_words_for_a_transport(kind: str, transport: str) -> None:
    """Claude Code's, VS Code's, Cursor's; without one it is found out."""
    assert spec(f'{{{kind} "url": "https://h/mcp"}}').transport == transport


def test_headers_come_from_variables_and_files(tmp_path: Path) -> None:
    """`${VAR}`, `${file:PATH}` and a file of headers, whose names `headers` may say again in any case."""
    (tmp_path / "key").write_text(f"{SECRET}\n")
    (tmp_path / "headers").write_text(f"# ours\nX-One: 1\nx-two:  {SECRET} \n\n")
    entry = '{"url": "http://h", "headersFile": "headers", "headers": {"X-Two": "${T}!", "X-Key": "a ${file:key}"}}'
    assert spec(entry, tmp_path).headers == {"X-One": "1", "X-Two": f"{SECRET}!", "X-Key": f"a {SECRET}"}


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        ('"auth": "oauth"', OAuth()),
        ('"auth": {"scopes": "a b", "client_id": "i", "client_secret": "${T}"}', OAuth(("a", "b"), "i", SECRET)),
        ('"auth": {"CLIENT_ID": "i", "scopes": ["a"]}', OAuth(("a",), "i")),
        ('"oauth": {"clientId": "i", "callbackPort": 8080}', OAuth((), "i", redirect_port=8080)),
        ('"auth": {"passThrough": "X-Up"}', PassThrough("X-Up")),
        ('"auth": null', None),
    ],
)
def test_credentials_in_each_hosts_words(auth: str, expected: object) -> None:
    """Our keys, Claude Code's and Cursor's."""
    assert spec(f'{{"url": "https://h/mcp", {auth}}}').auth == expected


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('{"url": "ftp://${T}"}', "s.url is no address of a server"),
        ('{"url": "https://"}', "s.url is no address of a server"),
        ('{"url": "https://h/${T} x"}', "s.url is no address of a server"),
        ('{"url": "http://h:99999/${T}"}', "s.url is no address of a server"),
        ('{"url": "http://h", "type": "ws"}', "s.type of a server with a `url` must be http"),
        ('{"url": "http://h", "headers": {"A b": "${T}"}}', "is not the name of a header"),
        ('{"url": "http://h", "headers": {"A": "${T}\\nB: x"}}', "line ends or characters beyond ASCII"),
        ('{"url": "http://h", "headers": {"Host": "${T}"}}', "is a header that is set by itself"),
        ('{"url": "http://h", "headers": {"A": "${file:no-such}"}}', "no-such, which cannot be read"),
        ('{"url": "http://h", "headersFile": "no-such"}', "no-such, which cannot be read"),
        ('{"url": "http://h", "headers": {"authorization": "${T}"}, "auth": "oauth"}', "exclude each other"),
        ('{"url": "http://h", "auth": {"client_scret": "${T}"}}', "is not a known key; known: scopes, client_id"),
        ('{"url": "http://h", "auth": {"passThrough": "X"}, "shared": true}', "s.shared cannot be"),
        ('{"url": "http://h", "auth": {"redirect_port": 0}}', "must be a whole number from 1 to 65535"),
        ('{"url": "http://h", "auth": {"grant": "password"}}', "must be one of authorization_code"),
        (
            '{"url": "http://h", "auth": {"grant": "client_credentials", "client_id": "i", "client_secret": "${T}"}}',
            "needs client_id, client_secret, issuer",
        ),
    ],
)
def test_what_is_wrong_is_named_and_no_value_shown(entry: str, says: str) -> None:
    """File, line and field; never what a variable holds."""
    with pytest.raises(ConfigError) as caught:
        one(entry)
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)


def test_nothing_secret_is_in_a_repr() -> None:
    """Neither of the configuration nor of what is made of it."""
    entry = '{"url": "https://u:${T}@h/?k=${T}", "headers": {"A": "${T}"}, "auth": {"client_secret": "${T}"}}'
    assert SECRET not in repr(one(entry)) + repr(spec(entry)) + repr(spec(entry).auth)


def test_a_server_of_the_command_line() -> None:
    """Named after its host; its headers may name variables, and what is wrong is told by its number."""
    found = remote_in_place("https://mcp.example/x", ["A: ${T}", "B:b"], environment=ENV)
    assert (found.name, found.headers, found.tokens) == ("mcp.example", {"a": SECRET, "b": "b"}, "/home/u/tokens")
    for wrong in ("no colon", "A b: ${T}", "A: ${T}\n"):
        with pytest.raises(ConfigError, match="--header 2") as caught:
            remote_in_place("https://h", ["A: 1", wrong.replace("}\n", "}\nx")], environment=ENV)
        assert SECRET not in str(caught.value)
    with pytest.raises(ConfigError, match="--url is no address"):
        remote_in_place("h/mcp", environment=ENV)


def test_the_command_that_logs_in_is_known() -> None:
    """With the name and the file, quoted for a shell."""
    assert spec('{"url": "http://h"}', Path("/a b")).login == "crp-mcp login s --config '/a b/f.json'"


def test_tokens_are_the_users_whatever_the_store() -> None:
    """Beside the store of the environment, or where the environment says."""
    assert tokens_folder({"HOME": "/home/u", "CRP_MCP_STORE": "/data/x.db"}) == "/data/tokens"
    assert tokens_folder(ENV) == "/home/u/tokens"


def test_eras_in_both_vocabularies() -> None:
    """`legacy` and `modern` mean what the core calls `handshake` and `2026-07-28`."""
    eras = {word: spec(f'{{"url": "http://h", "era": "{word}"}}').ways.era for word in ("legacy", "modern", "auto")}
    assert eras == {"legacy": "handshake", "modern": "2026-07-28", "auto": "auto"}


def test_a_program_for_headers_is_not_run_and_that_is_said() -> None:
    """Claude Code's headersHelper."""
    text = '{"mcpServers": {"s": {"url": "http://h", "headersHelper": "x"}}}'
    (warning,) = parse_config(text, Path("/f.json"), ENV).warnings
    assert "no program is run for headers here" in warning
