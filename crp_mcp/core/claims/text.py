"""A text result -> lines, labelled values, test counts, log levels, statuses. Knows no JSON and no sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .document import Document, Table, make_table
from .failures import status_codes

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ERROR_LINE = re.compile(
    r"^\W*(?:\w+\s+){0,2}(?:error|exception|fatal|traceback|failed|failure|denied|refused|"
    r"an error occurred)\b|\berror:|"
    r"^\w*(?:Error|Exception)\b|^(?:cannot|could not|unable to|no such|permission denied|"
    r"access denied)\b|command not found",
    re.IGNORECASE,
)  # fmt: skip
_NOTHING = re.compile(
    r"^\W*(?:no (?:\w+ ){0,3}(?:found|match\w*|available|returned|results?|rows?|records?|"
    r"data|entries|items|files?)|nothing (?:found|to \w+|matched)|"
    r"0 (?:rows|results|matches|records|items|files)|empty(?: (?:result|set|list))?|none|"
    r"not found|\(?no rows\)?|\(0 rows\))\b",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\b(?:output |result |response )?truncated\b|\bshowing (?:only )?(?:the )?(?:first|"
    r"last|top) \d|\bshowing \d+(?:\s*-\s*\d+)? of \d+|\b\d+ more (?:rows|lines|results|"
    r"items|files)\b",
    re.IGNORECASE,
)
_LEVEL = re.compile(
    r"(?:^|[\s\[|\"'<=(:])(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRITICAL|"
    r"FATAL|SEVERE|PANIC)(?=[\s\]|\"'>:,)]|$)"
)
LEVELS = {
    "warn": "warning", "warning": "warning", "err": "error", "error": "error", "info": "info", "notice": "notice",
    "debug": "debug",
    "trace": "trace", "critical": "critical", "fatal": "fatal", "severe": "error", "panic": "fatal",
}  # fmt: skip


def read_text(text: str, *, is_error: bool = False) -> Document:
    """Lines of a text with the labelled values, test counts and log levels found in them as records."""
    text = _ANSI.sub("", text)
    lines = tuple(text.splitlines())
    filled = [line for line in lines if line.strip()]
    tables: list[Table] = []
    if tests := test_counts(lines):
        tables.append(make_table(list(tests), [list(tests.values())], kind="record", path="tests", name="tests"))
    elif levels := level_counts(lines):
        tables.append(make_table(list(levels), [list(levels.values())], kind="record", path="levels", name="levels"))
    if len(text) <= 20_000 and not tests and (labels := dict(labelled_values(filled))):
        tables.append(make_table(list(labels), [list(labels.values())], kind="record", path="text"))
    if not tests and len(filled) > 1 and all(_ITEM.fullmatch(line) for line in filled):
        items = [[line.strip().lstrip("-*• ").strip()] for line in filled]
        tables = [make_table(["item"], items, kind="list", name="files items lines entries")]
    short = len(filled) <= 12 and len(text) < 3000
    error = is_error or (short and bool(filled) and _looks_failed(filled))
    empty = not filled or (len(filled) <= 2 and bool(_NOTHING.match(filled[0])) and not error)
    return Document(
        tables=tuple(tables), lines=lines, is_error=error, is_empty=empty, partial=bool(_CUT.search(text[-2000:])),
        kind="text", message=text.strip()[:4000] if error or short else "", statuses=tuple(status_codes(text)),
    )  # fmt: skip


_ITEM = re.compile(r"\s*(?:[-*•] \S.{0,200}|[\w./~@\\:-]{2,300})\s*")
"""A line of a plain list: a bullet, or one word such as a path."""


def _looks_failed(filled: Sequence[str]) -> bool:
    return bool(_ERROR_LINE.search(filled[0])) or (len(filled) <= 3 and any(_ERROR_LINE.match(line) for line in filled))


_COUNTED = re.compile(
    r"(?P<n>\d[\d,]*) (?P<what>passed|failed|failing|passing|skipped|errors?|warnings?|"
    r"xfailed|xpassed|deselected|total|pending|todo|ignored|snapshots?)\b",
    re.IGNORECASE,
)
_SUMMARY_LINE = re.compile(
    r"(?:\d[\d,]* [a-z]+(?:, |$| ))+(?:in [\d.]+ ?m?s(?:econds)?.*|\([\d.]+ ?m?s\))?", re.IGNORECASE
)
_KINDS = {
    "failing": "failed",
    "passing": "passed",
    "error": "errors",
    "warning": "warnings",
    "ignored": "skipped",
    "pending": "skipped",
}


def test_counts(lines: Sequence[str]) -> dict[str, float]:
    """Counts of a test run's own summary (pytest, jest, mocha, cargo, unittest, go test); empty when there is none."""
    out: dict[str, float] = {}
    for line in lines[-60:]:
        bare = line.strip().strip("=").strip()
        if re.match(r"Test Suites:|Snapshots:", bare):
            continue
        found = list(_COUNTED.finditer(bare))
        if found and (re.match(r"Tests?:|test result:", bare) or _SUMMARY_LINE.fullmatch(bare)):
            out.update({_KINDS.get(m["what"].lower(), m["what"].lower()): int(m["n"].replace(",", "")) for m in found})
        elif match := re.match(r"Ran (\d+) tests? in", bare):
            out["total"] = int(match[1])
        elif match := re.match(r"FAILED \((.*)\)$", bare):
            out.update({k: int(n) for k, n in re.findall(r"(failures|errors|skipped)=(\d+)", match[1])})
    out = {("failed" if k == "failures" else k): v for k, v in out.items()}
    if not out:
        out = dict(_go_counts(lines))
    if out and not {"passed", "failed", "total", "errors"} & set(out):
        return {}
    if out and "total" not in out:
        out["total"] = sum(
            v for k, v in out.items() if k in ("passed", "failed", "skipped", "errors", "xfailed", "xpassed")
        )
    elif "total" in out and "passed" not in out:
        out["passed"] = out["total"] - sum(out.get(k, 0) for k in ("failed", "errors", "skipped"))
    if out:
        out = {"failed": 0, "errors": 0, "skipped": 0, **out}
    return out


def _took(lines: Sequence[str]) -> float | None:
    """Seconds a test run says that it took."""
    for line in reversed(lines[-30:]):
        if match := re.search(r"\b(?:in|Time:)\s+(\d+(?:\.\d+)?) ?s\b", line):
            return float(match[1])
    return None


def _go_counts(lines: Sequence[str]) -> dict[str, int]:
    passed = sum(line.lstrip().startswith("--- PASS:") for line in lines)
    failed = sum(line.lstrip().startswith("--- FAIL:") for line in lines)
    skipped = sum(line.lstrip().startswith("--- SKIP:") for line in lines)
    return {"passed": passed, "failed": failed, "skipped": skipped} if passed + failed else {}


def level_counts(lines: Sequence[str]) -> dict[str, int]:
    """How many lines carry each log level; empty for a text that is no log."""
    out: dict[str, int] = {}
    for line in lines:
        if match := _LEVEL.search(line[:160]):
            level = LEVELS[match["level"].lower()]
            out[level] = out.get(level, 0) + 1
    marked = sum(out.values())
    if marked < 2 or marked < 0.3 * len([line for line in lines if line.strip()]):
        return {}
    return {**dict.fromkeys(("error", "warning"), 0), **out}


_COLON = re.compile(r"^\W{0,4}(?P<key>[A-Za-z][\w ./()#-]{0,40}?)\s*[:=]\s+(?P<value>\S.{0,200})$")
_IS = re.compile(
    r"\b(?P<key>(?:[a-z]+ ){0,3}[a-z]+) (?:is|was|of|:|=)\s*(?P<value>[$€£]?-?\d+(?:,\d{3})*(?:\.\d+)?%?)",
    re.IGNORECASE,
)
_VERB_NUMBER = re.compile(
    r"\b(?P<key>paid|found|returned|updated|deleted|inserted|created|affected|processed|"
    r"copied|moved|saved|skipped|matched|total|added|removed|changed) (?P<value>[$€£]?\d+(?:,\d{3})*(?:\.\d+)?)\b",
    re.IGNORECASE,
)
_NUMBER_NOUN = re.compile(r"\b(?P<value>\d+(?:,\d{3})*(?:\.\d+)?) (?P<key>[a-z]{3,}(?: [a-z]{3,})?)\b", re.IGNORECASE)


def labelled_values(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(label, value) that a text states: `Key: value` lines, `total price is 305`, `12 files`."""
    seen: set[str] = set()
    for line in lines[:400]:
        line = line.strip()
        if _CUT.search(line):
            continue
        pairs = [(m["key"], m["value"]) for p in (_IS, _VERB_NUMBER) for m in p.finditer(line)]
        if match := _COLON.match(line):
            pairs.insert(0, (match["key"], match["value"]))
        pairs += [(m["key"].split()[0], m["value"]) for m in _NUMBER_NOUN.finditer(line)]
        for key, value in pairs:
            if key.lower() not in seen and key.lower() not in ("is", "was", "of", "the", "line", "and", "for"):
                seen.add(key.lower())
                yield key, value
