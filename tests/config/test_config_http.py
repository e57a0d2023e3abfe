"""The `crp.http` section, and what every number, address and text of a config file may be."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from crp_mcp.app.http import split_address
from crp_mcp.app.settings import parse_budget
from crp_mcp.app.upstreams import in_place, remote_in_place
from crp_mcp.config import Config, parse_config
from crp_mcp.config.http import HttpConfig, Limits
from crp_mcp.errors import ConfigError
from crp_mcp.mcp.http.auth import read_tokens
from crp_mcp.mcp.http.server import bind

WORTHLESS = ("-1", "0", "1e999", "1.5", '"8"', "true", "null", "[]", "1" + "0" * 30)


def read(crp: str) -> Config:
    return parse_config(f'{{"mcpServers": {{}}, "crp": {crp}}}', Path("/nowhere/f.json"), {"SET": "x"})


def http(section: dict[str, Any]) -> HttpConfig:
    found = read(json.dumps({"http": section})).http
    assert found is not None
    return found


def refused(crp: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(crp)
    return str(caught.value)


@pytest.mark.parametrize("name", [each.name for each in fields(Limits)])
def test_limits_are_numbers_that_make_sense(name: str) -> None:
    """What is usual is within the range; what would refuse everything, or nothing, is an error with the range."""
    usual = getattr(Limits(), name)
    assert http({"limits": {name: usual}}).limits == Limits()
    for worthless in (*WORTHLESS, str(10**10)):
        said = refused(f'{{"http": {{"limits": {{"{name}": {worthless}}}}}}}')
        assert said.startswith(f"/nowhere/f.json:1: crp.http.limits.{name} must be a whole number from 1")


@pytest.mark.parametrize("key", ["window", "budget"])
def test_numbers_of_the_section_are_whole_and_no_larger_than_any_reader_takes(key: str) -> None:
    """A NaN is not even JSON."""
    for worthless in (*WORTHLESS, "NaN", "Infinity"):
        value = worthless if key == "window" else f'{{"store_bytes": {worthless}}}'
        said = refused(f'{{"{key}": {value}}}')
        assert "f.json:1" in said
        assert "whole number above 0" in said or "numbers" in said


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ({"public_url": "https://["}, "public_url"),
        ({"public_url": "https://"}, "public_url"),
        ({"public_url": "https://h:99999"}, "public_url"),
        ({"public_url": "https://h/a?b=c"}, "public_url"),
        ({"public_url": "https://h/ x"}, "public_url"),
        ({"public_url": "ftp://h"}, "public_url"),
        ({"public_url": 'https://h"'}, None),
        ({"hosts": ["https://h"]}, "hosts[0]"),
        ({"hosts": ["h", "*"]}, "hosts[1]"),
        ({"hosts": ["h/"]}, "hosts[0]"),
        ({"hosts": "h"}, "hosts"),
        ({"origins": ["h"]}, "origins[0]"),
        ({"origins": ["https://h/"]}, "origins[0]"),
        ({"origins": ["*"]}, "origins[0]"),
        ({"origins": [5]}, "origins[0]"),
        ({"tokens": [{"token": "t" * 5000, "tenant": "a"}]}, "tokens[0].token"),
        ({"tokens": [{"token": "ü" * 20, "tenant": "a"}]}, "tokens[0].token"),
        ({"tokens": [{"token": "t" * 20, "tenant": "a\ud800"}]}, "tokens[0].tenant"),
        ({"oauth": {"issuer": "issuer", "audience": "a"}}, "oauth.issuer"),
        ({"oauth": {"issuer": "https://[", "audience": "a"}}, "oauth.issuer"),
        ({"oauth": {"issuer": "https://h", "audience": "a", "jwks_url": "x"}}, "oauth.jwks_url"),
        ({"oauth": {"issuer": "https://h", "audience": "a", "scopes": ['a"b']}}, "oauth.scopes[0]"),
        ({"oauth": {"issuer": "https://h", "audience": ""}}, "oauth.audience"),
    ],
)
def test_addresses_and_names_that_could_never_be_right(section: dict[str, Any], field: str | None) -> None:
    """The field is named, and what to write there."""
    if field is None:
        assert http(section)
        return
    assert refused(json.dumps({"http": section})).startswith(f"/nowhere/f.json:1: crp.http.{field} ")


def test_addresses_and_names_as_they_should_be() -> None:
    """Ports, any port, addresses of both kinds, pages of other programs."""
    found = http(
        {
            "public_url": "https://crp.example.com:8443/base/",
            "hosts": ["crp.example.com", "h:8080", "h:*", "[::1]:80", "10.0.0.1"],
            "origins": ["https://app.example.com", "http://localhost:*", "vscode-webview://a1b2", "null"],
        }
    )
    assert found.public_url == "https://crp.example.com:8443/base"
    assert len(found.hosts) == 5
    assert len(found.origins) == 4


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 0.0, 1e9])
def test_timeouts_of_a_command_line(seconds: float) -> None:
    """A time that never passes, or has passed already, is refused."""
    with pytest.raises(ConfigError, match="--timeout must be"):
        in_place(["x"], timeout=seconds)
    with pytest.raises(ConfigError, match="--timeout must be"):
        remote_in_place("http://h", timeout=seconds, environment={})


@pytest.mark.parametrize("address", ["h", "h:", "h:x", "h:70000", "h:-1", "h:\u0663", "h:1_0"])
def test_addresses_to_listen_at(address: str) -> None:
    """Only HOST:PORT is one; a name that cannot be one is said so as well."""
    with pytest.raises(ConfigError, match="HOST:PORT"):
        split_address(address)
    with pytest.raises(ConfigError, match="cannot listen"):
        bind("a..b", 80)


@pytest.mark.parametrize(
    "text", ["store_bytes=0", "store_bytes=-1", "store_bytes=1e3", "store_bytes=" + "9" * 30, "x=1"]
)
def test_budgets_of_the_environment(text: str) -> None:
    """Whole numbers that a store can hold."""
    with pytest.raises(ConfigError, match="CRP_MCP_BUDGET"):
        parse_budget(text)


@pytest.mark.parametrize(
    "entry",
    [
        '{"command": "x", "env": {"A=B": "1"}}',
        '{"command": "x", "env": {"": "1"}}',
        '{"command": "x", "env": {"A\\u0000": "1"}}',
        '{"command": "x", "args": ["\\ud800"]}',
        '{"command": "\\ud800"}',
        '{"command": "x", "timeout": 1e999}',
        '{"command": "x", "timeout": "PT999999999999S"}',
        '{"command": "x", "timeout": -1e999}',
    ],
)
def test_what_no_process_could_be_started_with(entry: str) -> None:
    """Refused where it is written, not when the server is started."""
    with pytest.raises(ConfigError, match=r"f\.json:1: mcpServers\.s"):
        parse_config(f'{{"mcpServers": {{"s": {entry}}}}}', Path("/nowhere/f.json"), {})


@pytest.mark.parametrize(
    "line", ["short team", "t" * 20, "ü" * 20 + " team", "t" * 20 + " team secret", "t" * 20 + " a B C"]
)
def test_lines_of_a_token_file_are_held_against_the_same(tmp_path: Path, line: str) -> None:
    """The line is named, and nothing of it shown."""
    file = tmp_path / "tokens"
    file.write_text(f"# who\n{'t' * 20} team SECRET\n{line}\n")
    file.chmod(0o600)
    with pytest.raises(ConfigError, match=r"tokens:3: not `TOKEN TENANT") as caught:
        read_tokens(file)
    assert line.split()[0] not in str(caught.value)
