"""The table of SPEC-029: every sentence stands in the text, every test it names is there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from crp_mcp.cli.scratch import entry_json
from tests.relay.support import bench, text_result

from .table import DECISIONS, SPEC_029, Row

TESTS = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("CRP_SHARED") or TESTS.parents[1] / "shared")
TEXT = SHARED / "spec" / "crp-spec-029-tier-e.txt"
PAGE = TESTS.parent / "docs" / "decisions" / "0040-the-life-of-an-entry.md"
MEMBERS = (
    "scratch_id tool_name tool_call_args raw_output raw_token_count summary structured created_at freshness_ttl "
    "persistence referenced_by provenance_hash"
)


@pytest.mark.parametrize("row", [*SPEC_029, *DECISIONS], ids=lambda row: f"{row.section}: {row.sentence[:40]}")
def test_every_test_that_is_named_exists(row: Row) -> None:
    """A renamed or removed test leaves a sentence without one."""
    for test in row.tests:
        file, name = test.split("::")
        source = (TESTS / file).read_text()
        assert re.search(rf"^(?:def {name}\(|{name}\b)", source, re.MULTILINE), test


def test_every_sentence_stands_in_the_specification() -> None:
    """Word for word, in the section that is given."""
    if not TEXT.exists():
        pytest.skip("the specification's text is not here: set CRP_SHARED")
    parts = re.split(r"^(\d+(?:\.\d+)?)\.? .*¶$", TEXT.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    missing = [f"{row.section}: {row.sentence}" for row in SPEC_029 if row.sentence not in sections[row.section]]
    assert not missing


def test_every_decision_stands_on_its_page_and_has_a_test() -> None:
    """Each numbered line of the page is in the table."""
    lines = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.read_text(), re.MULTILINE))
    assert set(lines) == {row.section for row in DECISIONS}
    missing = [f"{row.section}: {row.sentence}" for row in DECISIONS if row.sentence not in lines[row.section]]
    assert not missing


def test_an_entry_has_the_members_of_the_specification(tmp_path: Path) -> None:
    """Names exactly; the raw output is had by view or export, never in a listing."""
    with bench(tmp_path) as at:
        entry = at.entry(at.host_call("load", text_result("1")))
    assert set(MEMBERS.split()) - {"raw_output", "structured"} <= set(entry_json(entry))
