"""The workspace: definitions, relations in both directions, what is never read, an index that follows changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crp_mcp import ContextBudget, ContextRequest, assemble_context
from crp_mcp.core.request import render
from crp_mcp.workspace.corpus import Workspace, open_workspace

AUTH = '''"""Who may come in."""
from app.store import Store


class Base:
    def check(self, user):
        return bool(user)


class AuthManager(Base):
    """Decides who may come in. Keeps nothing."""

    def __init__(self):
        self.store = Store()

    def login(self, user, password):
        """Check a password and open a session."""
        # a comment
        if self.check(user):
            return self.store.find_session(user)
        return None
'''
STORE = """class Store:
    def find_session(self, user):
        return user
"""
README = "# App\n\nIt does things.\n\n## Install\n\nRun pip.\n\n```sh\n# not a heading\n```\n\n## Use\n\nCall it.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src" / "app").mkdir(parents=True)
    (tmp_path / "src" / "app" / "__init__.py").write_text("from .auth import AuthManager\n")
    (tmp_path / "src" / "app" / "auth.py").write_text(AUTH)
    (tmp_path / "src" / "app" / "store.py").write_text(STORE)
    (tmp_path / "main.py").write_text(
        "from app import AuthManager\n\n\ndef main():\n    AuthManager().login('a', 'b')\n"
    )
    (tmp_path / "README.md").write_text(README)
    return tmp_path


def opened(root: Path) -> Workspace:
    made = open_workspace([root])
    made.refresh()
    return made


def test_definitions_are_nodes_with_relations_both_ways(tree: Path) -> None:
    """Containment, imports, bases and calls lead from a definition to others and back, through re-exports too."""
    at = opened(tree)
    (manager,) = at.resolve("uko-py:class/AuthManager")
    assert manager == "uko-py:class/app.auth.AuthManager"
    assert at.resolve("AuthManager.login") == ["uko-py:function/app.auth.AuthManager.login"]
    steps = set(at.neighbours(manager))
    assert ("bases", "uko-py:class/app.auth.Base") in steps
    assert ("contains", "uko-py:function/app.auth.AuthManager.login") in steps
    assert ("calledBy", "uko-py:function/main.main") in steps
    assert ("subclasses", manager) in set(at.neighbours("uko-py:class/app.auth.Base"))
    login = set(at.neighbours("uko-py:function/app.auth.AuthManager.login"))
    assert ("calls", "uko-py:function/app.auth.Base.check") in login
    assert ("calls", "uko-py:function/app.store.Store.find_session") in login
    assert ("containedBy", manager) in login
    assert ("imports", "uko-py:module/app.store") in set(at.neighbours("uko-py:module/app.auth"))
    assert ("importedBy", "uko-py:module/app.auth") in set(at.neighbours("uko-py:module/app.store"))


def test_depths_of_source_go_from_a_name_to_the_whole(tree: Path) -> None:
    """A class is its name, then its members, relations, purpose, signatures, and at last its source as it stands."""
    node = opened(tree).node("uko-py:class/app.auth.AuthManager")
    assert node is not None
    assert render(node, 0) == "class app.auth.AuthManager (src/app/auth.py:10-21)"
    assert "contains: __init__, login" in render(node, 1)
    assert "bases: app.auth.Base" in render(node, 2)
    assert "Decides who may come in." in render(node, 3)
    assert "def login(self, user, password):" in render(node, 4)
    assert "find_session" not in render(node, 4)
    assert AUTH.split("\n\n\n")[2].strip() in render(node, 9)


def test_documents_have_sections_and_fences_hold_no_headings(tree: Path) -> None:
    """A document contains a section for each heading; a comment in a code block is none."""
    at = opened(tree)
    assert [uri for kind, uri in at.neighbours("uko-doc:document/README.md") if kind == "contains"] == [
        "uko-doc:section/README.md#app"
    ]
    node = at.node("uko-doc:section/README.md#install")
    assert node is not None
    assert "# not a heading" in render(node, 9)
    assert "Call it" not in render(node, 9)


def test_what_is_ignored_secret_binary_or_outside_is_never_read(tree: Path, tmp_path_factory) -> None:
    """Ignored files, secrets, keys, binaries and links out of the root give no node."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "other.py").write_text("def outsider(): ...\n")
    (tree / ".gitignore").write_text("build/\n*.gen.py\n!kept.gen.py\n")
    (tree / "build").mkdir()
    for name in ("build/made.py", "a.gen.py", "kept.gen.py"):
        (tree / name).write_text(f"def in_{Path(name).name.split('.')[0]}(): ...\n")
    (tree / "credentials.txt").write_text("token = in_credentials\n")
    (tree / "note.txt").write_text("-----BEGIN PRIVATE KEY-----\nin_key\n")
    (tree / "raw.txt").write_bytes(b"in_raw\0\x01")
    os.symlink(outside / "other.py", tree / "link.py")
    os.symlink(outside, tree / "folder")
    at = opened(tree)
    files = {source.file.path for source in at.tree.sources.values()}
    assert files == {
        "README.md",
        "kept.gen.py",
        "main.py",
        "src/app/__init__.py",
        "src/app/auth.py",
        "src/app/store.py",
    }
    assert at.resolve("outsider") == []


def test_the_index_follows_changes_and_reads_only_what_changed(tree: Path) -> None:
    """An edited file is read again alone, a removed one leaves, and an unchanged tree is not opened."""
    at = opened(tree)
    assert at.refresh() == 0
    (tree / "src" / "app" / "store.py").write_text(STORE + "\n\ndef brand_new_thing(): ...\n")
    (tree / "main.py").unlink()
    assert at.refresh() == 1
    assert at.resolve("brand_new_thing") == ["uko-py:function/app.store.brand_new_thing"]
    assert at.resolve("main.main") == []
    assert at.search({"brand": 1.0}, 5)[0][0] == "uko-py:function/app.store.brand_new_thing"
    (tree / "src" / "app" / "store.py").write_text("def broken(:\n")
    assert at.refresh() == 1
    assert at.resolve("brand_new_thing") == []
    assert list(at.resolve("uko-py:module/app.store")) == ["uko-py:module/app.store"]


def test_opening_a_workspace_reads_nothing(tree: Path) -> None:
    """A workspace that nobody asked anything has opened no file."""
    made = open_workspace([tree, tree / "missing"])
    assert made.tree.parsed_files == 0
    assert len(made.tree.roots) == 1


def test_a_request_over_an_installed_package(tmp_path: Path) -> None:
    """The reference's own fields, asked of a package as it was released: the class whole, what it rests on near it."""
    import starlette

    request = ContextRequest(
        query="How does authentication work?",
        focus=["uko-py:class/AuthenticationMiddleware"],
        breadth=2,
        depth="SIGNATURES",
        purpose="Understand the auth flow for refactoring",
    )
    root = Path(starlette.__file__).parent
    reply = assemble_context(request, [root], ContextBudget(max_tokens=8000, reserved_tokens=1000))
    first = reply.fragments[0]
    assert (first.uko_node, first.detail_depth) == (
        "uko-py:class/starlette.middleware.authentication.AuthenticationMiddleware",
        9,
    )
    assert "async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:" in first.content
    depths = {one.uko_node: one.detail_depth for one in reply.fragments}
    for near in ("AuthCredentials", "UnauthenticatedUser", "AuthenticationError"):
        assert f"uko-py:class/starlette.authentication.{near}" in depths
    assert reply.context.total_tokens <= reply.budget == 7000
    assert reply.context.provenance_map[first.uko_node]["resource_uri"].endswith("middleware/authentication.py")
    assert {"query", "focus", "breadth", "depth", "purpose"} <= set(reply.applied)
    again = assemble_context(request, [root], ContextBudget(max_tokens=8000, reserved_tokens=1000))
    assert again.to_json() == reply.to_json()


def test_the_reference_example_is_answered_from_a_package(tree: Path) -> None:
    """The reference's own request, asked of a package with an AuthManager: the class whole, the rest by nearness."""
    from crp_mcp import ContextBudget, ContextRequest
    from crp_mcp.core.assemble.assembling import assemble
    from crp_mcp.tokens import open_counter

    request = ContextRequest(
        query="How does authentication work?",
        focus=["uko-py:class/AuthManager"],
        breadth=2,
        depth="SIGNATURES",
        purpose="Understand the auth flow for refactoring",
    )
    budget = ContextBudget(max_tokens=8000, reserved_tokens=1000)
    reply = assemble(request, opened(tree), budget=budget, count=open_counter().count)
    shown = {one.uko_node: one for one in reply.fragments}
    first = reply.fragments[0]
    assert first.uko_node == "uko-py:class/app.auth.AuthManager"
    assert (first.detail_depth, first.relevance_score) == (9, 1.0)
    assert (first.provenance.resource_uri, first.provenance.location) == ("src/app/auth.py", "lines 10-21")
    assert shown["uko-py:class/app.auth.Base"].detail_depth <= 4
    assert reply.context.total_tokens <= 7000
    assert reply.applied["depth"] == "SIGNATURES = 4; what the focus names as deep as fits"
    assert reply.context.provenance_map[first.uko_node] == {
        "resource_uri": "src/app/auth.py",
        "location": "lines 10-21",
    }
