"""The ladders of every domain: what each depth is called. All are nine deep, so one number means alike everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from .levels import DetailLevelMap, LevelError

MAX_DEPTH = 9
UNIVERSAL = "uko:"
"""The ladder all others inherit from (Context Request Protocol, universal layer 0)."""


def _ladders() -> dict[str, DetailLevelMap]:
    base = DetailLevelMap(
        domain=UNIVERSAL,
        max_depth=MAX_DEPTH,
        levels={
            "EXISTENCE": 0,
            "ORGANIZATION": 1,
            "RELATIONSHIPS": 2,
            "PURPOSE": 3,
            "STRUCTURE": 4,
            "CONTENT": 5,
            "EVERYTHING": MAX_DEPTH,
        },
    )

    def ladder(domain: str, parent: DetailLevelMap, *names: str) -> DetailLevelMap:
        levels = dict(zip(names, (0, 1, 2, 3, 4, 5, MAX_DEPTH), strict=False))
        return DetailLevelMap(domain=domain, parent=parent, max_depth=MAX_DEPTH, levels=levels)

    code = ladder(
        "uko-code:",
        base,
        "MODULE_LISTING",
        "MEMBER_LISTING",
        "DEPENDENCIES",
        "DOC_SUMMARIES",
        "SIGNATURES",
        "SOURCE_START",
        "FULL_SOURCE",
    )
    return {
        each.domain: each
        for each in (
            base,
            code,
            DetailLevelMap(domain="uko-py:", parent=code, max_depth=MAX_DEPTH),
            ladder("uko-doc:", base, "TITLE", "OUTLINE", "LINKS", "FIRST_SENTENCE", "SIZE", "EXCERPT", "FULL_TEXT"),
            ladder("uko-tool:", base, "HANDLE", "COLUMNS", "USES", "SUMMARY", "TYPES", "SAMPLE", "RAW"),
            ladder("uko-fact:", base, "HANDLE", "SUBJECT", "SOURCE", "STATEMENT"),
            ladder("uko-turn:", base, "HANDLE", "ROLE", "REFERENCES", "GIST", "LENGTH", "EXCERPT", "FULL_TURN"),
        )
    }


LADDERS: Mapping[str, DetailLevelMap] = _ladders()
"""By domain. To be read; who wants levels of their own makes a child map."""


def ladder_of(domain: str) -> DetailLevelMap:
    """The ladder of a domain; the universal one for a domain we do not know."""
    return LADDERS.get(domain, LADDERS[UNIVERSAL])


def resolve_depth(depth: int | str) -> Mapping[str, int]:
    """A requested depth for every domain. A name only some domains have means the same number in the others.

    Raises:
        LevelError: no domain has a level of that name, or the number is no depth.
    """
    known: dict[str, int] = {}
    for domain, ladder in LADDERS.items():
        try:
            known[domain] = ladder.resolve(depth)
        except LevelError:
            continue
    if not known:
        names = dict.fromkeys(name for ladder in LADDERS.values() for name in ladder.levels)
        raise LevelError(f"depth: {str(depth)[:60]!r} is no level; there are 0 to {MAX_DEPTH}, {', '.join(names)}")
    other = max(known.values())
    return {domain: known.get(domain, min(other, ladder.max_depth)) for domain, ladder in LADDERS.items()}
