"""Words of a claim and of a cell on common ground: tokens, folded forms, stems, light words. Knows no grammar."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_TOKEN = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s)>\]\"']+|(?:[^\W\d_]\.){2,}|"
    r"\d+(?:[.,:]\d+)*(?![^\W_])|[^\W_]+(?:['’][^\W\d_]+)*|[^\w\s]|_"
)
_MARKUP = re.compile(r"\[/?[A-Z]{3,}\]|</?[A-Za-z]{1,10}>|\*\*|__")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPACED_CLITIC = re.compile(r"(\w) ?n ['’]t\b|(\w) ['’](s|t|re|ve|ll|d)\b")


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or mark of a text; `low` is folded to lower-case ASCII-like form, `stem` loses inflection."""

    text: str
    low: str
    stem: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        return self.low[:1].isdigit() and self.low[-1:].isdigit() and not any(c.isalpha() for c in self.low)

    @property
    def is_word(self) -> bool:
        return self.low[:1].isalnum() and not self.is_number


@lru_cache(maxsize=65536)
def fold(text: str) -> str:
    """Lower-case, without accents and typographic variants."""
    if text.isascii():
        return text.lower()
    text = text.replace("’", "'").replace("‘", "'").replace("–", "-").replace("—", "-").replace("−", "-")
    text = unicodedata.normalize("NFKD", text)
    return "".join(c for c in text if not unicodedata.combining(c)).lower()


IRREGULAR = {
    "men": "man", "women": "woman", "children": "child", "people": "person", "countries": "country",
    "won": "win", "lost": "lose", "ran": "run", "held": "hold", "drew": "draw", "drawn": "draw", "went": "go",
    "got": "get", "took": "take", "taken": "take", "made": "make", "gave": "give", "given": "give", "began": "begin",
    "begun": "begin", "left": "leave", "built": "build", "wrote": "write", "written": "write", "sold": "sell",
    "bought": "buy", "using": "use", "used": "use", "uses": "use", "paid": "pay", "spent": "spend", "found": "find",
    "had": "have", "has": "have", "led": "lead",
    "opened": "opened",  # what was opened need not be open
    "indices": "index", "analyses": "analysis", "data": "data", "series": "series", "status": "status",
}  # fmt: skip


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Rough singular and infinitive, alike for the forms of one word; numbers and short words stay."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 4 or not word[0].isalpha() or not word.isascii():
        return word
    word = word.removesuffix("'s")
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "ches", "shes", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("ing") and len(word) > 6:
        word = word[:-3]
    elif word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("ed") and len(word) > 5:
        word = word[:-2]
    if len(word) > 4 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


def clean(text: str) -> str:
    """Text without markup that is no part of what it says (bold marks, tags)."""
    return _MARKUP.sub(" ", text) if any(c in text for c in "[<*_") else text


def tokens(text: str) -> list[Token]:
    """Words, numbers and marks of a text, in order. Thousands separators are taken out of numbers."""
    out = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        low = fold(word) or word
        if len(low) > 3 and low[1] == "." and low[-1] == ".":
            low = low.replace(".", "")
        if low[:1].isdigit() and "," in low:
            low = _plain_number(low)
        out.append(Token(word, low, stem(low), match.start(), match.end()))
    return out


def _plain_number(text: str) -> str:
    return text.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{2,3})+(\.\d+)?", text) else text


def rejoin(text: str) -> str:
    """A text whose tokens were set apart by spaces, as some data is, written the usual way."""
    text = re.sub(r"\s{2,}", " ", text)
    text = _SPACED_CLITIC.sub(lambda m: f"{m[1]}n't" if m[1] else f"{m[2]}'{m[3]}", text)
    return re.sub(r"\b([A-Za-z])\.([A-Za-z]) \.", r"\1.\2.", text)


@lru_cache(maxsize=65536)
def keys(text: str) -> tuple[str, ...]:
    """A cell or phrase as the words and numbers it is compared by: the folded words of `tokens`, marks left out."""
    if text.isascii() and not any(c in text for c in ",.[<*_"):
        return tuple(w.lower() for w in _TOKEN.findall(text) if w[0].isalnum())
    return tuple(t.low for t in tokens(clean(text)) if t.low[0].isalnum())


@lru_cache(maxsize=65536)
def stems(text: str) -> tuple[str, ...]:
    """Like `keys`, of stems."""
    return tuple(stem(k) for k in keys(text))


def split_camel(text: str) -> str:
    """`devDependency` as two words; what has no such joint as it is."""
    return _CAMEL.sub(" ", text)


def name_words(name: str) -> tuple[str, ...]:
    """Words of a column name or key: `orderTotal_usd` -> order, total, usd (stems)."""
    return stems(_CAMEL.sub(" ", clean(name).replace("_", " ").replace(".", " ").replace("-", " ")))


def word_list(text: str) -> list[str]:
    """The words of a list written as one text, which reads better than as many literals."""
    return text.split()


STOP = frozenset(
    word_list(
        """a an the this that these those it its it's they them their theirs he she his her him hers we our us you
        your i my me is are was were be been being am 's do does did has have had having will would shall
        should can could may might of in on at by for to from with within into onto as and or but so also too
        then there here which who whom whose what when where while how if than both either neither each every
        all any some no not n't only just even still already about over under up out off per via through during
        between among against after before since until upon such same other another others else own very more
        most less least fewer fewest much many several few own rather because due given including include
        included let that's there's he's she's i've we've you've i'd we'd you'd i'm one ones them themselves
        itself himself herself having well now today currently back yes okay ok please sorry re ve ll d s t etc
        eg ie vs respectively overall total"""
    )
)
"""Words that say how things relate; what they mean is read by the frames, so none needs a counterpart in the data."""

LIGHT = frozenset(
    stem(w)
    for w in word_list(
        """have make take get give go come become show list return report contain consist comprise include appear
        exist occur happen hold keep put set see find locate look know call name title entitle label record
        register note state say tell mention describe give provide offer produce yield display present feature
        represent belong remain receive achieve reach obtain earn gain attain acquire play compete participate
        perform serve act work use run be base place situate found establish build construct open start begin
        launch end finish complete stop close follow lead precede succeed compare relate correspond associate
        match meet fit equal amount sum number count value figure level rate quantity item row record entry
        result case instance time occasion example data dataset table response output answer query search
        request call tool list available various different certain particular specific respective corresponding
        overall entire whole full single individual separate kind type sort form way thing part portion group
        set side end member person people participant player individual someone anyone everyone accord based
        actual actually exact exactly precisely really indeed fact approximately roughly nearly almost around
        just least most currently previously recently finally initially originally later early recent previous
        next following first last second third total average maximum minimum high low large small big great
        little long short good bad best worst new old young likely able want like need interest recommend
        suggest option choice find found nice great consider think opinion try enjoy prefer match meet fit
        criterion request requirement preference need suit see here below above follow order course total attend score
        post hit throw bat bear born work go come travel spend cost pay charge price"""
    )
)
"""Stems of words so general that they need no counterpart in the data either."""
