"""The documents against the code: snippets read, tables name what exists, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from crp_mcp.config import parse_config
from crp_mcp.config.servers import _KEYS as SERVER_KEYS
from crp_mcp.core.registry import parse_registry
from crp_mcp.core.registry.reading import _KEYS as REGISTRY_KEYS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def snippets(*languages: str) -> list[Any]:
    """Every fenced block in one of these languages, named by file and line."""
    fence = re.compile(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [
        pytest.param(block[1], id=f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, block.start()) + 1}")
        for page in PAGES
        for text in [page.read_text(encoding="utf-8")]
        for block in fence.finditer(text)
    ]


@pytest.mark.parametrize("text", [block for block in snippets("json", "jsonc") if "ervers" in block.values[0]])
def test_config_snippets_are_read(text: str):
    """Every server list shown to a reader is one the product reads, without a warning but for entries of our own."""
    config = parse_config(text, ROOT / "docs" / "snippet.json", {"HOME": "/home/me"})
    assert all("starts crp-mcp itself" in warning for warning in config.warnings)
    assert config.servers or config.warnings


@pytest.mark.parametrize("text", [block for block in snippets("yaml") if "version:" in block.values[0]])
def test_registry_snippets_are_read(text: str):
    """Every registry shown to a reader is one the product reads."""
    assert parse_registry(yaml.safe_load(text), where="snippet").layers


def first_cells(page: str) -> set[str]:
    """The names in code marks in the first cells of a page's tables."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE)
    return {name for cell in rows for name in re.findall(r"`([^`]+)`", cell)}


def test_every_key_is_documented():
    """The configuration page's tables name every key of a server and of a registry rule."""
    assert {*SERVER_KEYS, *REGISTRY_KEYS} <= first_cells("configuration.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    """Relative links between pages name files that exist, and headings that stand there."""
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, heading = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        if heading:
            assert heading in headings(found), target


def headings(page: Path) -> set[str]:
    """Anchors of a page's headings, made as code hosts make them."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_every_decision_is_in_the_index():
    """The index of decisions lists every page of the folder."""
    folder = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\(([^)]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8")))
    assert listed == {page.name for page in folder.glob("[0-9]*.md")}
