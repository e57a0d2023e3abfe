"""What the number of a clause counts: its noun, and the whole that it may be a part of (`N of M`)."""

from __future__ import annotations

from .lexicon import REPORT, ROW_NOUNS
from .numbers import Quantity, agrees
from .parse import Chunk
from .scene import Mention, Scene, Selection
from .units import SCALED
from .words import STOP, word_list

_END_OF_NOUN = frozenset(
    word_list("""in on at with for that to from by where have has had are is were was who which""")
)


def is_own_name(noun: Chunk) -> bool:
    """Whether a noun is the whole name of its column, or the thing an id column points at."""
    return any(r.quality >= 0.9 or (r.column.is_number and not r.column.is_measure) for r in noun.columns)


def noun_of(scene: Scene, number: Chunk) -> tuple[Chunk | None, float]:
    """The noun a count counts, and how doubtful it is that rows (or its column's values) are meant."""
    for chunk in scene.chunks[number.at + 1 : number.at + 6]:
        if chunk.op in ("sum", "only", "distinct") and not chunk.columns:
            continue
        if chunk.columns and (chunk.at not in scene.bound or not chunk.values):
            if not is_measured(chunk) or is_row_noun(scene, chunk) or _numbered(chunk):
                return chunk, 0.0
            return chunk, 0.4 if max(r.quality for r in chunk.columns) >= 0.9 else 0.7
        if chunk.low in ("per", "each"):
            return None, 1.0
        if chunk.low in (",", ":", ";", "("):
            return None, 0.1 if chunk.at > number.at + 1 else 0.6
        if chunk.qty or (chunk.is_exact and chunk.text[:1].isupper()):
            continue
        if chunk.values:
            return chunk, 0.0
        if not chunk.is_plain or chunk.low in ("of", "the", "out", "other", "a", "an", "such", "so", "far", "-"):
            continue
        if is_row_noun(scene, chunk):
            return chunk, 0.0
        following = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
        if chunk.is_content and not (following and (following.columns or following.values or following.is_content)):
            return chunk, 0.2
        if chunk.low in _END_OF_NOUN:
            return None, 0.1
    return None, 0.3


def _numbered(chunk: Chunk) -> bool:
    """Whether the noun is a column whose numbers name the rows (`round` 1, 2, 3)."""
    return any(r.column.is_serial for r in chunk.columns)


def after_verb(scene: Scene, number: Chunk) -> bool:
    """Whether a number follows a verb that may give it as an amount (`X earns 500`), rather than as how many."""
    lead = scene.chunks[number.at - 1] if number.at else None
    if lead is None or not lead.words[-1].is_word or lead.words[-1].stem in REPORT:
        return False
    return lead.is_content or bool(lead.columns) or (lead.is_plain and lead.low not in STOP)


def is_measured(chunk: Chunk) -> bool:
    return all(r.column.is_measure for r in chunk.columns)


def counts_subject(scene: Scene, number: Chunk) -> bool:
    """Whether `X is N` says how many there are: X is a noun of rows, or the number or count of something."""
    verb = scene.chunks[number.at - 1] if number.at else None
    if verb is None or verb.low not in ("is", "was", "are", "were", ":", "="):
        return True
    if verb.at and scene.chunks[verb.at - 1].low == "there":
        return True
    before = [c for c in scene.chunks[: verb.at] if c.words[0].is_word and c.low not in _SMALL]
    return any(is_row_noun(scene, c) or c.stem in ("number", "count") for c in before) or (
        len(before) == 1 and before[0].op == "sum"
    )


_SMALL = frozenset(("the", "a", "an", "this", "that", "its", "their"))


def is_row_noun(scene: Scene, chunk: Chunk) -> bool:
    return any(w.stem in ROW_NOUNS or w.stem in scene.table.nouns or w.stem in scene.parse.context for w in chunk.words)


def whole_of(scene: Scene, number: Chunk) -> tuple[Quantity | None, set[int]]:
    """`N of M`, `N out of M`, `N of the M`: the second number."""
    after = scene.chunks[number.at + 1 : number.at + 8]
    for i, chunk in enumerate(after):
        if chunk.qty and not chunk.when and any(c.low == "of" for c in after[:i]):
            return chunk.qty, {chunk.at}
        if chunk.values or chunk.columns or (chunk.is_plain and chunk.low in _END_OF_NOUN):
            break
    return None, set()


def whole_fits(scene: Scene, selection: Selection, whole: Quantity) -> bool:
    sizes = {len(scene.body), scene.table.total or -1, *(len(scene.body & c.rows) for c in selection.conds)}
    return any(agrees(whole, size) for size in sizes)


def is_of_a_unit(scene: Scene, chunk: Chunk) -> bool:
    """Whether the number is so much of a unit (`3 days`, `5 kg`) that is no noun of the rows."""
    following = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
    if chunk.qty is None or not chunk.qty.unit or following is None:
        return False
    return following.low in SCALED and not following.columns and not is_row_noun(scene, following)


def counted_by_all(scene: Scene, chunk: Chunk) -> bool:
    """Whether nothing, or what is said of all, leaves the number a count: `all 5 are`, not `everyone is under 40`."""
    return all(0 < chunk.at - op.at <= 4 for op in scene.parse.ops("all", "none") if op.at not in scene.bound)


def picks_one(scene: Scene, chunk: Chunk) -> bool:
    """`one of …`: it picks, and counts nothing."""
    following = scene.chunks[chunk.at + 1].low if chunk.at + 1 < len(scene.chunks) else ""
    if following == "-" and chunk.at + 2 < len(scene.chunks) and scene.chunks[chunk.at + 2].words[0].is_word:
        return True
    if any(c.low == "of" for c in scene.chunks[max(0, chunk.at - 3) : chunk.at]) and any(
        c.qty for c in scene.chunks[max(0, chunk.at - 5) : chunk.at]
    ):
        return not any(c.qty and c.qty.value == 1 for c in scene.chunks[max(0, chunk.at - 5) : chunk.at])
    return (
        chunk.qty is not None
        and chunk.qty.word
        and chunk.qty.value == 1
        and following == "of"
        and not scene.parse.ops("only")
    )


_EXAMPLE = frozenset(
    (
        "including",
        "among",
        "include",
        "includes",
        "like",
        ":",
        "such",
        "example",
        "about",
        "try",
        "-",
        "–",
        ",",
        ".",
        ";",
        "called",
        "named",
    )
)


def gives_examples(scene: Scene, chunk: Chunk) -> bool:
    """Whether names follow that are examples; `include breakfast` has a column's name after it."""
    following = scene.chunks[chunk.at + 1] if chunk.at + 1 < len(scene.chunks) else None
    verb = chunk.low in ("include", "includes")
    return chunk.low in _EXAMPLE and not (verb and following is not None and following.columns and not following.values)


def among_given(scene: Scene, mention: Mention) -> bool:
    """Whether a name stands right after a word that gives examples of what is counted (`including X`)."""
    return any(c.low in _EXAMPLE for c in scene.chunks[max(0, mention.first - 3) : mention.first])


def names_something(scene: Scene, at: int) -> bool:
    """Whether a word stands there that what is counted may be called, however general it is (`6 people`)."""
    chunk = scene.chunks[at] if at < len(scene.chunks) else None
    return chunk is not None and chunk.is_plain and chunk.words[0].is_word and chunk.low not in STOP


def says_more(scene: Scene, noun: Chunk | None) -> bool:
    """Whether something without counterpart is said of what is counted (`two pull requests need a rebase`)."""
    after = scene.chunks[noun.at + 1 :] if noun is not None else ()
    verb = next((c.at for c in after if c.low in ("is", "are", "was", "were", "have", "has", "had")), None)
    told = ((c.stem in REPORT and c.low not in ("have", "has", "had")) or c.low in ("you", "your") for c in after)
    if any(told):  # so many came, or are offered
        return False
    for chunk in after:
        known = chunk.stem in scene.parse.context or chunk.stem in scene.table.nouns
        topic = scene.chunks[chunk.at - 1].low in _TOPICS and (verb is None or chunk.at < verb)
        if chunk.is_content and not known and not topic:
            return True
        if topic:
            return False
    return False


_TOPICS = frozenset(word_list("in at of for from on by with within across during about named called"))
