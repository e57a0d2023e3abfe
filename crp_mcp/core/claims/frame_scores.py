"""Tables of scores, a method a row and a measure a column: outperforms, improves over, best results. One of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .document import Column
from .frame_aggregate import show
from .model import Distortion
from .parse import Chunk
from .reading import Reading
from .rows import bears_out, quote
from .scene import Mention, Scene
from .words import stem, word_list

_BETTER = frozenset(
    word_list(
        """outperforms outperform outperformed outperforming surpasses surpass surpassed better improves improve
        improved improving"""
    )
)
_WORSE = frozenset(word_list("underperforms underperform underperformed worse"))
_LOW = frozenset(
    stem(w) for w in word_list("loss perplexity ppl pp error errors wer cer rmse mae mse ter latency cost fpr fnr eer")
)
"""Measures of which less is better."""
_NO_SCORE = frozenset(
    stem(w)
    for w in word_list(
        """params parameters size time epoch epochs layers rank year count number iters iterations steps heads id
        sentences tokens train dev n m"""
    )
)
_RESULTS = frozenset(stem(w) for w in word_list("performance result results score scores accuracy overall"))


def readings(scene: Scene) -> Iterator[Reading]:
    """Two methods compared, or one that is best, over the measures named or over all of them."""
    key = scene.table.key_column
    if scene.table.kind != "rows" or key is None or key.distinct < 0.9 * scene.table.rows or scene.table.rows < 2:
        return
    scores = [c for c in scene.table.columns if _is_score(c)]
    if scores and len(scores) >= 0.5 * (len(scene.table.columns) - 1):
        yield from _versus(scene, key, scores)
        yield from _best(scene, key, scores)


def _is_score(column: Column) -> bool:
    return column.is_measure and not column.is_mixed and not _NO_SCORE & set(column.words)


def _rows_of(key: Column, mention: Mention) -> list[int]:
    """The rows that a name, or a list of names, is of; of several that have it the only one that begins with it."""
    cond = next((o for o in mention.options if o.column is key), None)
    if cond is None or mention.negated:
        return []
    words = cond.text.lower()
    begun = [r for r in cond.rows if key.texts[r].lower().lstrip("([+- ").startswith(words)]
    return begun if len(begun) == 1 and mention.listed == 1 else sorted(cond.rows)


def _one_row(key: Column, mention: Mention) -> int | None:
    rows = _rows_of(key, mention)
    return rows[0] if len(rows) == 1 else None


def _measures(scene: Scene, scores: Sequence[Column]) -> tuple[list[Column], frozenset[int]]:
    """The measures that the clause names, or all of them; and the words that do so."""
    named = [(c, r.column) for c in scene.columns for r in c.columns if r.column in scores and r.quality >= 0.75]
    spent = frozenset(c.at for c, _ in named) | frozenset(c.at for c in scene.chunks if c.stem in _RESULTS)
    return list(dict.fromkeys(column for _, column in named)) or list(scores), spent


def _ahead(column: Column, row: int, others: Sequence[int]) -> bool | None:
    """Whether a row does better than others in a measure; None where one has no figure, or they are level."""
    mine, values = column.numbers[row], [column.numbers[r] for r in others]
    if mine is None or not values or any(v is None or v == mine for v in values):
        return None
    low = bool(_LOW & set(column.words))
    return all((mine < v) if low else (mine > v) for v in values if v is not None)


def _versus(scene: Scene, key: Column, scores: Sequence[Column]) -> Iterator[Reading]:
    op = next((c for c in scene.chunks if c.low in _BETTER | _WORSE), None)
    if op is None or len(scene.mentions) != 2 or scene.parse.ops("all", "max", "min", "only", "none"):
        return
    left, right = scene.mentions
    if not left.last < op.at < right.first:
        return
    mine, theirs = _rows_of(key, left), _rows_of(key, right)
    if not mine or not theirs or set(mine) & set(theirs):
        return
    columns, spent = _measures(scene, scores)
    better = op.low in _BETTER
    ahead = [_ahead(c, x, [y]) for c in columns for x in mine for y in theirs]
    holds = _agreed(scene, [None if a is None else a is better for a in ahead])
    used = set(left.chunks | right.chunks | spent | {op.at} | scene.nots | {c.at for c in scene.parse.ops("than")})
    used |= {c.at for c in scene.chunks[op.at + 1 : right.first] if c.low in ("over", "upon", "on", "the")}
    if scene.numbers:
        gap = _gap(scene, columns, mine[0], theirs[0]) if len(mine) == len(theirs) == 1 else None
        if gap is None:
            return
        number, fits = gap
        used |= {number.at, *(c.at for c in scene.chunks[number.at + 1 : number.at + 3] if c.stem in ("point", "%"))}
        holds = None if holds is None else holds and fits
    yield _reading(scene, key, columns, [*mine, *theirs][:6], holds, used, Distortion.MAGNITUDE_ALTERED)


_DEGREES = frozenset(
    word_list(
        """slightly marginally much significantly substantially considerably far margin comparable similar necessarily
        always even"""
    )
)


def _agreed(scene: Scene, ahead: Sequence[bool | None]) -> bool | None:
    """One answer of all measures and rows, where they have one; how large a lead is said to be nobody can compute."""
    if all(a is False for a in ahead):
        return False
    degree = any(c.low in _DEGREES for c in scene.chunks)
    return True if all(a is True for a in ahead) and not degree else None


def _gap(scene: Scene, columns: Sequence[Column], x: int, y: int) -> tuple[Chunk, bool | None] | None:
    """`by N points`: the number, and whether it is how far the two are apart in the one measure meant."""
    if len(scene.numbers) != 1 or scene.chunks[scene.numbers[0].at - 1].low != "by":
        return None
    number = scene.numbers[0]
    fits = []
    for column in columns:
        a, b = column.numbers[x], column.numbers[y]
        if a is not None and b is not None and number.qty is not None:
            fits.append(bears_out(column, number.qty, round(abs(a - b), 6)))
    relative = number.qty is not None and number.qty.unit == "%"
    if True in fits:
        return number, True
    return number, False if len(columns) == 1 and fits == [False] and not relative else None


def _best(scene: Scene, key: Column, scores: Sequence[Column]) -> Iterator[Reading]:
    """`X has the best results`, `X outperforms all others`."""
    mention = scene.mentions[0] if len(scene.mentions) == 1 else None
    row = _one_row(key, mention) if mention is not None else None
    if mention is None or row is None or scene.numbers:
        return
    best = next((c for c in scene.parse.ops("max") if c.low in ("best", "highest", "top")), None)
    worst = next((c for c in scene.parse.ops("min") if c.low in ("worst", "lowest", "poorest")), None)
    over = next((c for c in scene.chunks if c.low in _BETTER), None)
    rest = [c for c in scene.chunks if c.op == "all" or c.low in ("others", "rest")]
    every = [c for c in rest if over is not None and 0 < c.at - over.at <= 3]
    op = best or worst or (over if every else None)
    said = any(c.stem in _RESULTS for c in scene.chunks) or bool(every)
    if op is None or not said or (best and worst):
        return
    columns, spent = _measures(scene, scores)
    others = sorted(scene.body - {row})
    if op is worst:
        ahead = [_behind(c, row, others) for c in columns]
    else:
        ahead = [_ahead(c, row, others) for c in columns]
    holds = _agreed(scene, ahead)
    nouns = {c.at for c in scene.columns if any(r.column is key for r in c.columns)}
    tail = {c.at for e in every for c in scene.chunks[e.at : e.at + 4] if c.low not in ("with", "in", "on", "when")}
    used = set(mention.chunks | spent | {op.at} | scene.nots | nouns | tail)
    yield _reading(scene, key, columns, [row], holds, used, Distortion.ENTITY_SUBSTITUTED)


def _behind(column: Column, row: int, others: Sequence[int]) -> bool | None:
    """Whether a row does worse than all others in a measure."""
    results = [_ahead(column, r, [row]) for r in others]
    return None if None in results else all(results)


def _reading(
    scene: Scene,
    key: Column,
    columns: Sequence[Column],
    rows: Sequence[int],
    holds: bool | None,
    used: set[int],
    kind: Distortion,
) -> Reading:
    names = ", ".join(quote(c.name) for c in columns[:4])
    sql = f"SELECT {quote(key.name)}, {names} FROM {{table}} ORDER BY {quote(columns[0].name)} DESC"
    found = "; ".join(
        f"{key.texts[r]}: " + ", ".join(show(n) for c in columns[:4] if (n := c.numbers[r]) is not None) for r in rows
    )
    negated = holds if holds is None else holds != scene.negated
    return Reading("scores", negated, frozenset(used), sql, found, scene.parse.text, kind, 0.05)
