"""Is this page or XML document an error message as a whole, and what does it say?"""

from __future__ import annotations

import html
import re

STATUS = (
    "bad request|unauthori[sz]ed|forbidden|not found|method not allowed|not acceptable|request timeout|conflict|gone"
    "|too many requests|internal server error|not implemented|bad gateway|service unavailable|gateway time-?out"
    "|client error|server error|unprocessable entity|payment required"
)
_MOST, _LONGEST = 60_000, 1_000
_PAGE = re.compile(r"\s*[\"']?(?:<!doctype html|<html|<head|<\?xml|<error\b|<center>|<[\w-]{1,20}:envelope\b)", re.I)
_XML = re.compile(r"\s*[\"']?(?:<\?xml|<error\b|<[\w-]{1,20}:envelope\b)(?!.{0,300}<html)", re.I | re.S)
_FAULT = re.compile(r"<(?:[\w-]{1,20}:)?(?:Fault|ServiceExceptionReport|ExceptionReport)[\s>]")
_LEAF = re.compile(r"<([\w:.-]{1,60})(?:\s[^<>]{0,500})?>([^<]{1,2000})</\1\s*>")
_HIDDEN = re.compile(r"<(script|style|title|svg)\b.{0,20000}?</\1\s*>|<!--.{0,5000}?-->", re.I | re.S)
_HEADING = re.compile(r"<(title|h1|h2|code|message)\b[^>]{0,200}>(.{0,300}?)</\1>", re.I | re.S)
_HEADED = re.compile(
    rf"\b[45]\d\d\b[^a-z]{{0,5}}(?:error|{STATUS}|$)"
    rf"|^\W*(?:error\b.{{0,40}}|access denied|page not found|server error.{{0,40}}|{STATUS}"
    r"|attention required.{0,60}"
    r"|nosuch\w+|accessdenied|just a moment\W*)\W*$",
    re.I,
)


def is_page(head: str) -> bool:
    """Whether a text begins as a page or an XML document does."""
    return _PAGE.match(head) is not None


def page_fault(text: str) -> str | None:
    """What a page says whose title or first heading is an HTTP error, or an XML document that is a fault; else None."""
    if len(text) > _MOST:
        return None
    if _XML.match(text) and _FAULT.search(text[:4_000]):
        return _leaves(text) or None
    for found in _HEADING.finditer(text[:20_000]):
        words = re.sub(r"<[^>]{0,200}>", " ", found[2]).strip()
        if _HEADED.search(words):
            said = _leaves(text) if _XML.match(text) else _seen(text)
            return said if words in said and len(said) <= _LONGEST else words
        if found[1].lower() == "h1":
            break
    return None


def _leaves(text: str) -> str:
    """`Code: AccessDenied`: the elements of an XML document that hold a text."""
    found = [(name.rpartition(":")[2], html.unescape(said).strip()) for name, said in _LEAF.findall(text)]
    return "\n".join(f"{name}: {said}" for name, said in found if said)[: 2 * _LONGEST]


def _seen(text: str) -> str:
    """What a reader of a page sees, each line once."""
    lines = re.sub(r"<[^>]{0,2000}>", "\n", _HIDDEN.sub("", text)).splitlines()
    spoken = (" ".join(html.unescape(line).split()) for line in lines)
    return "\n".join(dict.fromkeys(line for line in spoken if line))
