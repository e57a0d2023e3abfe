"""The index: files parsed once, again when they change, and what they hold found by name or by words.

Strategy: numbers for definitions, never used again; a file that changed takes its numbers out and gets new ones.
"""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crp_mcp.core.assemble.bm25 import Bm25
from crp_mcp.core.assemble.words import count_terms

from .documents import parse_document
from .files import DOCUMENTS, File, read_text, walk
from .model import Definition, Parsed
from .python import parse_python

NAME_WEIGHT = 4
"""A word in a definition's own name counts as often as this many in its text; one in the names around it, once."""
REBUILD_SHARE = 2
_WORDS = re.compile(r"[\w]+")

Parser = Callable[[str], Parsed]


@dataclass(slots=True)
class Source:
    """One indexed file: what it holds and under which numbers."""

    file: File
    module: str
    """Dotted name of a Python module; the path of any other file."""
    parsed: Parsed
    numbers: range
    paths: Mapping[str, int]
    """Dotted path within the file → place in `parsed.definitions`, the first of that path."""


@dataclass(slots=True)
class Tree:
    """Everything indexed under some roots. Safe from several threads; `refresh` before asking."""

    roots: Sequence[Path]
    parsers: Mapping[str, Parser] = field(default_factory=dict)
    sources: dict[tuple[str, str], Source] = field(default_factory=dict)
    definitions: list[tuple[Source, Definition] | None] = field(default_factory=list)
    by_name: dict[str, list[int]] = field(default_factory=dict)
    callers: dict[str, list[int]] = field(default_factory=dict)
    """Last part of a called name → who calls it."""
    users: dict[str, list[int]] = field(default_factory=dict)
    """Last part of an imported module's or a base's name → who imports or inherits it."""
    words: Bm25 = field(default_factory=Bm25)
    targets: dict[tuple[int, str, bool], int | None] = field(default_factory=dict)
    """What names were found to mean; forgotten whenever a file changed."""
    lone_methods: dict[str, int | None] = field(default_factory=dict)
    parsed_files: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    _skipped: dict[tuple[str, str], File] = field(default_factory=dict)
    """Files that turned out to be none to read; looked at again when they change."""

    def refresh(self) -> int:
        """Follow the files; returns how many were read. Unchanged ones (size and time) are not opened."""
        with self.lock:
            there: dict[tuple[str, str], File] = {}
            for root in self.roots:
                for file in walk(root, self._endings()):
                    there[(str(root), file.path)] = file
            gone = [key for key in self.sources if key not in there or self.sources[key].file != there[key]]
            for key in gone:
                self._remove(key)
            if len(self.words.gone) > REBUILD_SHARE * max(1_000, len(self.words)):
                self._start_over()
            changed = [key for key, file in there.items() if key not in self.sources and self._skipped.get(key) != file]
            if changed or gone:
                self.targets.clear()
                self.lone_methods.clear()
                self._read([(key, there[key]) for key in changed])
            return len(changed)

    def __iter__(self) -> Iterator[tuple[int, Source, Definition]]:
        for number, found in enumerate(self.definitions):
            if found is not None:
                yield number, *found

    def search(self, terms: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        return self.words.search(terms)[:limit]

    # -- inside

    def _endings(self) -> frozenset[str]:
        return frozenset((".py", ".pyi")) | DOCUMENTS | frozenset(self.parsers)

    def _read(self, files: Sequence[tuple[tuple[str, str], File]]) -> None:
        enabled = gc.isenabled()
        gc.disable()  # syntax trees are millions of objects that all go at once
        try:
            for key, file in files:
                text = read_text(file)
                if text is None:
                    self._skipped[key] = file
                else:
                    self._add(key, file, text)
        finally:
            if enabled:
                gc.enable()

    def _add(self, key: tuple[str, str], file: File, text: str) -> None:
        ending = "." + file.path.rpartition(".")[2].lower()
        parse = self.parsers.get(ending) or (parse_document if ending in DOCUMENTS else parse_python)
        parsed = parse(text)
        self.parsed_files += 1
        module = module_name(file) if ending in (".py", ".pyi") else file.path
        first = len(self.definitions)
        paths = {one.path: at for at, one in reversed([*enumerate(parsed.definitions)])}
        source = Source(file, module, parsed, range(first, first + len(parsed.definitions)), paths)
        self.sources[key] = source
        texts = own_texts(text, parsed.definitions)
        for number, (one, own) in enumerate(zip(parsed.definitions, texts, strict=True), start=first):
            self.definitions.append((source, one))
            self._name(number, one, module)
            counted = count_terms([own])
            for term, times in count_terms([one.name or module.rpartition(".")[2]]).items():
                counted[term] += NAME_WEIGHT * times
            for term, times in count_terms([module, one.path]).items():
                counted[term] += times
            if self.words.add(counted) != number:
                raise AssertionError("documents and definitions are numbered alike")

    def _name(self, number: int, one: Definition, module: str) -> None:
        for name in {one.name, one.path.rpartition(".")[2]} if one.path else {module, module.rpartition(".")[2]}:
            self.by_name.setdefault(name, []).append(number)
        for name in {name.rpartition(".")[2] for name in one.calls}:
            self.callers.setdefault(name, []).append(number)
        used = [name.rpartition(".")[2] for name in one.bases]
        if not one.path:
            parsed = self.definitions[number][0].parsed  # type: ignore[index]
            used += [name.rpartition(".")[2] for name in (*parsed.modules, *parsed.imports.values())]
        for name in set(used):
            self.users.setdefault(name, []).append(number)

    def _remove(self, key: tuple[str, str]) -> None:
        source = self.sources.pop(key)
        for number in source.numbers:
            self.definitions[number] = None
            self.words.remove(number)

    def _start_over(self) -> None:
        """Numbers of what left pile up: read everything again, once in a long while."""
        self.sources.clear()
        for kept in (self.by_name, self.callers, self.users):
            kept.clear()
        self.definitions.clear()
        self.words = Bm25()


def module_name(file: File) -> str:
    """The dotted name a Python file is imported by: from the topmost folder that is a package, else by its path."""
    parts = file.path.rpartition(".")[0].split("/")
    folder = file.full.parent
    names = [parts.pop()]
    if names == ["__init__"]:
        names = [parts.pop() if parts else folder.name]
        folder = folder.parent
    packaged = False
    while (folder / "__init__.py").exists() and folder.name:
        names.insert(0, folder.name)
        folder, packaged = folder.parent, True
        parts = parts[:-1]
    if not packaged and parts and parts[0] not in ("src", "lib") and file.path.rpartition("/")[2] != "__init__.py":
        names = [*parts, *names]
    return ".".join(names)


def own_texts(text: str, definitions: Sequence[Definition]) -> list[str]:
    """The text of each definition without what is inside another one."""
    lines = text.split("\n")
    owner = [0] * (len(lines) + 1)
    for number, one in enumerate(definitions):
        if number:
            owner[one.start : one.end + 1] = [number] * (min(one.end, len(lines)) - one.start + 1)
    owned: list[list[str]] = [[] for _ in definitions]
    for line, number in zip(lines, owner[1:], strict=False):
        owned[number].append(line)
    return ["\n".join(part) for part in owned]
