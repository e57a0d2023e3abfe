"""The findings as a table for people and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .compare import Finding
from .tokens import Difference

WIDTH = 160
MOST_SHOWN = 10


def summed(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each feature of an era, in the order they were first tried."""
    rows: dict[tuple[str, str], Finding] = {}
    for one in findings:
        before = rows.get((one.era, one.feature))
        rows[one.era, one.feature] = one if before is None else _sum(before, one)
    return list(rows.values())


def _sum(one: Finding, other: Finding) -> Finding:
    return Finding(
        one.era,
        one.feature,
        one.messages + other.messages,
        one.exact + other.exact,
        tuple(dict.fromkeys((*one.notes, *other.notes))),
        one.volatile + other.volatile,
        (*one.differences, *other.differences),
    )


def as_text(name: str, findings: Sequence[Finding]) -> str:
    """The table, then every difference."""
    rows = [("era", "feature", "messages", "byte for byte", "verdict"), *(_row(one) for one in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [f"{name}: directly, and through us", ""]
    lines += ["  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]]) for row in rows]
    different = [one for one in findings if not one.same]
    for one in different:
        lines += ["", f"{one.era}, {one.feature}:"]
        for difference in one.differences[:MOST_SHOWN]:
            lines += [f"  {difference.path}", f"    direct:  {_short(difference.direct)}"]
            lines += [f"    through: {_short(difference.through)}"]
        if len(one.differences) > MOST_SHOWN:
            lines.append(f"  and {len(one.differences) - MOST_SHOWN} more")
    total, exact = sum(one.messages for one in findings), sum(one.exact for one in findings)
    count = sum(len(one.differences) for one in findings)
    lines += ["", f"{total} messages compared, {exact} the same byte for byte, the others token by token."]
    lines.append(
        f"{count} differences." if count else "Nothing differs but what we add or mend on purpose, named above."
    )
    return "\n".join(lines)


def _row(one: Finding) -> tuple[str, str, str, str, str]:
    verdict = "same" if one.same else f"DIFFERS in {len(one.differences)} places"
    if one.volatile:
        verdict += f"; {one.volatile} values change by themselves"
    ours = [note for note in one.notes if not note.startswith("mended: ")]
    mended = [note.removeprefix("mended: ") for note in one.notes if note.startswith("mended: ")]
    verdict += f"; ours: {', '.join(ours)}" if ours else ""
    verdict += f"; mended: {'; '.join(mended)}" if mended else ""
    return one.era, one.feature, str(one.messages), str(one.exact), verdict


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 20]} … ({len(text):,} characters)"


def as_json(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "server": name,
        "same": all(one.same for one in findings),
        "findings": [{**one._asdict(), "same": one.same, "differences": _plain(one.differences)} for one in findings],
    }


def _plain(differences: Sequence[Difference]) -> list[dict[str, str]]:
    return [difference._asdict() for difference in differences]
