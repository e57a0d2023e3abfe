"""Which of a host's roots may be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from crp_mcp.workspace.roots import folder_of, folders_of, within


def test_folders_of_this_machine_are_read_by_their_real_path(tmp_path: Path) -> None:
    """Escapes are read, links followed, repeated ones said once."""
    real, link = tmp_path / "my shop", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    uris = [real.as_uri(), f"file://localhost{link}", f"file://{tmp_path}/my%20shop/", str(real)]
    assert folders_of(uris) == (real.resolve(),)


@pytest.mark.parametrize(
    "uri",
    ["", "http://example.com/x", "file://server/share", "file:relative", "file:///no/such/folder", "file:///%00", "{}",
     "file:///%ff", "file://[", "file:///x?y=1", "data:,x"],
)  # fmt: skip
def test_what_is_no_folder_here_is_passed_over(uri: str) -> None:
    """Other schemes, other machines, names that cannot be, what does not exist."""
    assert folder_of(uri) is None


def test_home_and_what_is_above_it_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not by a link that leads there; a folder in it is."""
    home = tmp_path / "home" / "bo"
    (home / "shop").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    (home / "file").write_text("x")
    monkeypatch.setenv("HOME", str(home))
    for folder in (home, home.parent, tmp_path, Path("/"), tmp_path / "link", home / "file"):
        assert folder_of(folder.as_uri()) is None
    assert folder_of((home / "shop").as_uri()) == (home / "shop").resolve()


def test_folders_in_folders_are_read_once(tmp_path: Path) -> None:
    """The outer one has them already."""
    inner, other = tmp_path / "a" / "b", tmp_path / "ab"
    assert within((tmp_path / "a",), (inner, other, inner)) == (tmp_path / "a", other)
