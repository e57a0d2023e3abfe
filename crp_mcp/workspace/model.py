"""What a parser finds in one file. Plain values; texts are not kept, only where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Definition:
    """One node of a file: a module, class, function, document or section. Lines count from 1, both ends included."""

    kind: str
    name: str
    """Bare name; "" for the file's own node."""
    path: str
    """Dotted within the file: `AuthManager.login`; "" for the file's own node."""
    start: int
    end: int
    parent: int = -1
    """Number of the definition around it within the file."""
    head: int = 0
    """Line where the signature begins (decorators stand before it)."""
    body: int = 0
    """Line where the body begins: the signature ends before it, or on it."""
    bases: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Dotted names as they stand in the source."""
    doc: str = ""
    """First sentence of its documentation."""


@dataclass(slots=True)
class Parsed:
    """One file. Definition 0 is the file itself; parents stand before their children."""

    domain: str
    definitions: list[Definition]
    imports: Mapping[str, str] = field(default_factory=dict)
    """Local name → dotted name it stands for; relative ones begin with dots."""
    modules: tuple[str, ...] = ()
    """Dotted names of what is imported."""
