"""The workspace as a corpus of nodes: what strategies may ask, and nodes with their texts read from the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crp_mcp.core.assemble.corpus import PERSISTENT, About, Ranked
from crp_mcp.core.request.nodes import Node

from .files import read_text
from .graph import Graph, uri_of
from .model import Definition
from .tree import Parser, Source, Tree

BACKEND = "workspace"
NAMES_MOST = 12
"""Names in one relation of a rendered node; more are counted."""
CHILDREN_MOST = 60
SIGNATURE_LINES = 12


@dataclass(slots=True)
class Workspace:
    """Files under allowed roots. Nothing is read before `refresh`; implements `Corpus`."""

    tree: Tree
    graph: Graph
    _numbers: dict[str, int] = field(default_factory=dict)
    _uris: dict[int, str] = field(default_factory=dict)
    _lines: dict[Path, tuple[int, list[str]]] = field(default_factory=dict)

    @property
    def backends(self) -> frozenset[str]:
        return frozenset((BACKEND,)) if self.tree.roots else frozenset()

    def refresh(self) -> int:
        """Follow the files; returns how many were read."""
        with self.tree.lock:
            self._lines.clear()
            read = self.tree.refresh()
            if read or len(self._numbers) != len(self.tree.words):  # files that only left count too
                self._number()
            return read

    def _number(self) -> None:
        """URIs to numbers; definitions made twice under one name are told apart by a count."""
        self._numbers = {}
        for number, source, one in self.tree:
            uri, count = uri_of(source, one), 2
            while uri in self._numbers:
                uri, count = f"{uri_of(source, one)}~{count}", count + 1
            self._numbers[uri] = number
        self._uris = {number: uri for uri, number in self._numbers.items()}

    # -- Corpus

    def search(self, terms: Mapping[str, float], limit: int) -> Ranked:
        return [(self._uris[number], score) for number, score in self.tree.search(terms, limit)]

    def resolve(self, reference: str) -> Sequence[str]:
        if reference in self._numbers:
            return (reference,)
        return [self._uris[number] for number in self.graph.resolve(reference)]

    def neighbours(self, uri: str) -> Iterable[tuple[str, str]]:
        number = self._numbers.get(uri)
        if number is None:
            return ()
        return [(relation, self._uris[other]) for relation, other in self.graph.neighbours(number)]

    def about(self, uri: str) -> About | None:
        found = self._find(uri)
        if found is None:
            return None
        number, source, one = found
        return About(
            uri,
            PERSISTENT,
            at=source.file.changed / 1e9,
            container=any(other.parent == number - source.numbers[0] for other in source.parsed.definitions),
            parent=self._uris[source.numbers[0] + one.parent] if one.parent >= 0 else None,
        )

    def chosen(self) -> Sequence[str]:
        return ()

    def past(self) -> Sequence[str]:
        return ()

    def note(self, uri: str) -> str:
        return ""

    def node(self, uri: str) -> Node | None:
        found = self._find(uri)
        if found is None:
            return None
        number, source, one = found
        lines = self._text(source)
        if lines is None:
            return None
        graph = self.graph
        children = [self._must(n)[1] for n in graph.children(number)]
        where = f"{source.file.path}:{one.start}-{one.end}"
        return Node(
            uri=uri,
            title=self._title(source, one, where),
            resource_uri=source.file.path,
            location=f"lines {one.start}-{one.end}",
            children=some([child.name for child in children], CHILDREN_MOST),
            relations=tuple(
                (word, some([graph.dotted(n) for n in numbers]))
                for word, numbers in (
                    ("imports", graph.imports(number)),
                    ("bases", graph.bases(number)),
                    ("calls", graph.calls(number)),
                )
            ),
            inverse=tuple(
                (word, some([graph.dotted(n) for n in numbers]))
                for word, numbers in (
                    ("imported by", graph.imported_by(number)),
                    ("subclassed by", graph.subclasses(number)),
                    ("called by", graph.called_by(number)),
                )
            ),
            summary=one.doc,
            shape=tuple(self._shape(source, one, children, lines)),
            body="\n".join(lines[one.start - 1 : one.end]),
            outline=outline(one, children, lines) if children else "",
            whole=True,
        )

    # -- inside

    def _find(self, uri: str) -> tuple[int, Source, Definition] | None:
        number = self._numbers.get(uri)
        found = None if number is None else self.tree.definitions[number]
        return None if number is None or found is None else (number, *found)

    def _must(self, number: int) -> tuple[Source, Definition]:
        found = self.tree.definitions[number]
        assert found is not None
        return found

    def _text(self, source: Source) -> list[str] | None:
        """The file's lines, read once a request; None where it is no longer what was indexed."""
        path = source.file.full
        known = self._lines.get(path)
        if known is None:
            text = read_text(source.file)
            if text is None:
                return None
            known = self._lines[path] = (source.file.changed, text.split("\n"))
        return known[1]

    @staticmethod
    def _title(source: Source, one: Definition, where: str) -> str:
        if one.kind == "section":
            return f"{one.name} (section of {where})"
        name = source.module if not one.path else f"{source.module}.{one.path}"
        return f"{one.kind} {name} ({where})" if one.kind != "document" else f"document {where}"

    @staticmethod
    def _shape(source: Source, one: Definition, children: Sequence[Definition], lines: list[str]) -> list[str]:
        """Signatures of a definition and of its parts; size of a document."""
        if one.kind in ("document", "section"):
            body = lines[one.start - 1 : one.end]
            return [f"{len(body)} lines, {sum(len(line.split()) for line in body)} words"]
        shown = [signature(one, lines)] if one.path else []
        return shown + ["\n".join(signature(child, lines).split("\n")[:SIGNATURE_LINES]) for child in children]


def signature(one: Definition, lines: Sequence[str]) -> str:
    """The source from `def` or `class` to where the body begins, indentation kept."""
    end = max(one.head, one.body - 1) if one.body > one.head else one.head
    while (
        end > one.head
        and not lines[end - 1].rstrip().endswith((":", "{", "("))
        and lines[end - 1].lstrip().startswith("#")
    ):
        end -= 1
    return "\n".join(line.rstrip() for line in lines[one.head - 1 : end]).rstrip()


def outline(one: Definition, children: Sequence[Definition], lines: Sequence[str]) -> str:
    """A definition's source with the bodies of its parts left out; a section's parts are left out whole."""
    hidden: dict[int, int] = {}
    for child in children:
        first = child.start if child.kind in ("document", "section") else max(child.body, child.head + 1)
        if first <= child.end:
            hidden[first] = child.end
    kept: list[str] = []
    number = one.start
    while number <= min(one.end, len(lines)):
        if number in hidden:
            line = lines[number - 1]
            kept.append(line[: len(line) - len(line.lstrip())] + "...")
            number = max(number, hidden[number]) + 1
            continue
        kept.append(lines[number - 1])
        number += 1
    return "\n".join(kept).rstrip()


def some(names: Sequence[str], most: int = NAMES_MOST) -> tuple[str, ...]:
    """Names, the first of them where there are many, with how many more."""
    kept = list(dict.fromkeys(names))
    return tuple(kept) if len(kept) <= most else (*kept[:most], f"and {len(kept) - most} more")


def open_workspace(roots: Sequence[Path], parsers: Mapping[str, Parser] | None = None) -> Workspace:
    """A workspace over existing folders. Reads nothing yet."""
    tree = Tree([root.resolve() for root in roots if root.is_dir()], parsers or {})
    return Workspace(tree, Graph(tree))
