"""What a sentence says of a call as a whole: status, success, failure, emptiness, and whether it is all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .document import Document, Table
from .model import Distortion, Outcome
from .numbers import Quantity, agrees, find_quantities
from .words import LIGHT, STOP, stem, stems


@dataclass(frozen=True, slots=True)
class Answer:
    """A decided or knowingly undecided statement about a whole result."""

    outcome: Outcome
    computed: str
    found: str
    stated: str
    distortion: Distortion | None = None
    reason: str = ""


_STATUS = re.compile(
    r"\b(?:status(?:\s+code)?(?:\s+(?:of|was|is))?\s*:?|http(?:/\d(?:\.\d)?)?(?:\s+status)?|"
    r"responded(?:\s+with)?(?:\s+an?)?|returned(?:\s+an?)?|answered(?:\s+with)?(?:\s+an?)?|"
    r"replied(?:\s+with)?(?:\s+an?)?|got(?:\s+an?)?|gave(?:\s+an?)?|with(?:\s+an?)?|code|"
    r"error)"
    r"\s+(?:http\s+)?(?:status\s+)?(?:code\s+)?(?P<code>[1-5]\d\d)(?!\s*(?:[,.]?\d|rows?|"
    r"records?|results?|items?|entries|\w+s\b(?<!status)))|\b(?P<code2>[1-5]\d\d)\s+(?:error|"
    r"ok|not found|forbidden|unauthorized|bad request|internal server error|status|response)\b",
    re.IGNORECASE,
)
_CALL = (
    r"(?:request|call|query|command|tool|api|server|fetch|download|upload|search|operation|build|"
    r"test(?:s| run| suite)?|job|import|export|script|deployment|migration|write|insert|update|deletion|delete|"
    r"connection|statement|file|object|page|transaction|it|everything|this|install(?:ation)?|push|commit)"
)
_SUCCESS = re.compile(
    rf"\b(?:success(?:ful(?:ly)?)?|succeed(?:ed|s)?|worked(?: fine)?|went through|without (?:any )?(?:errors?|"
    rf"problems?|issues?)|no errors?(?: (?:occurred|were \w+))?|(?:was|were|is|has been|"
    rf"have been) (?:completed|created|saved|updated|deleted|downloaded|uploaded|sent|inserted|"
    rf"processed|cancelled|canceled|booked|confirmed|installed|deployed))\b|\b{_CALL}\s+(?:completed|"
    rf"passed|finished)\b",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    rf"\b(?:fail(?:ed|s|ure)?|errored|error(?: occurred)?|(?:could|can|did)(?:n[o']?t| not) (?:be )?(?:\w+ )?(?:fetch|"
    rf"get|retrieve|find|load|connect|complete|download|read|open|access|process|reach|"
    rf"execute|run)\w*|cannot (?:be )?\w+|unable to|was (?:rejected|refused|denied)|timed out|"
    rf"crashed|unsuccessful|permission (?:was )?denied|not found|does(?:n't| not) exist|"
    rf"invalid)\b|\b{_CALL} (?:was|were|is|are) not (?:\w+ )?(?:completed|found|available)\b",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:no|without|zero|0|none|not any|n't any)\s+(?:\w+\s+){0,2}(?:fail|error|problem|"
    r"issue)\w*|\b(?:none|nothing) failed|did(?:n't| not) fail|never failed",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"\b(?:(?:returned|found|gave|has|have|had|contains?|yielded|produced|there (?:are|"
    r"were|is|was)|came back with|got) (?:no|zero|0) (?:\w+ ){0,2}?\w+|no (?:\w+ ){0,2}?(?:results?|"
    r"rows?|records?|matches|files?|items?|entries|data|policies|issues?|documents?|\w+s) (?:were |"
    r"was |are |is |have been |has been |could be )?(?:found|returned|matched|match|available|"
    r"returned|exist|matching)?|nothing (?:was |were )?(?:found|returned|matched|came back)|"
    r"(?:is|was|came back|returned) (?:an )?empty|(?:the )?(?:result|list|response|table|"
    r"directory|output) (?:set )?(?:is|was) empty)\b",
    re.IGNORECASE,
)
_PARTIAL = re.compile(
    r"\b(?:truncated|cut off|incomplete|partial(?:ly)?|not (?:the )?(?:complete|full|all)|"
    r"more (?:results |rows |pages )?(?:are |is )?available|has more|limited to)\b",
    re.IGNORECASE,
)
_COMPLETE = re.compile(
    r"\b(?:not truncated|complete result|in full|all of them|nothing (?:was )?(?:left out|truncated))\b", re.IGNORECASE
)
_RETURNED = re.compile(
    r"\b(?:return(?:ed|s)?|in (?:this|the) (?:response|result|output|page)|shown|showing|"
    r"displayed|gave back|listed here|fetched|retrieved|came back|output has)\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\b(?:in total|total(?:s|ing|ed)?|match(?:es|ed|ing)?|overall|altogether|exist|across all|all)\b", re.IGNORECASE
)
_ROWS = r"(?:rows?|records?|results?|items?|entries|matches|hits|lines|objects?|documents?)"
_GENERIC_COUNT = re.compile(rf"\b{_ROWS}\b", re.IGNORECASE)


def answers(text: str, document: Document) -> list[Answer]:
    """Everything the sentence says of the whole result that can be held against it."""
    out: list[Answer] = []
    if (answer := _status(text, document)) or (answer := _success(text, document)):
        out.append(answer)
    if answer := _emptiness(text, document):
        out.append(answer)
    if answer := _partial(text, document):
        out.append(answer)
    if not out and (answer := presence(text, document)):
        out.append(answer)
    return out


def _status(text: str, document: Document) -> Answer | None:
    match = _STATUS.search(text)
    if match is None:
        return None
    stated = int(match["code"] or match["code2"])
    codes = set(document.statuses)
    found = ", ".join(map(str, document.statuses)) or ("an error" if document.is_error else "none")
    if not codes and not (document.is_error and 200 <= stated < 300):
        return None
    if document.is_error and stated < 300 and not codes - {stated}:
        ok = stated in codes and not document.is_error
    else:
        ok = stated in codes
    negated = bool(re.search(r"\b(?:not|n't|never)\b", text, re.IGNORECASE))
    return _answer(ok != negated, "status stated by the result", found, str(stated), Distortion.NUMBER_CHANGED)


def _success(text: str, document: Document) -> Answer | None:
    if document.kind == "text" and any(t.name == "tests" for t in document.tables):
        return _tests(text, document)
    no_failure = _NO_FAILURE.search(text)
    fails = bool(_FAILURE.search(text)) and not no_failure
    succeeds = bool(_SUCCESS.search(text) or no_failure) and not fails
    if fails and re.search(r"\b(?:un|not )success", text, re.IGNORECASE):
        succeeds = False
    if not fails and not succeeds:
        return None
    if re.search(r"\b(?:not|n't) (?:been )?(?:success|succeed|complete|work)", text, re.IGNORECASE):
        fails, succeeds = True, False
    said = "failed" if fails else "succeeded"
    if document.is_error:
        return _answer(
            fails, "outcome stated by the result", f"error: {document.message[:200]}", said, Distortion.NEGATION_FLIP
        )
    good = any(200 <= s < 300 for s in document.statuses) and not any(s >= 400 for s in document.statuses)
    bad = any(s >= 400 for s in document.statuses)
    if bad:
        return _answer(
            fails, "status stated by the result", ", ".join(map(str, document.statuses)), said, Distortion.NEGATION_FLIP
        )
    rows = any(t.rows and t.kind == "rows" for t in document.tables)
    if fails and _about_call(text) and (good or rows):
        return _answer(False, "outcome stated by the result", "no error in the result", said, Distortion.NEGATION_FLIP)
    if succeeds and _about_call(text) and (good or rows or document.kind == "tree") and not document.is_empty:
        return _answer(True, "outcome stated by the result", "no error in the result", said, None)
    return None


def _about_call(text: str) -> bool:
    """Whether the sentence is about the call itself and not about something the data speaks of."""
    return bool(
        re.match(
            rf"^\W*(?:the |your |this |that |my |all )?(?:\w+ )?{_CALL}\b(?:\s+\w+){{0,3}}\s*\W*$|"
            rf"^\W*(?:the |your |this )?(?:\w+ )?{_CALL}\s+(?:was |were |has |have |is )?(?:\w+ ){{0,2}}?(?:success|"
            rf"succeed|fail|complete|work|error)",
            text,
            re.IGNORECASE,
        )
    )


def _tests(text: str, document: Document) -> Answer | None:
    """`all tests passed`, `tests pass`, `nothing failed` over a test run's summary."""
    table = next(t for t in document.tables if t.name == "tests")
    counts = {c.name: c.cells[0] for c in table.columns}
    bad = counts.get("failed", 0) + counts.get("errors", 0)
    found = ", ".join(f"{v} {k}" for k, v in counts.items())
    stated = _test_numbers(text)
    if stated:
        right = all(agrees(q, counts.get(kind, 0)) for kind, q in stated)
        return _answer(
            right, "test summary", found, ", ".join(f"{q.literal} {k}" for k, q in stated), Distortion.NUMBER_CHANGED
        )
    if find_quantities(text):
        return None
    if _NO_FAILURE.search(text) or re.search(
        r"\b(?:none|no tests?|nothing) (?:\w+ )?(?:fail|broke)", text, re.IGNORECASE
    ):
        return _answer(bad == 0, "test summary", found, "no failures", Distortion.NEGATION_FLIP)
    if re.search(
        r"\b(?:pass(?:ed|es|ing)?|green|succeed(?:ed|s)?|successful(?:ly)?)\b", text, re.IGNORECASE
    ) and not re.search(r"\b(?:not|n't|fail\w*)\b", text, re.IGNORECASE):
        if bad == 0 and counts.get("skipped") and re.search(r"\b(?:all|every)\b", text, re.IGNORECASE):
            return Answer(
                Outcome.UNVERIFIABLE,
                "test summary",
                found,
                "all passed",
                None,
                "nothing failed, but some tests were skipped",
            )
        return _answer(bad == 0, "test summary", found, "passed", Distortion.NEGATION_FLIP)
    if re.search(r"\bfail", text, re.IGNORECASE):
        negated = bool(re.search(r"\b(?:not|n't|never)\b", text, re.IGNORECASE))
        return _answer((bad > 0) != negated, "test summary", found, "failed", Distortion.NEGATION_FLIP)
    return None


_TEST_WORDS = {
    "passed": "pass passed passing succeeded",
    "failed": "fail failed failures failure failing",
    "skipped": "skipped skip",
    "errors": "errors error errored",
    "warnings": "warnings warning",
    "xfailed": "xfailed",
    "total": "ran run executed total collected",
}
_TEST_KINDS = {word: kind for kind, words in _TEST_WORDS.items() for word in words.split()}


def _test_numbers(text: str) -> list[tuple[str, Quantity]]:
    """(outcome, number) pairs a sentence states of a test run (`12 tests passed and 3 failed`)."""
    out: list[tuple[str, Quantity]] = []
    quantities = find_quantities(text)
    for i, qty in enumerate(quantities):
        stop = quantities[i + 1].start if i + 1 < len(quantities) else len(text)
        words = re.findall(r"[a-z]+", text[qty.end : stop].lower())
        if words[:1] in (["of"], ["out"]) and i + 1 < len(quantities):
            words = re.findall(r"[a-z]+", text[quantities[i + 1].end :].lower())
        kind = next((_TEST_KINDS[w] for w in words[:5] if w in _TEST_KINDS), None)
        if i and re.fullmatch(r"\s*(?:of|out of)(?: the| all)?\s*", text[quantities[i - 1].end : qty.start]):
            kind = "total"
        if kind:
            out.append((kind, qty))
    if re.search(r"\b(?:none|no (?:tests? )?|nothing )(?:have |were )?fail", text, re.IGNORECASE) and out:
        out.append(("failed", Quantity(0, "none", 0, 0)))
    return out if len({k for k, _ in out}) == len(out) else []


def _emptiness(text: str, document: Document) -> Answer | None:
    if not _EMPTY.search(text) or _NO_FAILURE.search(text):
        return None
    if document.is_error:
        return _answer(
            False,
            "outcome stated by the result",
            f"an error, not an empty result: {document.message[:200]}",
            "empty",
            Distortion.CONTEXT_STRIPPED,
        )
    table = document.main
    if document.is_empty or (table is not None and table.rows == 0):
        return _answer(True, "SELECT COUNT(*) FROM {table}", "0", "none", None)
    if table is not None and table.rows and _plain_emptiness(text):
        return _answer(False, "SELECT COUNT(*) FROM {table}", str(table.rows), "none", Distortion.NEGATION_FLIP)
    return None


def _plain_emptiness(text: str) -> bool:
    """Whether `none` is said of the result as a whole rather than of some rows of it."""
    return bool(
        re.search(
            rf"\b(?:no|zero|0) (?:matching )?{_ROWS}(?: (?:were|was))?(?: (?:found|returned|"
            rf"matched))?\s*[.!]?$|\bempty\b|\bnothing (?:was |were )?(?:found|returned)",
            text.strip(),
            re.IGNORECASE,
        )
    )


_PLACE = r"(?:the |this |that )?(?:list|results?|output|table|response|data(?:set)?|log|file|search results?|directory|rows?)"
_ABSENT = re.compile(
    rf"^\W*(?P<name>['\"“‘`]?.{{2,60}}?['\"”’`]?) (?:is|was|are|were|does|do) (?P<no>not |"
    rf"n[o']t )?(?:in|listed in|included in|present in|part of|appear in|mentioned in|on) {_PLACE}\W*$|"
    rf""
    rf"^\W*(?:the |this )?{_PLACE} (?:does |do )?(?P<no2>not )?(?:contains?|includes?|mentions?|"
    rf"has|have|lists?|shows?) (?P<no3>no )?(?P<name2>['\"“‘`].{{2,60}}['\"”’`])\W*$|"
    rf"^\W*there (?:is|are|was|were) (?P<no4>no |not any )(?:\w+ ){{0,3}}(?:in|from|called|"
    rf"named|for|by) (?P<name3>['\"“‘`]?[A-Z][\w .'&-]{{1,50}}?['\"”’`]?)(?: in {_PLACE})?\W*$|"
    rf""
    rf"^\W*(?P<no5>no|none of the|not one of the) (?:\w+ ){{0,3}}(?:is|are|was|were) (?:in|"
    rf"from|called|named|for|by) (?P<name4>[A-Z][\w .'&-]{{1,50}}?)\W*$",
    re.IGNORECASE,
)


def presence(text: str, document: Document) -> Answer | None:
    """Whether something stands in the result at all (`X is not in the list`, `there are no rows from X`)."""
    match = _ABSENT.match(text)
    if match is None or document.is_error:
        return None
    groups = match.groupdict()
    name = next(v for k, v in groups.items() if k.startswith("name") and v).strip(" '\"“”‘’`.")
    negated = any(v for k, v in groups.items() if k.startswith("no") and v)
    wanted = stems(name)
    if (
        not wanted
        or all(w in STOP or w in LIGHT for w in wanted)
        or (not name[:1].isupper() and name[:1].isalpha() and "name2" not in groups)
    ):
        return None
    whole, part = _stands(document, wanted)
    if not part and not document.partial and negated:
        return _answer(True, f"search for {name!r}", "no cell has it", f"no {name}", None)
    if not part and not document.partial and not document.lines:
        return _answer(False, f"search for {name!r}", "no cell has it", name, Distortion.ENTITY_SUBSTITUTED)
    if whole:
        return _answer(
            not negated,
            f"search for {name!r}",
            "it is there",
            f"no {name}" if negated else name,
            Distortion.NEGATION_FLIP,
        )
    return None


def _stands(document: Document, wanted: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether a name is a whole cell, and whether its words stand together anywhere."""
    part = any(_within(stems(line), wanted) for line in document.lines[:5000])
    for table in document.tables:
        for column in table.columns:
            for key in column.postings.get(wanted[0], ()):
                found = tuple(stem(k) for k in key)
                if found == wanted:
                    return True, True
                part = part or _within(found, wanted)
    return False, part


def _within(found: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    size = len(wanted)
    return any(found[i : i + size] == wanted for i in range(len(found) - size + 1))


def _partial(text: str, document: Document) -> Answer | None:
    if find_quantities(text) or not _PARTIAL.search(text):
        return None
    negated = bool(re.search(r"\bnot truncated\b", text, re.IGNORECASE))
    if not document.partial:
        return None
    return _answer(
        not negated, "what the result says of its completeness", "truncated", "truncated", Distortion.CONTEXT_STRIPPED
    )


def count_answer(text: str, document: Document) -> Answer | None:
    """A count of the whole result: total, returned and shown are different numbers."""
    table = document.main
    quantities = [q for q in find_quantities(text) if isinstance(q.value, int) and q.unit == ""]
    if len(quantities) != 1 or table is None or document.is_error:
        return None
    return _count(text, document, table, quantities[0])


def _count(text: str, document: Document, table: Table, qty: Quantity) -> Answer | None:
    rows, total = table.rows, table.total if table.total is not None else document.total
    returned, totals = bool(_RETURNED.search(text)), bool(_TOTAL.search(text))
    here = agrees(qty, rows)
    all_of = agrees(qty, total) if total is not None else None
    sql = "SELECT COUNT(*) FROM {table}"
    if total is not None and total != rows:
        if returned and not totals:
            return _decide(here, sql, str(rows), qty)
        if totals and not returned:
            return _decide(all_of, "total stated by the result", str(total), qty)
        if here or all_of:
            return _answer(True, sql, str(rows if here else total), qty.literal, None)
        return _decide(
            False if here is False and all_of is False else None, sql, f"{rows} returned, {total} in all", qty
        )
    if document.partial and not returned:
        if here is not True and rows < qty.value:
            return None
        return Answer(
            Outcome.UNVERIFIABLE,
            sql,
            f"{rows} returned, truncated",
            qty.literal,
            None,
            "the result is truncated: how many there are in all is not in it",
        )
    return _decide(here, sql, str(rows), qty)


def _decide(holds: bool | None, computed: str, found: str, qty: Quantity) -> Answer | None:
    if holds is None:
        return None
    return _answer(holds, computed, found, qty.literal, Distortion.NUMBER_CHANGED)


def _answer(holds: bool, computed: str, found: str, stated: str, distortion: Distortion | None) -> Answer:
    return Answer(
        Outcome.SUPPORTED if holds else Outcome.CONTRADICTED, computed, found, stated, None if holds else distortion
    )
