"""Finds the phrases of a sentence that point back at something: "those 5,000 rows", "the hotel you found", "it".

Strategy: read from each pointing word to the end of its noun phrase; what the words mean is for `resolve`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .words import ORDINALS, stem, tokens, word_set


@dataclass(frozen=True, slots=True)
class Phrase:
    """`head` and `modifiers` are stems; no head: nothing is said of the type ("it", "those", "any other option")."""

    text: str
    weight: float
    head: str | None
    modifiers: tuple[str, ...] = ()
    ordinal: int | None = None
    """Counted from the oldest; 0 the oldest itself; -1 the latest; -2 the one before; -3 the one before the last."""
    count: int | None = None
    """A number said of the rows: "those 5,000 rows"."""
    plural: bool = False
    generic: bool = False
    """It has a noun that says nothing of the type: "result", "option"."""
    size: int = 0
    """1: the largest of its type is meant; -1: the smallest."""
    verb: str | None = None
    """What was done to get it: "the file you *read*"."""
    several: int = 0
    """So many whole results are meant: "both tables", "the last two searches"."""
    near: frozenset[str] = frozenset()
    """Stems that follow after a preposition and say which one is meant: "the flights *to Oslo*"."""
    literal: bool = False
    """`head` is the very name of a tool or file, not a word."""


_POINTING = word_set("that this those these")
_PLURAL = word_set("those these them they both all ones their")
_OTHER = word_set("other another more else different similar")
_PRONOUNS = word_set("it them they one ones its their itself")
_BEFORE = word_set("previous prior earlier preceding")
_LATEST = word_set("last latest recent newest")
_GENERIC = word_set(
    "result output response answer datum data thing stuff one option variant alternative choice item suggestion "
    "recommendation info information detail entry list selection possibility finding something anything "
    "kind type sort example dataset set tool call"
)
_TIMES = word_set(
    "day date time week weekend month year hour minute morning afternoon evening night noon today tomorrow moment way "
    "case point while same rest top bottom end start beginning trend difference reason question"
)
"""Heads that point at a time or at nothing: never at a result."""
_STOP = word_set(
    "i you we he she it they them me us is are was were be been am do does did done has have had can could will would "
    "should may might must shall to of for from in on at by with about into over under after before between during "
    "and or but so if then than because as not no yes please now too also though again ok okay thanks thank just only "
    "very really seems seem sounds sound looks look works work who which that what when where why how whose there here "
    "this those these the a an any some my your our their its his her let lets go get found find mentioned suggested "
    "told showed shown said gave given isn't don't doesn't didn't can't won't i'd i'll i'm it's that's let's "
    "earlier previously above below back out up down off per each every both all . ? ! , ; : ( )"
)
_MENTIONED = word_set("you we i it they")
OLDEST = 0
_LARGEST = word_set("largest biggest longest big large huge long")
_SMALLEST = word_set("smallest shortest tiny")
_OLDEST = word_set("oldest earliest")
_COUNTING = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = {word: number for number, word in enumerate(_COUNTING, 2)}
_WHOLE = word_set(
    "result output response answer list listing table query file search log call report document page dataset"
)
"""Nouns that call a result as a whole, so that several of them are several results."""
_FIGURES = word_set("number value figure count total amount rate percentage")
"""What stands in a result: of which one, the words after it say."""
_DONE = word_set("all it fine great good ok okay right enough correct wrong perfect")
""""That is all" points at nothing."""
_WHICH = word_set("to for in on about of from with by at")
_PARTS = word_set("row line column record cell field header")
"""Counted within a result: "the first row" says nothing of which table."""
_INSIDE = word_set("in of from on within inside")
_TALK = word_set("session conversation chat discussion")
_CLOCK = word_set("time day date year month late early hot cold")
"""\"What time is it?\" points at nothing."""
_FAILED = word_set("failed fails fail failing crashed crashes broke breaks errored")
_PAST = {"found": "find", "ran": "run", "got": "get", "wrote": "write", "made": "make", "sent": "send", "gave": "give"}


def find_phrases(sentence: str) -> tuple[Phrase, ...]:
    """Every pointing phrase, in order of the sentence."""
    words = tokens(sentence)
    found: list[Phrase] = []
    at = 0
    while at < len(words):
        phrase, at = _phrase_at(words, at)
        if phrase is not None:
            found.append(phrase)
    return tuple(found)


def phrase_of(text: str) -> tuple[Phrase, ...]:
    """The phrases of a bare reference, which need not begin with a pointing word: "failing log"."""
    return find_phrases(text) or find_phrases(f"the {text}")


def _phrase_at(words: list[str], at: int) -> tuple[Phrase | None, int]:
    word = words[at]
    if word in ("any", "one", "all", "both", "some", "none", "each") and words[at + 1 : at + 2] == ["of"]:
        return None, at + 2
    if word in ("that", "that's") and _DONE.intersection(words[at + 1 : at + 3]) and _is_idiom(words, at):
        return None, at + 2
    if word == "both" or (word == "all" and words[at + 1 : at + 2] and words[at + 1] in _NUMBERS):
        phrase, end = _noun_phrase(words, at + 1 + (words[at + 1 : at + 2] == ["the"]), [word], 0.9)
        return (phrase, end) if phrase is not None and phrase.several else (None, at + 1)
    if word in ("it", "that", "this") and _FAILED.intersection(words[at + 1 : at + 2]):
        return Phrase(f"{word} {words[at + 1]}", 0.5, "failing"), at + 2
    if word in _POINTING:
        return _after_pointer(words, at)
    if word == "the" or word in ("my", "your", "our"):
        return _noun_phrase(words, at + 1, words[at : at + 1], 0.6)
    if word in _OTHER and word != "else":
        return _noun_phrase(words, at, [], 0.8)
    if (word in _BEFORE or word in _LATEST) and word != "earlier":
        if words[at + 1 : at + 2] == [] or words[at + 1] in _STOP:
            return None, at + 1  # "who came last?"
        return _noun_phrase(words, at, [], 0.9)
    if word in ("anything", "something") and words[at + 1 : at + 2] == ["else"]:
        return Phrase(f"{word} else", 0.6, None, plural=True), at + 2
    if word == "it" and words[at - 1 : at] in (["is"], ["was"]) and words[max(0, at - 2)] in _CLOCK:
        return None, at + 1
    if word in _PRONOUNS:
        numeral = word == "one" and at + 1 < len(words) and words[at + 1] not in _STOP
        return (None if numeral else Phrase(word, 0.3, None, plural=word in _PLURAL)), at + 1
    return None, at + 1


def _is_idiom(words: list[str], at: int) -> bool:
    """Whether "that is fine" is all that is said there, and no more of it."""
    end = at + (2 if words[at] == "that's" else 3)
    verb = words[at] == "that's" or words[at + 1 : at + 2] in (["is"], ["was"], ["looks"], ["sounds"])
    return verb and (end >= len(words) or not words[end][0].isalpha() or words[end] in ("for", "then", "now", "so"))


def _after_pointer(words: list[str], at: int) -> tuple[Phrase | None, int]:
    following = words[at + 1] if at + 1 < len(words) else "."
    if words[at] == "that" and following in _MENTIONED:
        return None, at + 1  # "the hotel that you found": the clause belongs to the noun before it
    phrase, end = _noun_phrase(words, at + 1, [words[at]], 1.0)
    if phrase is None and following in _STOP:
        return Phrase(words[at], 0.4, None, plural=words[at] in _PLURAL), at + 1
    return phrase, end


def _noun_phrase(words: list[str], at: int, before: list[str], weight: float) -> tuple[Phrase | None, int]:
    end, owned = at, None
    while end < len(words) and (words[end] not in _STOP or (end == at and words[end] in _BEFORE)) and end - at < 6:
        if words[end] in _FAILED and end > at and words[end - 1] not in _LATEST | _BEFORE | ORDINALS.keys():
            break  # "the query failed": not "the last failed query"
        if words[end].endswith("'s"):
            owned = owned or [*words[at:end], words[end][:-2]]  # "the log's first line": of the log
        end += 1
    core = owned or words[at:end]
    if not core:
        return None, at
    made = _read_core([*before, *words[at:end]], core, weight)
    if made is None:
        return None, end
    made = _counted_from_end(words, end, made)
    made, end = _with_owner(words, end, made)
    made = _with_clause(words, end, _within(words, end, made))
    return replace(made, near=_said_after(words, end)), end


def _said_after(words: list[str], end: int) -> frozenset[str]:
    """The words after a preposition that follows, up to where something else begins."""
    if not set(words[end : end + 1]) & _WHICH:
        return frozenset()
    start = end + 1 + (words[end + 1 : end + 2] in (["the"], ["a"], ["an"]))
    stop = next((i for i in range(start, len(words)) if words[i] in _STOP), len(words))
    return frozenset(stem(word) for word in words[start : min(stop, start + 3)] if word[0].isalpha())


def _counted_from_end(words: list[str], end: int, phrase: Phrase) -> Phrase:
    """ "The result before last"."""
    if words[end : end + 2] not in (["before", "last"], ["but", "one"]):
        return phrase
    return replace(phrase, ordinal=-3, weight=max(phrase.weight, 0.9))


def _within(words: list[str], end: int, phrase: Phrase) -> Phrase:
    """ "The second file in that listing": counted within what follows, which is the result that is meant."""
    if phrase.head is None or phrase.ordinal is None or not set(words[end : end + 1]) & _INSIDE:
        return phrase
    if not set(words[end + 1 : end + 2]) & (_POINTING | {"the", "my", "your", "our"}):
        return phrase
    inner, _ = _noun_phrase(words, end + 2, [], 0.0)
    if inner is None or inner.head is None or inner.head in _TALK:
        return phrase
    return replace(phrase, ordinal=None, weight=0.6)


def _read_core(said: list[str], core: list[str], weight: float) -> Phrase | None:
    ordinal, count, size, nouns, other, several = None, None, 0, [], False, 2 if said[0] == "both" else 0
    for word in core:
        if word in _NUMBERS:
            several = _NUMBERS[word]
            continue
        if word in _LARGEST | _SMALLEST:
            size = 1 if word in _LARGEST else -1
        elif word in _OLDEST:
            ordinal = OLDEST
        elif word in ORDINALS and ordinal is None:
            ordinal = ORDINALS[word]
        elif word in _BEFORE:
            ordinal = -2
        elif word in _LATEST:
            ordinal = -1
        elif word in _OTHER:
            other = True
        elif word[0].isdigit():
            count = _number(word)
        elif word != "most":
            nouns.append(word)
    if other and said[0] == "the" and nouns and stem(nouns[-1]) == nouns[-1]:
        ordinal = ordinal or -2
    if ordinal is not None or other:
        weight = max(weight, 0.9)
    if not nouns and ordinal is None and count is None and not other and not size:
        return None
    stems = [stem(word.removesuffix("'s").removesuffix("'")) for word in nouns]
    if stems and stems[-1] in _TIMES:
        return None
    plural = any(word in _PLURAL for word in said) or bool(nouns and stems[-1] != nouns[-1])
    typed = [one for one in stems if one not in _GENERIC]
    head = typed[-1] if typed else None
    generic = len(typed) < len(stems)
    if head in _PARTS and ordinal is not None:
        ordinal, weight = None, min(weight, 0.6)
    if not (several and nouns and plural and stems[-1] in _WHOLE):
        several = 0
    return Phrase(
        " ".join(said), weight, head, tuple(typed[:-1]), ordinal, count, plural, generic, size, several=several
    )


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words that say what a sentence is about."""
    words = (word for word in tokens(text) if word[0].isalpha() and word not in _STOP | _PRONOUNS | _OTHER)
    return frozenset(one for one in map(stem, words) if one not in _GENERIC and one not in _TIMES)


def _with_owner(words: list[str], end: int, phrase: Phrase) -> tuple[Phrase, int]:
    """ "the output of git log": a noun that says nothing takes its type from what follows."""
    figure = phrase.head in _FIGURES and not phrase.modifiers
    if (phrase.head is not None and not figure) or words[end : end + 1] not in (
        ["of"], ["from"], ["for"], ["by"], ["in"],
    ):  # fmt: skip
        return phrase, end
    if phrase.head is None and words[end] == "in":
        return phrase, end
    start = end + 1
    while start < len(words) and words[start] in ("the", "a", "an", "that", "this", "those", "these", "my"):
        start += 1
    inner, after = _noun_phrase(words, start, [], phrase.weight)
    if inner is None or inner.head is None:
        return phrase, end
    return replace(phrase, head=inner.head, modifiers=inner.modifiers, text=f"{phrase.text} of {inner.text}"), after


def _with_clause(words: list[str], end: int, phrase: Phrase) -> Phrase:
    """ "the hotel (that) you found": said to have been seen before; "the query failed": one that did."""
    if phrase.head is not None and set(words[end : end + 1]) & _FAILED:
        return replace(phrase, modifiers=(*phrase.modifiers, "failing"))
    at = end + 1 if words[end : end + 1] in (["that"], ["which"], ["who"]) else end
    rest = words[at : at + 2]
    if rest[:1] and rest[0] in _MENTIONED and (len(rest) < 2 or rest[1] not in ("can", "could", "will", "would")):
        done = [word for word in words[at + 1 : at + 3] if word not in ("just", "already", "have", "had")]
        return replace(phrase, weight=max(phrase.weight, 1.0), verb=bare_verb(done[0]) if done else None)
    if words[end : end + 1] in (["earlier"], ["before"], ["above"], ["previously"]) or rest == ["from", "before"]:
        return replace(phrase, weight=max(phrase.weight, 1.0))
    return phrase


def bare_verb(word: str) -> str:
    """The bare form of a verb in the past: `listed` → `list`, `queried` → `query`, `found` → `find`."""
    if word.endswith("ied"):
        return word[:-3] + "y"
    return _PAST.get(word, word[:-2] if len(word) > 4 and word.endswith("ed") else word)


def _number(word: str) -> int | None:
    digits = word.replace(",", "")
    return int(digits) if digits.isdigit() and len(digits) < 16 else None
