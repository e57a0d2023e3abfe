"""A reading of a clause: what it would compute, whether that holds, and how much it leaves unexplained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .lexicon import HINTS, REPORT, TURNS
from .model import Distortion
from .parse import Chunk, names_column
from .scene import Scene, bare_year, scene_setting
from .units import SCALED
from .words import IRREGULAR, STOP, fold, word_list


@dataclass(frozen=True, eq=False)
class Reading:
    """One executable reading, already evaluated. `holds` None: it cannot be decided on this table."""

    frame: str
    holds: bool | None
    used: frozenset[int]
    sql: str
    found: str
    stated: str
    distortion: Distortion
    cost: float = 0.0
    """What makes this reading less likely than another of the same clause."""
    firm: bool = True
    """Whether its failing is enough to contradict the clause."""


_OP_COST = {
    "max": 3.0, "min": 3.0, "more": 3.0, "less": 3.0, "only": 3.0, "none": 3.0, "not": 3.0, "all": 1.5, "than": 2.0,
    "same": 2.0,
    "avg": 3.0, "median": 3.0, "sum": 0.3, "mostof": 3.0, "nearall": 3.0, "half": 3.0, "fewof": 3.0, "range": 1.0,
    "diff": 1.5,
    "before": 2.0,
    "after": 2.0, "twice": 3.0, "multiple": 2.0, "distinct": 0.3, "both": 0.3, "percent": 0.3, "each": 0.2,
}  # fmt: skip
_TOPIC_LEADS = frozenset(["in", "at", "of", "during", "for", "from", "on", "by", "throughout", "within", "across"])
_DETERMINERS = frozenset(word_list("""the a an his her their its this that these those our your my each every all"""))
_STREAKS = frozenset(("consecutive", "consecutively", "straight", "streak", "successive", "average", "row"))
_CODE = re.compile(r"v?\d+(?:\.\d+)+|\d+|(?=\w*\d)(?=\w*[a-z])\w{6,}|[a-z]{1,2}\d+")
"""A number, version or id: it is said for its own sake."""
_AGAINST = frozenset(("over", "under", "above", "below", "beyond", "within"))
"""Before a column's name these compare something with it."""
NAMED = 0.9
"""What a column costs that is named in full and that nothing is made of."""
_WEIGHTY = frozenset(("max", "min", "more", "less"))
"""Operations that are never just the column that their word suggests (`earliest` is no name of a date)."""
_INSIDE = frozenset(("-", "'", "s", ".", "of", "the", "&", "/", "'s"))


def leftover(scene: Scene, used: Iterable[int]) -> float:
    """Weight of what a reading does not explain: 0 = everything said is accounted for."""
    spent = set(used)
    spent_columns = {r.column.position for c in scene.chunks if c.at in spent for r in c.columns}
    spent_columns |= {v.column.position for c in scene.chunks if c.at in spent and c.is_exact for v in c.values}
    cost = _mentions_cost(scene, spent)
    for chunk in scene.chunks:
        if chunk.at in spent or chunk.at in scene.bound:
            continue
        if chunk.when:
            cost += 0.05 if bare_year(chunk) and scene_setting(scene.parse, chunk.at) else 1.5
        elif chunk.qty:
            cost += 2.5
        elif chunk.columns and not (chunk.op in _WEIGHTY and not names_column(chunk)):
            known = spent_columns & {r.column.position for r in chunk.columns} or chunk.stem in scene.parse.context
            known = known or _entitles(scene, chunk)
            per = chunk.at > 0 and scene.chunks[chunk.at - 1].low == "per"
            own = any(c.column is scene.table.key_column for c in chunk.columns)
            aside = scene.table.kind == "record" and not any(c.column.is_measure for c in chunk.columns)
            full = 0.3 if aside and not _beside_unknown(scene, chunk.at, spent) else NAMED
            cost += 0.0 if known or per else 0.15 if own or max(c.quality for c in chunk.columns) < 0.8 else full
        elif chunk.op:
            cost += _op_cost(scene, chunk)
        elif chunk.ordinal:
            cost += 1.5
        elif chunk.low == "row" and chunk.at and scene.chunks[chunk.at - 1].low == "a":
            cost += 2.0
    cost += sum(1.5 for c in scene.chunks if c.low in _AGAINST and _sets_against(scene, c))
    return cost + sum(_run_cost(scene, run, spent) for run in _runs(scene, spent))


def _sets_against(scene: Scene, chunk: Chunk) -> bool:
    """Whether what follows is a measure by name, with which something else is compared (`below the limit of 25`)."""
    after = [c for c in scene.chunks[chunk.at + 1 : chunk.at + 4] if c.low not in _DETERMINERS][:1]
    return any(r.column.is_measure for c in after for r in c.columns)


def _entitles(scene: Scene, chunk: Chunk) -> bool:
    """Whether a column's name is also what the record is about (`The Union …` in the record of that title)."""
    key, name = scene.table.key_column, chunk.low.removeprefix("the ")
    return scene.table.kind == "record" and key is not None and len(chunk.words) > 1 and name in fold(key.texts[0])


def _mentions_cost(scene: Scene, spent: set[int]) -> float:
    cost = 0.0
    for mention in scene.mentions:
        if not mention.chunks & spent:
            cost += 2.5 if any(c.cost <= 0.05 for c in mention.options) else 1.2
    return cost


def _op_cost(scene: Scene, chunk: Chunk) -> float:
    following = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
    if chunk.low in ("top", "best", "more", "most") and following is not None and following.is_content:
        return 0.15 if _topical(scene, chunk.at) else 0.8
    if chunk.op == "sum" and following is not None and following.low == "of":
        return 0.15
    return _OP_COST.get(chunk.op, 1.0)


def _runs(scene: Scene, spent: set[int]) -> Iterator[list[Chunk]]:
    """Stretches of words without counterpart; small words inside one do not end it."""
    run: list[Chunk] = []
    for chunk in scene.chunks:
        if chunk.is_content and chunk.at not in spent and not _known(scene, chunk):
            run.append(chunk)
        elif not (run and (chunk.low in _INSIDE or chunk.when or (chunk.is_plain and chunk.low not in STOP))):
            if run:
                yield run
            run = []
    if run:
        yield run


def _known(scene: Scene, chunk: Chunk) -> bool:
    if chunk.low == "home" and chunk.at and scene.chunks[chunk.at - 1].stem in ("take", "bring", "go", "come"):
        return True
    number = scene.chunks[chunk.at - 1].qty if chunk.at else None
    if number is not None and number.unit and chunk.low in SCALED:
        return True
    return chunk.stem in scene.parse.context or chunk.stem in scene.table.nouns or len(chunk.low) < 2


def _run_cost(scene: Scene, run: list[Chunk], spent: set[int]) -> float:
    """Words without counterpart: cheap where they extend a name, set the scene, or are the verb of the clause."""
    if any(c.stem in TURNS for c in run):
        return 0.9
    if any(_named_elsewhere(scene, c) for c in run):
        return 1.0
    if any(c.low in _STREAKS for c in run):
        return 2.0
    if any(_is_given(scene, c) for c in run):
        return 1.2
    if any(_CODE.fullmatch(c.low) for c in run):
        return 1.2
    if (name := _extends_name(scene, run, spent)) is not None:
        narrows = run[-1].at < name.at and name.text.islower() and not scene.parse.text.islower()
        return 0.2 if name.is_exact and not narrows else 0.6
    if _is_said(scene, run) or [c.low for c in scene.chunks[max(0, run[0].at - 2) : run[0].at]] == ["out", "of"]:
        return 1.0
    if _restricts(scene, run):
        return 0.6
    if len(run) == 1 and _verbal(run[0]):
        return 0.25
    if _is_subject(scene, run):
        return 0.6
    if _of_a_column(scene, run):
        return 1.0
    if _topical(scene, run[0].at):
        proper = run[0].at > 0 and any(c.text[:1].isupper() for c in run)
        return (0.6 if proper else 0.1) + 0.02 * (len(run) - 1)
    if all(_verbal(c) for c in run):
        return 0.3
    if len(run) == 1 and _by_column(scene, run[0].at, spent):
        return 0.2
    return min(1.2, 0.5 + 0.2 * (len(run) - 1))


def _of_a_column(scene: Scene, run: list[Chunk]) -> bool:
    """Whether a name without counterpart stands where one of a column's would (`in X` beside a column of towns)."""
    if not run[0].at or not run[0].text[:1].isupper():
        return False
    hints = HINTS.get(scene.chunks[run[0].at - 1].low, frozenset())
    return any(hints & set(c.words) and not c.is_number and not c.is_date for c in scene.table.columns)


def _is_said(scene: Scene, run: list[Chunk]) -> bool:
    """Whether a word without counterpart is what something is said to be (`it is sunny`, `5 are blocked`)."""
    index = run[0].at - 1
    while index >= 0 and scene.chunks[index].low in _BEFORE_SAID:
        index -= 1
    verb = scene.chunks[index].low if index >= 0 else ""
    if index > 0 and scene.chunks[index - 1].low == "there":
        return False
    if verb in ("is", "are") and _verbal(run[0]) and scene.table.kind != "record":
        after = scene.chunks[run[-1].at + 1 :]
        return run[0].stem not in REPORT and not any(c.values or c.columns or c.qty or c.when for c in after)
    if verb in ("was", "were") and _verbal(run[0]) and scene.table.kind != "record":
        return run[0].stem not in REPORT and not scene.chunks[run[-1].at + 1 :][1:]
    return verb in ("is", "was", "are", "were") and not _verbal(run[0])


def _restricts(scene: Scene, run: list[Chunk]) -> bool:
    """Whether a word without counterpart says which ones of all, or of so many, are meant (`all direct flights`)."""
    lead = scene.chunks[run[0].at - 1] if run[0].at else None
    after = scene.chunks[run[0].at + 1] if run[0].at + 1 < len(scene.chunks) else None
    if lead is None or after is None or not (lead.op in ("all", "none", "both") or (lead.qty and not lead.when)):
        return False
    noun = after.columns or after.is_content or after.stem in scene.parse.context or after.stem in scene.table.nouns
    return bool(noun) and after.low.endswith("s") and not run[0].low.endswith("s")


_BEFORE_SAID = frozenset(word_list("a an not very quite still now all both currently also mostly"))


_GIVES = frozenset(("including", "include", "includes", "like", "as", ":", "namely", ",", "and", "&", "or", "both"))


def _is_given(scene: Scene, chunk: Chunk) -> bool:
    """Whether a word is a name that the clause lists as one of those it speaks of, and the data has not."""
    if not chunk.at:
        return False
    lead = scene.chunks[chunk.at - 1]
    if not chunk.text[:1].isupper():
        return _is_last_of_list(scene, chunk, lead)
    if lead.low not in _GIVES:
        return False
    return lead.low not in (",", "and", "&", "or") or any(
        c.values or c.text[:1].isupper() for c in scene.chunks[max(1, lead.at - 2) : lead.at]
    )


def _is_last_of_list(scene: Scene, chunk: Chunk, lead: Chunk) -> bool:
    """Whether a plain word ends, or stands in, a list whose word before it is a whole cell (`exports, sso and x`)."""
    after = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
    ends = after is None or after.low in (",", "and", "or", ".", ";", ")")
    return ends and lead.low in (",", "and", "&", "or") and lead.at > 0 and scene.chunks[lead.at - 1].is_exact


def _named_elsewhere(scene: Scene, chunk: Chunk) -> bool:
    """Whether a name or code is a cell of another table of the result: then the clause is about that one."""
    if chunk.low in STOP or chunk.text.islower():
        return False
    return any(other.holds(chunk.low) for other in scene.parse.others)


def _beside_unknown(scene: Scene, at: int, spent: set[int]) -> bool:
    """Whether a column word stands by a word without counterpart, which may be the value stated for it."""
    near = [x for x in (at - 1, at + 1, at + 2) if 0 <= x < len(scene.chunks)]
    return any(scene.chunks[x].is_content and x not in spent for x in near)


def _verbal(chunk: Chunk) -> bool:
    return (chunk.low.endswith(("ed", "ing", "ly")) and len(chunk.low) > 4) or chunk.low in IRREGULAR


def _extends_name(scene: Scene, run: list[Chunk], spent: set[int]) -> Chunk | None:
    """The used name that the words stand right beside and look like a part of."""
    cased = any(c.text[:1].isupper() for c in scene.chunks if c.words[0].start)
    if cased and not any(c.text[:1].isupper() for c in run):
        return None
    for at in (run[0].at - 1, run[-1].at + 1, run[-1].at + 2):
        if not (0 <= at < len(scene.chunks) and scene.chunks[at].values and at in spent):
            continue
        if at != run[-1].at + 2 or (scene.chunks[at - 1].is_plain and scene.chunks[at - 1].low not in STOP):
            return scene.chunks[at]
    return None


def _by_column(scene: Scene, at: int, spent: set[int]) -> bool:
    return any(0 <= x < len(scene.chunks) and scene.chunks[x].columns and x in spent for x in (at - 1, at + 1))


_PREDICATES = frozenset(("has", "have", "had", "is", "was", "are", "were", "'s"))


def _is_subject(scene: Scene, run: list[Chunk]) -> bool:
    """Whether a name without counterpart is what the clause speaks of: then it may be of something else."""
    after = scene.chunks[run[-1].at + 1] if run[-1].at + 1 < len(scene.chunks) else None
    opens = run[0].at == 0 and len(run) <= 3 and all(c.text[:1].isupper() for c in run)
    return opens and after is not None and after.low in _PREDICATES and not run[-1].low.endswith("s")


def _topical(scene: Scene, at: int) -> bool:
    """Whether a stretch only sets the scene: after a preposition, or as the clause's first words."""
    index = at - 1
    while index >= 0 and (scene.chunks[index].low in _DETERMINERS or scene.chunks[index].when):
        index -= 1
    return index < 0 or scene.chunks[index].low in _TOPIC_LEADS
