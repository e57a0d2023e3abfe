"""Quantities as a sentence writes them: digits, words, units, `about`, `at least`, `between`. Knows no tables."""

from __future__ import annotations

import re
from dataclasses import replace

from .numbers import ONES, SCALE, TENS, TIMES, Quantity, exact, number_of
from .units import CODES, SCALED, UNITS
from .words import fold

_NUMBER_WORDS = "|".join([*ONES, *TENS])
_QTY = re.compile(
    r"(?<![\w.])(?:\b(?P<code>" + CODES + r")\s?)?"
    r"(?P<sign>(?:^|(?<=[($:=])|(?<=\ba\s))[-+−]\s?|(?<=\s)(?<!\d\s)[-+−](?=[\d.$€£]))?(?P<cur>us\$|"
    r"[$€£¥₹])?\s?(?P<sign2>(?<=[$€£])-)?"
    r"(?P<num>\d{1,3}(?:,\d{2,3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+)"
    r"(?P<scale>\s?(?:thousand|millions?|billions?|trillion|mn|bn)\b|[kmb](?![a-z]))?"
    r"(?P<ord>st|nd|rd|th)?(?![.:]?\d)(?:\s?(?P<unit>%|percent\b|per cent\b|pct\b|"
    r"[$€£¥₹]|°\s?[cf]\b|°|(?:dollars?|euros?|yen|rupees|" + CODES + r")\b))?",
    re.IGNORECASE,
)
_WORDED = re.compile(
    rf"\b(?P<words>(?:(?:{_NUMBER_WORDS}|a|an)[- ])?(?:{_NUMBER_WORDS}|hundred|thousand|million|billion|dozen)"
    rf"(?:[- ](?:and[- ])?(?:{_NUMBER_WORDS}|hundred|thousand|million))*|once|twice|thrice)\b",
    re.IGNORECASE,
)
_APPROX_WORDS = (
    r"about|around|roughly|approximately|approx\.?|nearly|almost|close to|some|circa|~|≈|an estimated|"
    r"just (?:over|under|above|below)|a little (?:over|under)|slightly (?:over|under)"
)
_APPROX = re.compile(rf"(?:\b|(?<=\s)|^)(?:{_APPROX_WORDS})\s*(?:the\s)?$", re.IGNORECASE)
_BEFORE = [
    (re.compile(p + r"\s*(?:the\s|a\s|an\s)?$", re.IGNORECASE), op)
    for p, op in (
        (r"\b(?:no|not) (?:more|greater|higher|longer|larger|later) than", "le"),
        (r"\b(?:no|not) (?:less|fewer|lower) than", "ge"),
        (
            r"(?<!no )(?<!not )\b(?:more|greater|higher|larger|bigger|longer|taller|heavier|older|over|above|"
            r"exceed(?:s|ed|ing)?|in excess of|upwards of|better|faster)(?: than)?",
            "gt",
        ),
        (r"(?<!no )(?<!not )\b(?:less|fewer|lower|smaller|shorter|lighter|under|below|worse|younger)(?: than)?", "lt"),
        (r"\b(?:at least|a minimum of|minimum of|no fewer than|not below)", "ge"),
        (r"\b(?:at most|a maximum of|maximum of|(?<!add )(?<!adds )(?<!added )up to|not above|not over)", "le"),
        (r"(?:>=|≥)", "ge"), (r"(?:<=|≤)", "le"), (r">", "gt"), (r"<", "lt"),
    )
]  # fmt: skip
_AFTER = [
    (re.compile(r"\s*(?:\w+ )?or (?:more|greater|higher|above|over|better|later)\b", re.IGNORECASE), "ge"),
    (re.compile(r"\s*(?:\w+ )?or (?:less|fewer|lower|below|under|earlier)\b", re.IGNORECASE), "le"),
    (re.compile(r"\+(?!\s?\d)"), "ge"),
]


_PARTS = {"third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10}
_FRACTION = re.compile(
    rf"(?<![\w.])(?:(?P<n>{_NUMBER_WORDS}|an?|\d)[- ](?P<part>{'|'.join(_PARTS)})s?|(?P<over>\d)/(?P<under>\d\d?))"
    r"(?=\s+(?:of|are|is|were|was|have|has|had)\b)",
    re.IGNORECASE,
)


def _fractions(text: str) -> list[Quantity]:
    """`two thirds of`, `a quarter of`, `2/3 of`: shares, in percent."""
    out = []
    for match in _FRACTION.finditer(text):
        under = int(match["under"]) if match["under"] else _PARTS[match["part"].lower()]
        over = int(match["over"]) if match["over"] else words_to_number(match["n"]) or 1
        if 0 < over < under and not (match["n"] or "").isdigit():
            share = exact(100 * over / under)
            out.append(Quantity(share, match.group(), match.start(), match.end(), "%", word=True, fraction=True))
    return out


def find_quantities(text: str) -> list[Quantity]:
    """Every quantity of a sentence, in order, without the parts of dates (which are taken out before)."""
    found = _fractions(text)
    taken = [(q.start, q.end) for q in found]
    digits = [q for m in _QTY.finditer(text) if (q := _from_digits(m, text)) is not None]
    found += [q for q in digits if not any(s < q.end and q.start < e for s, e in taken)]
    taken = [(q.start, q.end) for q in found]
    for match in _WORDED.finditer(text):
        if not any(s < match.end() and match.start() < e for s, e in taken) and (q := _from_words(match)):
            found.append(q)
    found.sort(key=lambda q: q.start)
    return _join_ranges(_join_times([_qualify(q, text) for q in found], text), text)


_OF_ONE_TIME = re.compile(r"\s*[A-Za-z]+\.?\s+(?:and\s+)?")


def _join_times(found: list[Quantity], text: str) -> list[Quantity]:
    """`1 hour 15 minutes` as one duration, in the smaller unit."""
    out: list[Quantity] = []
    for q in found:
        last = out[-1] if out else None
        joined = (
            last is not None
            and last.unit == q.unit == "s"
            and q.compare == "eq"
            and q.value * q.scale < last.scale
            and _OF_ONE_TIME.fullmatch(text[last.end : q.start])
        )
        if last is not None and joined:
            value = exact(last.value * last.scale / q.scale + q.value)
            literal = text[last.start : q.end].strip()
            out[-1] = replace(last, value=value, literal=literal, end=q.end, scale=q.scale, step=q.step)
        else:
            out.append(q)
    return out


def _from_digits(match: re.Match[str], text: str) -> Quantity | None:
    if match["ord"] or text[match.end() : match.end() + 1].isalpha():
        return None
    literal = match["num"]
    value = number_of(literal)
    if value is None:
        return None
    scale = SCALE.get((match["scale"] or "").strip().lower(), 1)
    if match["scale"] == "m" and not (match["cur"] or match["code"] or match["unit"]):
        return None  # metres, minutes, thousandths or millions: it does not say
    digits = literal.replace(",", "")
    decimals = len(digits.partition(".")[2].partition("e")[0]) if "." in digits else 0
    if any((match[s] or "").strip() in ("-", "−") for s in ("sign", "sign2")):
        value = -value
    unit = UNITS.get(fold(match["unit"] or match["cur"] or match["code"] or ""), "")
    step = 10.0**-decimals * scale
    return Quantity(exact(value * scale), match.group().strip(), match.start(), match.end(), unit, step=step)


def _from_words(match: re.Match[str]) -> Quantity | None:
    value = words_to_number(match["words"])
    if value is None or (
        match["words"].lower() in TIMES and match.string[match.end() : match.end() + 4] in (" as ", " the", " tha")
    ):
        return None
    return Quantity(value, match["words"], match.start(), match.end(), word=True)


def words_to_number(text: str) -> int | None:
    """`two hundred and five` -> 205; None when it is no number word."""
    total = current = 0
    seen = False
    for word in re.split(r"[-\s]+", text.lower()):
        if word in TIMES:
            return TIMES[word]
        if word in ONES or word in TENS:
            current, seen = current + ONES.get(word, 0) + TENS.get(word, 0), True
        elif word in ("hundred", "dozen"):
            current, seen = max(current, 1) * SCALE[word], True
        elif word in SCALE:
            total, current, seen = total + max(current, 1) * SCALE[word], 0, True
        elif word not in ("and", "a", "an"):
            return None
    return total + current if seen else None


def _qualify(q: Quantity, text: str) -> Quantity:
    before, after = text[max(0, q.start - 40) : q.start], text[q.end : q.end + 20]
    start, end = q.start, q.end
    approx = False
    if match := _APPROX.search(before):
        approx, start = True, q.start - (len(before) - match.start())
        before = before[: match.start()]
    compare = "eq"
    for pattern, op in _BEFORE:
        if match := pattern.search(before):
            compare, start = op, q.start - (len(before) - match.start())
            break
    else:
        for pattern, op in _AFTER:
            if match := pattern.match(after):
                compare, end = op, q.end + match.end()
                break
    unit, scale = q.unit, q.scale
    if not unit and (known := _unit_after(q, after)):
        unit, scale = known
    return replace(q, approx=approx, compare=compare, start=start, end=end, unit=unit, scale=scale)


def _unit_after(q: Quantity, after: str) -> tuple[str, float] | None:
    """The unit that stands right after a number. One letter is one only where it is attached or ends the phrase."""
    match = re.match(r"(?P<gap>[\s-]?)(?P<word>[A-Za-z]+)(?P<next>\s+\w+)?", after)
    if match is None or (match["word"].lower() in _NO_UNIT and q.value != 1):
        return None
    if len(match["word"]) == 1 and match["gap"] and match["next"]:
        return None
    return SCALED.get(match["word"].lower())


_NO_UNIT = frozenset(("second", "foot", "ton", "yard", "us"))


_BETWEEN = re.compile(r"\b(?:between|from|range[sd]?(?: from)?)\s*(?:the\s)?$", re.IGNORECASE)


_RANGE_WORDS = ("and", "to", "-", "–", "through", "until")


def _is_between(match: re.Match[str]) -> bool:
    return match.group().strip().lower().startswith("between")


def _join_ranges(items: list[Quantity], text: str) -> list[Quantity]:
    """`between 5 and 9`, `from 28 to 120`, `ranging 28 - 120` become one quantity."""
    out: list[Quantity] = []
    for q in items:
        low = out[-1] if out else None
        if low and low.compare == "eq" and q.compare == "eq":
            middle = text[low.end : q.start].strip().lower()
            before = text[max(0, low.start - 14) : low.start]
            match = _BETWEEN.search(before) if middle in _RANGE_WORDS else None
            if match and (middle in ("-", "–", "to") or _is_between(match) == (middle == "and")):
                start = low.start - (len(before) - match.start())
                unit = low.unit or q.unit
                out[-1] = replace(low, compare="between", high=q.value, start=start, end=q.end, unit=unit)
                continue
        out.append(q)
    return out
