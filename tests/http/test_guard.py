"""Which `Host` and `Origin` are taken."""

from __future__ import annotations

import pytest

from crp_mcp.mcp.http.guard import Names, is_safe, own_names

LOCAL = Names((), (), own_names("127.0.0.1"))


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]", "[::1]:5", "localhost:65535"], ids=str
)
def test_names_of_this_machine_are_taken_on_loopback(host: str) -> None:
    """In any case of letters, with any port."""
    assert LOCAL.host(host)
    assert LOCAL.origin(f"http://{host}", host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "localhost.", "localhost.evil.example", "localhost@evil.example", "evil.example:80@localhost"],
)
def test_other_names_are_not(host: str) -> None:
    """However much they look like one."""
    assert not LOCAL.host(host)
    assert not LOCAL.origin(f"http://{host}", "localhost")


@pytest.mark.parametrize(
    "origin", ["http://[", "http://[::1", "http://a]b", "null", "", "localhost", "file:///", "//["]
)
def test_an_origin_that_is_no_address_is_refused(origin: str) -> None:
    """Not a fault of ours, wherever we listen."""
    assert not LOCAL.origin(origin, "localhost")
    assert not Names((), (), ()).origin(origin, "crp.example")
    assert not is_safe(origin)


def test_the_address_we_listen_at_is_a_name_of_ours() -> None:
    """Any of loopback; where others can reach us, names say nothing."""
    other = Names((), (), own_names("127.0.0.2"))
    assert other.host("127.0.0.2:8080")
    assert other.host("localhost")
    assert other.origin("http://127.0.0.2:8080", "127.0.0.2:8080")
    assert not other.host("127.0.0.3")
    assert own_names("0.0.0.0") == ()
    assert Names((), (), own_names("10.0.0.1")).host("crp.example")
    assert not Names(("crp.example",), (), own_names("10.0.0.1")).host("localhost")
