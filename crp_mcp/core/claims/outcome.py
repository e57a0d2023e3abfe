"""What a sentence says of a call as a whole: status, success, failure, emptiness, and whether it is all."""

from __future__ import annotations

import re

from .document import Document
from .lexicon import ROW_NOUNS
from .model import Distortion
from .numbers import agrees
from .presence import presence
from .quantities import find_quantities
from .testruns import NO_FAILURE, Answer, answer_of, test_answer
from .totals import RETURNED, decide
from .words import LIGHT, STOP, keys, stem, stems

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
_ROWS = r"(?:rows?|records?|results?|items?|entries|matches|hits|lines|objects?|documents?)"


def answers(text: str, document: Document) -> list[Answer]:
    """Everything the sentence says of the whole result that can be held against it."""
    out: list[Answer] = []
    if (answer := _status(text, document)) or (answer := _success(text, document)):
        out.append(answer)
    if answer := _emptiness(text, document):
        out.append(answer)
    if answer := _partial(text, document):
        out.append(answer)
    if answer := _columns(text, document):
        out.append(answer)
    if answer := _over_empty(text, document):
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
    return answer_of(ok != negated, "status stated by the result", found, str(stated), Distortion.NUMBER_CHANGED)


def _success(text: str, document: Document) -> Answer | None:
    if document.kind == "text" and any(t.name == "tests" for t in document.tables):
        return test_answer(text, document)
    no_failure = NO_FAILURE.search(text)
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
        return answer_of(
            fails, "outcome stated by the result", f"error: {document.message[:200]}", said, Distortion.NEGATION_FLIP
        )
    if _of_tests(text) or find_quantities(text):
        return None  # that there was no error says nothing of a run of tests, or of a number
    good = any(200 <= s < 300 for s in document.statuses) and not any(s >= 400 for s in document.statuses)
    bad = any(s >= 400 for s in document.statuses)
    if bad:
        return answer_of(
            fails, "status stated by the result", ", ".join(map(str, document.statuses)), said, Distortion.NEGATION_FLIP
        )
    rows = any(t.rows and t.kind == "rows" for t in document.tables)
    if _names_row(text, document):
        return None
    if document.kind == "text" and document.message and not document.is_empty and _about_call(text):
        told = bool(_SUCCESS.search(document.message)) and not _FAILURE.search(NO_FAILURE.sub("", document.message))
        if told:
            found = document.message[:120]
            return answer_of(succeeds, "outcome stated by the result", found, said, Distortion.NEGATION_FLIP)
    if fails and _about_call(text) and (good or rows):
        return answer_of(
            False, "outcome stated by the result", "no error in the result", said, Distortion.NEGATION_FLIP
        )
    if succeeds and _about_call(text) and (good or rows or document.kind == "tree") and not document.is_empty:
        return answer_of(True, "outcome stated by the result", "no error in the result", said, None)
    return None


def _of_tests(text: str) -> bool:
    return bool(
        re.search(r"\b(?:unit |integration )?(?:tests?|specs?|test ?suites?|test runs?)\b", text, re.IGNORECASE)
    )


def _names_row(text: str, document: Document) -> bool:
    """Whether a sentence names a row (`the nightly job failed`): then it speaks of that, not of the call."""
    words = [w for w in keys(text) if w not in STOP and stem(w) not in LIGHT and not w.isdigit()]
    tables = [t for t in document.tables if t.kind == "rows"]
    return any((w,) in c.index for t in tables for c in t.columns if not c.is_number and not c.is_prose for w in words)


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


def _emptiness(text: str, document: Document) -> Answer | None:
    if not _EMPTY.search(text) or NO_FAILURE.search(text):
        return None
    if document.is_error:
        return answer_of(
            False,
            "outcome stated by the result",
            f"an error, not an empty result: {document.message[:200]}",
            "empty",
            Distortion.CONTEXT_STRIPPED,
        )
    table = document.main
    if document.is_empty or (table is not None and table.rows == 0):
        return answer_of(True, "SELECT COUNT(*) FROM {table}", "0", "none", None)
    if table is not None and table.rows and (_plain_emptiness(text) or _none_of(text) & table.nouns):
        return answer_of(False, "SELECT COUNT(*) FROM {table}", str(table.rows), "none", Distortion.NEGATION_FLIP)
    return None


_NO_NOUN = re.compile(
    r"\b(?:no|zero|0) (?:matching )?(?P<noun>\w+)(?: (?:was|were))?(?: (?:found|returned|matched|listed))?\W*$",
    re.IGNORECASE,
)


def _none_of(text: str) -> frozenset[str]:
    """The noun of which a sentence says that there is none at all, as stems."""
    match = _NO_NOUN.search(text.strip())
    return frozenset(stems(match["noun"])) if match else frozenset()


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


_COLUMNS = re.compile(r"^\s*(?:different |top-level )?(?:columns|fields|keys|properties|attributes)\b", re.IGNORECASE)


def _columns(text: str, document: Document) -> Answer | None:
    """How many columns a table has, or keys an object."""
    for qty in find_quantities(text):
        if isinstance(qty.value, int) and _COLUMNS.match(text[qty.end :]) and not document.is_error:
            table = document.main or next(iter(document.tables), None)
            if table is None or table.kind == "list":
                return None
            holds = agrees(qty, len(table.columns))
            if not holds and agrees(qty, table.rows):
                return None
            sure = table.kind == "rows" or bool(holds)
            return decide(holds, "number of columns", str(len(table.columns)), qty) if sure else None
    return None


def _over_empty(text: str, document: Document) -> Answer | None:
    """Rows stated over a result that has none."""
    counts = [
        q for q in find_quantities(text) if isinstance(q.value, int) and q.unit == "" and q.compare in ("eq", "ge")
    ]
    if not document.is_empty or document.is_error or len(counts) != 1 or counts[0].value == 0:
        return None
    named = {w for t in document.tables for w in t.nouns}
    counted = stems(text[counts[0].end :])[:3]
    if set(counted) & named or (set(counted) & ROW_NOUNS and RETURNED.search(text)):
        return answer_of(False, "SELECT COUNT(*) FROM {table}", "0", counts[0].literal, Distortion.NEGATION_FLIP)
    return None


def _partial(text: str, document: Document) -> Answer | None:
    """Whether that is all there is; `truncated at 1,000 rows` says how much came as well."""
    quantities = find_quantities(text)
    if not _PARTIAL.search(text) or not document.partial or len(quantities) > 1:
        return None
    if quantities and (document.main is None or not agrees(quantities[0], document.main.rows)):
        return None
    negated = bool(re.search(r"\bnot truncated\b", text, re.IGNORECASE))
    found = "what the result says of its completeness"
    return answer_of(not negated, found, "truncated", "truncated", Distortion.CONTEXT_STRIPPED)
