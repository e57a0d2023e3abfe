"""Markdown, reStructuredText and plain text as a document and its sections."""

from __future__ import annotations

import re

from .model import Definition, Parsed
from .texts import first_sentence

DOMAIN = "uko-doc:"
_ATX = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_RULE = re.compile(r"([=\-~^\"'+*#])\1{2,}\s*$")
_PLAIN = re.compile(r"[^\w\- ]")


def parse_document(text: str) -> Parsed:
    """The document (definition 0) and a section for each heading, down to the next heading."""
    lines = text.split("\n")
    document = Definition("document", "", "", 1, len(lines), head=1, body=1)
    made = [document]
    for line, level, title in _headings(lines):
        if len(made) > 1:
            made[-1].end = line - 1
        parent = next((n for n in range(len(made) - 1, 0, -1) if made[n].head < level), 0)
        made.append(Definition("section", title, slug(title), line, len(lines), parent, head=level, body=line + 1))
    for one in made[1:]:
        one.doc = first_sentence("\n".join(lines[one.body - 1 : one.end]).lstrip("=-~^\"'+*# \n"))
    document.doc = first_sentence("\n".join(lines[: made[1].start - 1])) if len(made) > 1 else first_sentence(text)
    return Parsed(DOMAIN, made)


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """(line, level, title) of each heading; `#` inside fences is none."""
    found: list[tuple[int, int, str]] = []
    marks: list[str] = []
    fence = ""
    for number, line in enumerate(lines, start=1):
        opened = _FENCE.match(line)
        if opened:
            mark = opened.group(1)
            fence = "" if fence and mark.startswith(fence) else fence or mark[:3]
            continue
        if fence:
            continue
        if atx := _ATX.match(line):
            found.append((number, len(atx.group(1)), atx.group(2)))
            continue
        before = lines[number - 2].strip() if number > 1 else ""
        rule = _RULE.match(line)
        if rule and before and not _RULE.match(before) and len(line.strip()) >= len(before) and before[0] not in "|>-*":
            if rule.group(1) not in marks:
                marks.append(rule.group(1))
            found.append((number - 1, marks.index(rule.group(1)) + 1, before))
    return found


def slug(title: str) -> str:
    """A heading as an anchor: lower case, words joined by hyphens."""
    return "-".join(_PLAIN.sub("", title).lower().split())[:80] or "section"
