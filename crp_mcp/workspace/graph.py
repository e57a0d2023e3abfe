"""From one definition to others: by name, containment, imports, bases and calls, in both directions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from .model import Definition
from .python import DOMAIN as PYTHON
from .tree import Source, Tree

STEPS_MOST = 40
"""Neighbours by one relation."""
HOPS_MOST = 5
"""How far a name is followed through re-exports and base classes."""


def uri_of(source: Source, one: Definition) -> str:
    """`uko-py:class/auth.AuthManager`, `uko-doc:section/README.md#install`."""
    if not one.path:
        return f"{source.parsed.domain}{one.kind}/{source.module}"
    joint = "#" if one.kind == "section" else "." if source.parsed.domain == PYTHON else ":"
    return f"{source.parsed.domain}{one.kind}/{source.module}{joint}{one.path}"


class Graph:
    """Names and relations over a tree. Numbers are the tree's."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def at(self, number: int) -> tuple[Source, Definition] | None:
        return self._tree.definitions[number]

    def resolve(self, reference: str) -> list[int]:
        """Definitions that a URI, a dotted or bare name or a path stands for, in order of files."""
        kind, name = "", reference.strip()
        if ":" in name and "/" in name.partition(":")[2] and name.startswith("uko-"):
            domain, _, rest = name.partition(":")
            kind, _, name = rest.partition("/")
            kind = f"{domain}:{kind}"
        name = name.rstrip("/").removesuffix("()")
        found = [n for n in self._named(name) if not kind or self._is(n, kind)]
        exact = [n for n in found if self.dotted(n) == name]
        return exact or found

    def _is(self, number: int, kind: str) -> bool:
        source, one = self._must(number)
        return f"{source.parsed.domain}{one.kind}" == kind

    def _named(self, name: str) -> list[int]:
        last = name.rpartition("#")[2] if "#" in name else name
        ends = [last.rpartition(".")[2], last.rpartition(":")[2], last]
        numbers = dict.fromkeys(n for end in ends if end for n in self._tree.by_name.get(end, ()))
        found = [n for n in numbers if self._tree.definitions[n] is not None and self._ends(n, name)]
        return found or [n for n in self._files(name) if self._tree.definitions[n] is not None]

    def _files(self, name: str) -> list[int]:
        return [
            s.numbers[0] for s in self._tree.sources.values() if s.file.path == name or s.file.path.endswith("/" + name)
        ]

    def _ends(self, number: int, name: str) -> bool:
        whole = self.dotted(number)
        return whole == name or whole.endswith(("." + name, "/" + name, "#" + name, ":" + name))

    def dotted(self, number: int) -> str:
        """`auth.AuthManager.login`: unique within the tree but for definitions made twice."""
        source, one = self._must(number)
        return uri_of(source, one).partition("/")[2]

    def _must(self, number: int) -> tuple[Source, Definition]:
        found = self._tree.definitions[number]
        if found is None:
            raise LookupError(number)
        return found

    # -- relations

    def neighbours(self, number: int) -> Iterator[tuple[str, int]]:
        """(relation, definition): what it contains, what it leads to, what leads to it."""
        for relation, numbers in (
            ("contains", self.children(number)),
            ("containedBy", self.parents(number)),
            ("bases", self.bases(number)),
            ("calls", self.calls(number)),
            ("imports", self.imports(number)),
            ("subclasses", self.subclasses(number)),
            ("calledBy", self.called_by(number)),
            ("importedBy", self.imported_by(number)),
        ):
            for other in numbers:
                yield relation, other

    def children(self, number: int) -> list[int]:
        source, _ = self._must(number)
        own = number - source.numbers[0]
        return [source.numbers[0] + at for at, other in enumerate(source.parsed.definitions) if other.parent == own]

    def parents(self, number: int) -> list[int]:
        source, one = self._must(number)
        return [source.numbers[0] + one.parent] if one.parent >= 0 else []

    def bases(self, number: int) -> list[int]:
        source, one = self._must(number)
        return self._targets(number, source, one.bases, "class")

    def calls(self, number: int) -> list[int]:
        source, one = self._must(number)
        return [n for n in self._targets(number, source, one.calls) if n != number]

    def imports(self, number: int) -> list[int]:
        source, one = self._must(number)
        if one.path:
            return []
        found: dict[int, None] = {}
        for name in source.parsed.modules:
            if (module := self._module(absolute(source, name))) is not None:
                found[module] = None
        for name in source.parsed.imports.values():  # `from package import module`
            if (module := self._module(absolute(source, name))) is not None:
                found[module] = None
        return [n for n in found if n != number][:STEPS_MOST]

    def called_by(self, number: int) -> list[int]:
        _, one = self._must(number)
        wanted = self._tree.callers.get(one.name, ()) if one.path else ()
        found = (n for n in self._alive(wanted) if n != number and self._leads(n, number, one.name))
        return list(islice(found, STEPS_MOST))

    def _leads(self, caller: int, number: int, name: str) -> bool:
        """Whether one of a caller's calls of that name means this definition."""
        source, one = self._must(caller)
        ending = f".{name}"
        return any(
            self._target(caller, source, said) == number
            for said in one.calls
            if said.endswith(name) and (said == name or said.endswith(ending))
        )

    def subclasses(self, number: int) -> list[int]:
        _, one = self._must(number)
        wanted = self._tree.users.get(one.name, ()) if one.kind == "class" else ()
        return list(islice((n for n in self._alive(wanted) if number in self.bases(n)), STEPS_MOST))

    def imported_by(self, number: int) -> list[int]:
        source, one = self._must(number)
        if one.path:
            return []
        wanted = self._tree.users.get(source.module.rpartition(".")[2], ())
        found = (n for n in self._alive(wanted) if n != number and number in self.imports(n))
        return list(islice(found, STEPS_MOST))

    def _alive(self, numbers: Sequence[int]) -> Iterator[int]:
        return (n for n in numbers[: 10 * STEPS_MOST] if self._tree.definitions[n] is not None)

    def _targets(self, number: int, source: Source, names: Sequence[str], kind: str = "") -> list[int]:
        found: dict[int, None] = {}
        for name in names:
            target = self._target(number, source, name, methods=not kind)
            if target is not None and (not kind or self._must(target)[1].kind == kind):
                found[target] = None
        return list(found)[:STEPS_MOST]

    def _target(self, number: int, source: Source, name: str, *, methods: bool = True) -> int | None:
        """The definition a name means where it stands; None where that is not known. Remembered until files change.

        `methods`: it may be a method of the class around it. Not so for the name of a base, which is what that asks.
        """
        key, known = (number, name, methods), self._tree.targets
        if key not in known:
            known[key] = self._look_up(number, source, name, methods)
        return known[key]

    def _look_up(self, number: int, source: Source, name: str, methods: bool) -> int | None:
        first, _, rest = name.partition(".")
        if first in ("self", "cls") and rest:
            if not methods:
                return None
            return self._method(number, rest.partition(".")[0]) if "." not in rest else self._only_method(rest)
        inside = self._within(source, name)
        if inside is not None:
            return inside
        if first and first in source.parsed.imports:
            dotted = absolute(source, source.parsed.imports[first]) + (f".{rest}" if rest else "")
            return self._dotted(dotted, HOPS_MOST)
        if not rest and source.parsed.domain != PYTHON:  # elsewhere a method needs no `self`, an import no name
            own = self._method(number, name) if methods else None
            return own if own is not None else self._only(name)
        return self._only_method(name) if rest else None

    def _only(self, name: str) -> int | None:
        """The one definition of that name among other languages' files."""
        numbers = self._tree.by_name.get(name, ())
        found = [n for n in self._alive(numbers) if self._must(n)[0].parsed.domain != PYTHON and self._must(n)[1].path]
        return found[0] if len(found) == 1 else None

    def _within(self, source: Source, path: str) -> int | None:
        at = source.paths.get(path)
        return None if at is None else source.numbers[0] + at

    def _method(self, number: int, name: str) -> int | None:
        """A method of the class around a definition, or of its bases."""
        source, one = self._must(number)
        while one.kind != "class" and one.parent >= 0:
            number = source.numbers[0] + one.parent
            one = source.parsed.definitions[one.parent]
        waiting, seen = [number], {number}
        while waiting and len(seen) <= 4 * HOPS_MOST:
            around = waiting.pop(0)
            for child in self.children(around):
                if self._must(child)[1].name == name:
                    return child
            for base in self.bases(around):
                if base not in seen:
                    seen.add(base)
                    waiting.append(base)
        return None

    def _only_method(self, name: str) -> int | None:
        """The one method of that name in the tree, where there is just one."""
        last = name.rpartition(".")[2]
        known = self._tree.lone_methods
        if last not in known:
            named = [n for n in self._tree.by_name.get(last, ()) if self._tree.definitions[n] is not None]
            found = [n for n in named if self._must(n)[1].kind == "function"][:2]
            known[last] = found[0] if len(found) == 1 and "." in self._must(found[0])[1].path else None
        return known[last]

    def _module(self, dotted: str) -> int | None:
        for number in self._tree.by_name.get(dotted, ()):
            found = self._tree.definitions[number]
            if found is not None and not found[1].path and found[0].module == dotted:
                return number
        return None

    def _dotted(self, dotted: str, hops: int) -> int | None:
        """The definition of a dotted name, followed through modules that only pass it on."""
        module, rest = dotted, ""
        while module:
            number = self._module(module)
            if number is not None:
                source, _ = self._must(number)
                if not rest:
                    return number
                inside = self._within(source, rest)
                if inside is not None or not hops:
                    return inside
                first, _, more = rest.partition(".")
                passed = source.parsed.imports.get(first)
                return (
                    None
                    if passed is None
                    else self._dotted(absolute(source, passed) + (f".{more}" if more else ""), hops - 1)
                )
            module, _, last = module.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return None


def absolute(source: Source, name: str) -> str:
    """A dotted name without leading dots, as seen from a module."""
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    parts = source.module.split(".")
    if source.file.path.endswith("__init__.py"):
        parts.append("")
    base = parts[: len(parts) - dots]
    return ".".join([*base, name[dots:]] if name[dots:] else base)
