"""Recall of context requests: 40 change-log entries of two released packages, beside grep and BM25 over whole files.

A question is an entry of a package's change log between two releases, as it stands. Its right answers are the
definitions of the earlier release that differ in the later one and that the entry names (in code quotes, itself or the
class around it). A definition counts as found where its first line and at least half of its lines were delivered.

    python -m benchmarks.context                    the two reported packages
    python -m benchmarks.context NAME OLD NEW       any other one whose sdist carries its change log
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from crp_mcp import ContextBudget, ContextRequest
from crp_mcp.core.assemble.assembling import assemble
from crp_mcp.core.assemble.bm25 import Bm25
from crp_mcp.core.assemble.words import count_terms, weigh_terms
from crp_mcp.tokens import open_counter
from crp_mcp.workspace.corpus import open_workspace

SDISTS = Path(__file__).resolve().parents[1] / ".tools" / "sdists"
REPORTED = (("click", "8.0.4", "8.2.0"), ("werkzeug", "2.1.2", "2.3.0"))
BUDGETS = (2_000, 4_000, 8_000)
QUESTIONS = 20
"""Of each package, the first ones of its change log."""
ANSWERS_MOST = 8
"""An entry that names more changed definitions than this is about the whole package."""

_ITEM = re.compile(r"^[-*]\s+", re.M)
_CODE = re.compile(r"`+([^`]+)`+")
_ISSUE = re.compile(r":(?:issue|pr|ref|doc):`[^`]*`|\(?#\d+\)?|:[a-z:]+:(?=`)")


@dataclass(frozen=True)
class Question:
    text: str
    answers: tuple[str, ...]


def fetch(name: str, version: str) -> Path:
    """The unpacked sdist; downloaded once."""
    folder = SDISTS / f"{name}-{version}"
    if not folder.exists():
        SDISTS.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d"]
        subprocess.run([*command, str(folder), f"{name}=={version}"], check=True)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    (inside,) = (one for one in folder.iterdir() if one.is_dir())
    return inside


def package_of(sdist: Path, name: str) -> Path:
    return next(one for one in (sdist / "src" / name, sdist / name) if one.is_dir())


def definitions(package: Path) -> dict[str, list[str]]:
    """Dotted name → stripped lines of its own source (a class without its methods), first line first."""
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        text = path.read_text("utf-8")
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        _collect(ast.parse(text), module, text.split("\n"), found)
    return found


def _collect(node: ast.AST, above: str, lines: list[str], found: dict[str, list[str]]) -> None:
    for one in getattr(node, "body", ()):
        if isinstance(one, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            name = f"{above}.{one.name}"
            span = set(range(one.lineno, (one.end_lineno or one.lineno) + 1))
            if isinstance(one, ast.ClassDef):
                for inner in one.body:
                    if isinstance(inner, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                        start = min((d.lineno for d in inner.decorator_list), default=inner.lineno)
                        span -= set(range(start, (inner.end_lineno or inner.lineno) + 1))
            found[name] = [text for n in sorted(span) if (text := lines[n - 1].strip())]
            if isinstance(one, ast.ClassDef):
                _collect(one, name, lines, found)


def entries(sdist: Path, old: str, new: str) -> list[str]:
    """The list items of the change log from the newer version's heading to the older one's."""
    (log,) = [p for p in sdist.iterdir() if p.stem.upper() in ("CHANGES", "CHANGELOG")][:1]
    text = log.read_text("utf-8")
    start = re.search(rf"^(?:#+ |Version )?\[?{re.escape(new)}\b.*$", text, re.M)
    end = re.search(rf"^(?:#+ |Version )?\[?{re.escape(old)}\b.*$", text, re.M)
    assert start is not None
    assert end is not None
    items = _ITEM.split(text[start.end() : end.start()])[1:]
    return [" ".join(_ISSUE.sub("", item.split("\n\n")[0]).split()) for item in items]


def questions(name: str, old: str, new: str) -> list[Question]:
    before, after = (definitions(package_of(fetch(name, version), name)) for version in (old, new))
    changed = [path for path, lines in before.items() if after.get(path) != lines]
    made: list[Question] = []
    for entry in entries(fetch(name, new), old, new):
        said = {part for code in _CODE.findall(entry) for part in re.findall(r"\w+", code.rpartition(".")[2] or code)}
        said |= {part for code in _CODE.findall(entry) for part in re.findall(r"\w+", code)}
        right = tuple(path for path in changed if names_of(path) & said)
        if right and len(right) <= ANSWERS_MOST:
            made.append(Question(entry, right))
    return made[:QUESTIONS]


def names_of(path: str) -> set[str]:
    """A definition's own name and that of the class around it."""
    *_, above, own = path.split(".")
    return {own, above} if above[:1].isupper() else {own}


Method = Callable[[str, int], str]


def ours(package: Path) -> Method:
    count = open_counter().count
    workspace = open_workspace([package])
    workspace.refresh()

    def ask(question: str, budget: int) -> str:
        request = ContextRequest(query=question, max_tokens=budget)
        return assemble(request, workspace, budget=ContextBudget(max_tokens=budget), count=count).text

    return ask


def by_grep(package: Path) -> Method:
    """Lines that hold a word of the question, with five around each; the files with the most matches first."""
    counter = open_counter()
    files = {path: path.read_text("utf-8").split("\n") for path in sorted(package.rglob("*.py"))}

    def ask(question: str, budget: int) -> str:
        words = [w for w in re.findall(r"\w{4,}", question) if weigh_terms((w, 1.0))]
        pattern = re.compile("|".join(map(re.escape, words)) or r"(?!)", re.I)
        hits = {path: [n for n, line in enumerate(lines) if pattern.search(line)] for path, lines in files.items()}
        parts = []
        for path in sorted(hits, key=lambda one: (-len(hits[one]), one)):
            near = sorted({n for hit in hits[path] for n in range(hit - 5, hit + 6) if 0 <= n < len(files[path])})
            parts.append(f"{path.name}\n" + "\n".join(files[path][n] for n in near))
        return counter.cut("\n".join(parts), budget)

    return ask


def by_file(package: Path) -> Method:
    """Whole files, the best by BM25 first."""
    counter = open_counter()
    index, texts = Bm25(), []
    for path in sorted(package.rglob("*.py")):
        texts.append(path.read_text("utf-8"))
        index.add(count_terms([texts[-1], path.stem]))

    def ask(question: str, budget: int) -> str:
        found = index.search(weigh_terms((question, 1.0)))
        return counter.cut("\n".join(texts[number] for number, _ in found), budget)

    return ask


def is_there(lines: Sequence[str], delivered: Counter[str]) -> bool:
    return bool(lines) and lines[0] in delivered and 2 * sum(1 for line in lines if line in delivered) >= len(lines)


def recall(
    asked: Sequence[Question], sources: dict[str, list[str]], method: Method, budget: int
) -> tuple[float, float]:
    """Mean share of right answers found whole, and of those whose first line is there."""
    whole = named = 0.0
    for one in asked:
        delivered = Counter(line.strip() for line in method(one.text, budget).split("\n"))
        whole += sum(is_there(sources[path], delivered) for path in one.answers) / len(one.answers)
        named += sum(sources[path][0] in delivered for path in one.answers) / len(one.answers)
    return whole / len(asked), named / len(asked)


def main(arguments: Sequence[str]) -> int:
    packages = [tuple(arguments)] if len(arguments) == 3 else list(REPORTED)
    totals: dict[tuple[str, int], list[tuple[float, float, int]]] = {}
    for name, old, new in packages:
        asked = questions(name, old, new)
        package = package_of(fetch(name, old), name)
        sources = definitions(package)
        answers = sum(len(one.answers) for one in asked)
        print(f"{name} {old} → {new}: {len(asked)} questions, {answers} right answers among {len(sources)} definitions")
        for label, make in (("crp-mcp", ours), ("grep", by_grep), ("BM25 files", by_file)):
            method = make(package)
            for budget in BUDGETS:
                found = recall(asked, sources, method, budget)
                totals.setdefault((label, budget), []).append((*found, len(asked)))
    print(f"\n{'recall (first line there)':28}" + "".join(f"{budget:>18,}" for budget in BUDGETS))
    for label in ("crp-mcp", "grep", "BM25 files"):
        cells = []
        for budget in BUDGETS:
            rows = totals[(label, budget)]
            count = sum(n for *_, n in rows)
            whole, named = (sum(row[i] * row[2] for row in rows) / count for i in (0, 1))
            cells.append(f"{whole:.3f} ({named:.3f})")
        print(f"{label:28}" + "".join(f"{cell:>18}" for cell in cells))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
