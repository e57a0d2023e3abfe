"""Words: splitting names and sentences into them, bare stems, and a compact general thesaurus. Knows no entries."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d[\d,.]*\d|\d+(?:st|nd|rd|th)?|[.?!,;:()]", re.IGNORECASE)
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+")


FILE_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z]\w{0,7}", re.IGNORECASE)
"""`app.log`, `notes.v2.md`."""


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as one text, which reads better than as many literals."""
    return frozenset(text.split())


def tokens(sentence: str) -> list[str]:
    """Lower-case words, numbers and punctuation of a sentence, in order; curly apostrophes as straight ones."""
    found = _WORD.findall(sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    return [word.lower() for word in found]


def stem(word: str) -> str:
    """A noun without its plural: `queries` → `query`, `buses` → `bus`, `tickets` → `ticket`."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-1] if word.endswith(("ases", "uses", "ises", "oses")) and word != "buses" else word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def name_parts(name: str) -> list[str]:
    """The words of an identifier in their order, whatever its style."""
    return [part for part in _NAME_PART.findall(name) if len(part) > 1]


def name_words(name: str) -> frozenset[str]:
    """Stems of the words in an identifier: `Hotels_4.SearchHotel` → hotel, search."""
    return frozenset(stem(part.lower()) for part in name_parts(name))


def text_words(texts: Iterable[str]) -> frozenset[str]:
    """Stems of the words in free text."""
    return frozenset(stem(word) for text in texts for word in tokens(text) if word[0].isalpha())


_GROUPS = (
    "event concert show performance gig festival theater theatre play game match",
    "movie film cinema picture",
    "song music track tune album",
    "flight plane airline airplane airfare",
    "bus coach",
    "train rail railway",
    "car vehicle automobile rental",
    "ride cab taxi",
    "hotel motel inn hostel lodging accommodation",
    "house home apartment flat condo property",
    "restaurant diner eatery cuisine",
    "attraction museum sight landmark travel",
    "weather forecast temperature climate",
    "payment transaction transfer",
    "account bank balance",
    "doctor physician dentist therapist psychologist psychiatrist provider",
    "stylist hairdresser hairstylist salon barber provider",
    "appointment booking reservation reserve book visit schedule",
    "alarm reminder",
    "meeting calendar appointment",
    "message email mail",
    "user customer client person contact",
    "order purchase",
    "price cost amount fare fee",
    "file document doc page",
    "listing directory folder",
    "read open view",
    "markdown md",
    "python py",
    "javascript js",
    "typescript ts",
    "yaml yml",
    "repo repository",
    "issue bug",
    "commit change diff",
    "query sql select database db",
    "picture image photo png jpg jpeg gif svg",
    "server host machine",
    "search lookup find",
    "metric stat status",
    "calculation computation calculate compute math",
)
_WIDER = {
    "ticket": "event movie flight bus train issue",
    "trip": "flight bus train travel ride",
    "journey": "flight bus train",
    "seat": "flight bus train event movie",
    "room": "hotel",
    "stay": "hotel house",
    "place": "hotel restaurant attraction house",
    "venue": "event",
    "spot": "restaurant attraction",
    "artist": "song event",
    "artwork": "image",
}
"""A word that belongs with several things which do not belong with each other."""


def _thesaurus() -> dict[str, frozenset[str]]:
    near: dict[str, frozenset[str]] = {}
    for group in _GROUPS:
        words = frozenset(group.split())
        for word in words:
            near[word] = near.get(word, frozenset()) | words - {word}
    for word, others in _WIDER.items():
        heads = others.split()
        near[word] = near.get(word, frozenset()).union(heads, *(near.get(head, ()) for head in heads))
    return near


NEAR = _thesaurus()
"""Stems that may stand for each other when results are described."""

ORDINALS = {
    word: number
    for number, words in enumerate(
        ("first 1st", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th", "sixth 6th", "seventh 7th", "eighth 8th"), 1
    )
    for word in words.split()
}
