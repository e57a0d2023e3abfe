"""What speaks for a result being what a phrase says: its tool, class, shape, columns, arguments, and values last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crp_mcp.core.model import Kind, ToolClass

from .candidate import Candidate
from .phrases import Phrase, bare_verb
from .words import NEAR, stem, tokens, word_set

Is = Callable[[Candidate], float]

_KINDS: dict[str, Is] = {
    "table": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.0,
    "row": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.6 if c.kind is Kind.LIST else 0.0,
    "record": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.6 if c.kind is Kind.LIST else 0.0,
    "column": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.0,
    "spreadsheet": lambda c: 0.9 if c.kind is Kind.TABULAR else 0.0,
    "query": lambda c: 1.0 if c.tool_class is ToolClass.SQL else 0.6 if c.kind is Kind.TABULAR else 0.0,
    "sql": lambda c: 1.0 if c.tool_class is ToolClass.SQL else 0.0,
    "api": lambda c: 1.0 if c.tool_class is ToolClass.API else 0.5 if _is_untold_object(c) else 0.0,
    "object": lambda c: 0.9 if c.kind is Kind.OBJECT else 0.0,
    "json": lambda c: 0.7 if c.is_json else 0.0,
    "calculation": lambda c: 1.0 if c.tool_class is ToolClass.COMPUTATION else 0.6 if c.kind is Kind.SCALAR else 0.0,
    "number": lambda c: 0.9 if c.kind is Kind.SCALAR else 0.6 if c.has_number and _computed(c) else 0.0,
    "error": lambda c: 1.0 if c.is_error else 0.5 if c.has_errors else 0.0,
    "log": lambda c: 0.9 if c.is_log else 0.0,
    "line": lambda c: 0.9 if c.is_log else 0.8 if c.kind is Kind.TEXT else 0.0,
    "text": lambda c: 0.8 if c.kind is Kind.TEXT else 0.0,
    "file": lambda c: 0.8 if c.tool_class is ToolClass.FILE else 0.0,
    "search": lambda c: 0.9 if c.tool_class is ToolClass.SEARCH else 0.0,
    "metric": lambda c: 0.9 if c.tool_class is ToolClass.METRIC else 0.0,
    "failing": lambda c: 1.0 if c.is_error or c.has_errors else 0.0,
    "empty": lambda c: 1.0 if c.kind is Kind.EMPTY or c.rows == 0 else 0.0,
    "image": lambda c: 0.9 if c.kind is Kind.BINARY else 0.0,
}


def _computed(c: Candidate) -> bool:
    return c.tool_class is ToolClass.COMPUTATION


def _is_untold_object(c: Candidate) -> bool:
    """An object of a tool nobody declared a class of; what a file or a query gives is no API's response."""
    return c.kind is Kind.OBJECT and c.tool_class is ToolClass.OTHER


_SAME_KIND = {
    "computation": "calculation", "figure": "number", "value": "number", "total": "number", "sum": "number",
    "failure": "error", "exception": "error", "traceback": "error", "crash": "error", "trace": "error",
    "stacktrace": "error",
    "failed": "failing", "broken": "failing", "erroring": "failing", "csv": "table", "grid": "table",
    "document": "file", "database": "query", "endpoint": "api", "reading": "metric", "status": "metric",
    "dataframe": "table", "count": "number", "formula": "calculation", "picture": "image", "screenshot": "image",
}  # fmt: skip


def evidence(phrase: Phrase, c: Candidate, earlier: Sequence[Candidate]) -> float:
    """0 to about 1.5: how much speaks for a candidate being what the phrase says."""
    if phrase.count is not None and phrase.count in (c.rows, c.rows_total):
        return 1.5
    if phrase.head is None:
        return 0.0
    if phrase.literal:
        return 1.4 if phrase.head in c.literals else 0.0
    if phrase.head in ("table", "query") and c.tables & set(phrase.modifiers):
        return 1.4
    said = {one for one in map(stem, tokens(phrase.text)) if one not in _SMALL}
    if len(said) > 1 and said <= c.tool_words:
        return 1.4  # the tool's own name, in whatever order
    head = word_evidence(phrase.head, c)
    said_of = [bare_verb(one) if one.endswith("ed") and one not in _SAME_KIND else one for one in phrase.modifiers]
    known = [word for word in said_of if any(word_evidence(word, one) for one in earlier)]
    if not known:
        return head
    beside = sum(word_evidence(word, c) for word in known) / len(known)
    return 0.5 * head + 0.5 * beside if head or any(word_evidence(phrase.head, one) for one in earlier) else beside


_SMALL = frozenset(("the", "a", "an", "of", "from", "that", "this", "those", "these", "my", "last", "latest", "first"))


def word_evidence(word: str, c: Candidate) -> float:
    """What speaks for one word, the strongest kind of evidence."""
    if c.name is not None and word in {stem(part) for part in tokens(c.name)}:
        return 1.4
    if word in c.tool_words:
        return 1.0
    rule = _KINDS.get(_SAME_KIND.get(word, word))
    found = rule(c) if rule is not None else 0.0
    near = NEAR.get(word, frozenset())
    if word in c.column_words or near & c.tool_words:
        return max(found, 0.8)
    if word in c.argument_words:
        return max(found, 0.7)
    if near & (c.column_words | c.asked_words) or word in c.asked_words:
        return max(found, 0.55)
    by_value = 0.4 if rule is None else 0.2  # what a kind is called says little where it stands in the data
    return max(found, by_value if word in c.value_words else 0.0)


_PARTS = word_set("row line column record cell field number value figure message content text detail")
_QUALITIES = ("est", "ful", "ous", "ive", "ed", "ing", "less", "able", "ible", "ic")
_LOOSE = word_set(
    """
    full whole complete raw entire final original new old big small long short good bad actual exact current main top
    total real right wrong big great huge little simple single only own more most large local public private
    """
)


def foreign_noun(phrases: Sequence[Phrase], earlier: Sequence[Candidate]) -> str:
    """The noun of the one phrase that no earlier result answers to (`the invoices table`); empty for none."""
    if len(phrases) != 1 or phrases[0].literal or phrases[0].count is not None:
        return ""
    nouns: tuple[str, ...] = (*phrases[0].modifiers, *((phrases[0].head,) if phrases[0].head else ()))
    for noun in nouns:
        loose = noun in _LOOSE or noun.endswith(_QUALITIES) or noun in _PARTS
        if not loose and not any(word_evidence(noun, c) for c in earlier):
            return noun
    return ""
