"""An answer -> claims: sentences, list items, table rows, with their citations. Leaves alone what claims nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dates import claim_dates
from .limits import is_too_long
from .model import Claim

_CITATION = re.compile(r"\[?\b(scratch_[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*_\d{3,})\b\]?")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"^\s*#{1,6}\s+")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|no|approx|inc|ltd|co|corp|jr|sr|fig|"
    r"dept|est|avg|min|max|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)|\b[A-Za-z]\.[A-Za-z]|"
    r"\b[A-Z])\.$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\b(?:etc|inc|ltd|co|corp|jr|sr)\.$", re.IGNORECASE)
_STARTS = re.compile(
    r"(?:The|It|Its|There|This|That|These|Those|They|He|She|We|I|All|Both|None|No|In|On|At|For|Only|And|But)\b"
)
"""Words with which a sentence starts, also after a name that ends in an abbreviation."""
LONGEST_ABBREVIATION = 12
_END = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9#*_`$€£]|\w+ed\b|and\b|it\b|i\b|we\b|"
    r"there\b)|(?<=[a-z0-9][.!?])(?=[A-Z][a-z])|\n+"
)

_QUESTION = re.compile(r"\?\s*[\"'”’)]*\s*$")
_ASKS = re.compile(
    r"^\W*(?:who|what|which|whose|how many|how much|how|why|do|does|did|is|are|can|could|"
    r"would|should|shall|will|may) .*\?",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|sure|great|certainly|of course|no problem|alright|next|now|then|"
    r"first)[,.! ]+)*(?:i(?:'ll| will| am going to|'m going to| can| could| would| should|"
    r" need to| plan to| want to|'d)|let(?:'s| us| me)|we(?:'ll| will| should| could| can|"
    r" need to)|you (?:can|could|should|may|might|will need|need)|please|feel free|next,? i|"
    r"try|consider|to (?:fix|see|check|get|do) )\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\b(?:i (?:think|believe|guess|suspect|feel|hope|recommend|suggest|would say)|in my opinion|"
    r"it (?:seems|appears|looks like)|(?:seems|appears) to|"
    r"probably|perhaps|maybe|possibly|presumably|might|likely that|(?:plan|intend|hope|aim|want)s? to|"
    r"may (?:be|have|indicate|"
    r"suggest|mean)|could (?:be|have|indicate|suggest|mean)|i'm not sure|not certain|unclear)\b",
    re.IGNORECASE,
)
_PLEASANTRY = re.compile(
    r"^\W*(?:hi|hello|hey|thanks|thank you|you're welcome|sorry|sure|great|ok(?:ay)?|certainly|"
    r"of course|no problem|got it|alright|here (?:you go|it is|they are)|yes|no|done|enjoy|"
    r"have a \w+ \w+|good (?:morning|luck|afternoon|evening)|yes,? i can|you bet|absolutely|"
    r"perfect|awesome)\W*$",
    re.IGNORECASE,
)


def claims_of(text: str) -> list[Claim]:
    """Every statement of a text that could be held against a result, in order."""
    out: list[Claim] = []
    lead, position, fenced = "", 0, False
    lines = text.splitlines(keepends=True)
    table: list[tuple[int, str]] = []
    paragraph: list[tuple[int, str]] = []

    def flush() -> None:
        nonlocal lead
        if table:
            out.extend(_table_claims(table, lead))
            table.clear()
        if paragraph:
            found = list(_prose(paragraph, lead))
            out.extend(found)
            last = "".join(line for _, line in paragraph).strip()
            lead = last if last.endswith(":") else (lead if _BULLET.match(paragraph[0][1]) else "")
            paragraph.clear()

    for line in lines:
        start, position = position, position + len(line)
        if _FENCE.match(line):
            flush()
            fenced = not fenced
        elif fenced:
            continue
        elif line.lstrip().startswith("|") and line.count("|") >= 2:
            if paragraph:
                flush()
            table.append((start, line))
        elif not line.strip():
            flush()
        elif _HEADING.match(line):
            flush()
            lead = line.strip("# \n")
        else:
            if table or (paragraph and _BULLET.match(line)):
                flush()
            paragraph.append((start, line))
    flush()
    return out


def _prose(paragraph: list[tuple[int, str]], lead: str) -> Iterator[Claim]:
    start = paragraph[0][0]
    text = "".join(line for _, line in paragraph)
    bullet = _BULLET.match(text)
    offset = bullet.end() if bullet else 0
    subject = lead
    for begin, end in sentences(text[offset:]):
        piece = text[offset + begin : offset + end]
        if claim := _claim(piece, start + offset + begin, subject if _LABELLED.match(piece) else lead):
            if not _LABELLED.match(piece):
                subject = claim.text
            yield claim


_LABELLED = re.compile(r"^\W*[\w /-]{2,40}:\s*\S.{0,60}$")


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each sentence; abbreviations and numbers do not end one."""
    begin = 0
    for match in _END.finditer(text):
        last = text[max(begin, match.start() - LONGEST_ABBREVIATION) : match.start()]
        opens = _SUFFIX.search(last) and _STARTS.match(text, match.end())
        if _ABBREVIATION.search(last) and not opens and "\n\n" not in match.group():
            continue
        if (
            "\n" in match.group()
            and text[max(begin, match.start() - 200) : match.start()].rstrip()[-1:] not in ".!?:"
            and "\n\n" not in match.group()
        ):
            continue
        if not text[begin : match.start()].isspace() and begin < match.start():
            yield begin, match.start()
        begin = match.end()
    if text[begin:].strip():
        yield begin, len(text.rstrip())


def _claim(piece: str, start: int, lead: str) -> Claim | None:
    cited = tuple(m[1] for m in _CITATION.finditer(piece))
    bare = _CITATION.sub(" ", piece)
    bare = (
        re.sub(r"\*\*|__|`", "", bare).strip().strip("()").strip() if cited else re.sub(r"\*\*|__|`", "", bare).strip()
    )
    bare = re.sub(r"\s{2,}", " ", bare)
    if not re.search(r"\w", bare) or (not is_too_long(bare) and states_nothing(bare)):
        return None
    return Claim(bare, start, start + len(piece), lead.rstrip(":"), cited)


def states_nothing(text: str) -> bool:
    """Whether a sentence is a question, a plan, an offer, a hedge or a pleasantry rather than a claim."""
    if text.endswith(":") and not re.search(r"\d", text):
        return True
    if _QUESTION.search(text) and (_ASKS.match(text) or not _asserts_first(text)):
        return True
    return bool(_PLAN.match(text) or _OPINION.search(text) or _PLEASANTRY.match(text))


def _asserts_first(text: str) -> bool:
    """Whether a sentence that ends as a question states something before it asks (`There are 7, do you want one?`)."""
    return bool(
        re.match(
            r"^[^?]{12,}[,;.–-]\s+(?:would|do|does|shall|should|is|are|can|could|what|how|which|will|may)\b",
            text,
            re.IGNORECASE,
        )
    )


def _table_claims(lines: list[tuple[int, str]], lead: str) -> Iterator[Claim]:
    """Each body row of a Markdown table, its cells paired with their headers."""
    rows = [(start, _cells(line)) for start, line in lines if not _TABLE_RULE.match(line)]
    if len(rows) < 2 or not any(_TABLE_RULE.match(line) for _, line in lines):
        return
    header = rows[0][1]
    for start, cells in rows[1:]:
        pairs = tuple((h, c) for h, c in zip(header, cells, strict=False) if c.strip())
        if len(pairs) >= 2:
            text = "; ".join(f"{h}: {c}" if h else c for h, c in pairs)
            yield Claim(text, start, start + len(text), lead.rstrip(":"), (), pairs)


def _cells(line: str) -> list[str]:
    return [re.sub(r"\*\*|__|`", "", c).strip() for c in line.strip().strip("|").split("|")]


_BUT = r"(?<!\ball )(?<!one )(?<!body )(?<!thing )(?<!none )but"
"""A `but` that does not make an exception (`everyone but X`)."""
_CLAUSE = re.compile(
    r"\s*(?:;|,?\s+(?:while|whereas|" + _BUT + r"|although|though|however)\s+|,\s+(?:and|so|which|"
    r"where|with)\s+(?:also\s+)?|\s+and\s+(?=(?:the|there|it|its|is|are|was|were|has|had|"
    r"have|none|no|only|all|then|his|her|their|\d|a |an )\b)|,\s+(?=(?:in|at|with|for|from|"
    r"starting|located|costs?|would|do|does)\b)|\s+and\s+(?=['\"‘“])|(?<!\d)\s+-\s+(?!\d)|"
    r",\s+(?!(?:\w+ed|seen|found|held|set|built|sold|made|taken) (?:on|in|at|by|from|for|to|with)\b))",
    re.IGNORECASE,
)


_ASIDE = re.compile(
    r"^(?P<who>(?:the |an? )?[\w'’.&-]+(?: [\w'’.&-]+){0,4}?)(?:"
    r", (?:who|which)(?:'s| (?P<is>is|was|has|have|had|\w+s|\w+ed)) (?P<said>[^,;]{3,60})|"
    r", (?P<noun>(?:the|an?|our|their) [^,;]{3,40})"
    r"), (?:and )?(?P<rest>[a-z][^;]{4,})$"
)
_OPENER = re.compile(
    r"^(?:in|at|on|for|of|from|to|by|with|among|after|before|during|since|overall|however|also|there|here|as|if|when|"
    r"while|so|thus|then|next|first|finally|currently|today|only|all|both|each|no|none|but|and|or|not|it|this|that)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"^(?:is|was|are|were|has|have|had|does|did|will|also|\w+ed|\w+s)\b")


def asides(text: str) -> list[str]:
    """`A, who is X, has Y` and `A, the X, has Y` as the two statements that they are; empty for anything else."""
    match = _ASIDE.match(text.strip())
    if match is None or _OPENER.match(match["who"]) or not _GOES_ON.match(match["rest"]):
        return []
    who = match["who"]
    said = f"{who} is {match['noun']}" if match["noun"] else f"{who} {match['is'] or 'is'} {match['said']}"
    return [f"{said}.", f"{who} {match['rest']}"]


_EXCEPTION = re.compile(
    r"^\W*(?:apart from|aside from|except(?:ing)?(?: for)?|excluding|besides|other than)\b", re.IGNORECASE
)
_OF_THEM = re.compile(r"^\W*(?:out )?of (?:the|all|these|those) [^,]{3,40}, [^,;]+$", re.IGNORECASE)
"""`Of the four X, two are Y`: the second is said of the first."""
_COMPARED = re.compile(
    r"^\W*(?:compared|in comparison|relative|in contrast) (?:to|with) (?P<other>[^,]{1,60}), (?P<rest>.{4,}?)[. ]*$",
    re.IGNORECASE,
)


def in_order(text: str) -> str:
    """`Compared with B, A has more` as `A has more than B`."""
    match = _COMPARED.match(text)
    if match is None or " than " in match["rest"]:
        return text
    return f"{match['rest']} than {match['other']}."


def clauses(text: str) -> list[list[str]]:
    """Ways to cut a sentence into clauses, coarsest first; the whole sentence is not among them."""
    if _EXCEPTION.match(text) or _OF_THEM.match(text):
        return []
    dates = claim_dates(text)
    cuts = [m for m in _CLAUSE.finditer(text) if not any(d.start < m.start() < d.end for d in dates)]
    strong = [m for m in cuts if re.search(r";|while|whereas|but|although|though|however", m.group(), re.IGNORECASE)]
    medium = [m for m in cuts if re.search(r"\b(?:and|so|which|where|with)\b", m.group(), re.IGNORECASE)]
    out = []
    for chosen in (strong, sorted(strong + medium, key=lambda m: m.start()), cuts):
        parts = _cut(text, chosen)
        if len(parts) > 1 and parts not in out:
            out.append(parts)
    return out


def _cut(text: str, cuts: list[re.Match[str]]) -> list[str]:
    parts, begin = [], 0
    for match in cuts:
        parts.append(text[begin : match.start()])
        begin = match.end()
    parts.append(text[begin:])
    return [p.strip(" ,.;") for p in parts if re.search(r"\w", p)]
