"""Python's spelling of values (`[{'a': None}]`) -> JSON text, in one linear pass. Nothing is evaluated."""

from __future__ import annotations

import json
import re

_STRING = r"[bBuUrR]{0,2}'(?:[^'\\\n]|\\.)*(?:'|\Z)|[bBuUrR]{0,2}\"(?:[^\"\\\n]|\\.)*(?:\"|\Z)"
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})|(?P<call>[A-Za-z_][\w.]*\((?:[^()'\"]|{_STRING})*\))|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<key>-?\d[\d.]*(?=\s*:))|(?P<tail>,\s*(?=[)\]}]))|(?P<open>\()|(?P<close>\))|(?P<object><[^<>\n]{0,300}>)"
)
_WORDS = {
    "None": "null",
    "True": "true",
    "False": "false",
    "nan": "NaN",
    "inf": "Infinity",
    "NaN": "NaN",
    "Infinity": "Infinity",
}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{[^}]*\}|([0-7]{1,3})|(.))", re.S)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}
_MOMENT = re.compile(r"(?:datetime\.)?(?P<kind>datetime|date|time)\((?P<parts>[\d, ]+)(?:, tzinfo=.*)?\)")


class NotPython(Exception):
    """A word that stands for no value: the text is something else."""


def python_to_json(text: str) -> str | None:
    """The same value in JSON, or None where the text is something else. A text that was cut stays cut."""
    bare = text.lstrip()
    if bare[:1] not in "[({" or (
        "'" not in bare and "(" not in bare and "None" not in bare and "True" not in bare and "False" not in bare
    ):
        return None
    try:
        return _TOKEN.sub(_spell, text)
    except NotPython:
        return None


class PythonSpeller:
    """The same for a text that comes in pieces: feed them, get JSON text as far as it is certain."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> str:
        """Certain is what ends with a closed string and what may follow one. Raises NotPython."""
        text = self._rest + piece
        out: list[str] = []
        at = certain = parts = 0
        for found in _TOKEN.finditer(text):
            if found.end() == len(text):
                break
            out += (text[at : found.start()], _spell(found))
            at = found.end()
            if found.lastgroup == "string" and text[at] in ",:]})":
                certain, parts = at, len(out)
        self._rest = text[certain:]
        return "".join(out[:parts])

    def finish(self) -> str:
        rest, self._rest = self._rest, ""
        return _TOKEN.sub(_spell, rest)


def _spell(found: re.Match[str]) -> str:
    kind = found.lastgroup
    token = found.group()
    if kind == "string":
        if token[0] == "'" and token[-1] == "'" and len(token) > 1 and '"' not in token and "\\" not in token:
            return f'"{token[1:-1]}"'
        return _string(token)
    if kind == "word":
        if token not in _WORDS:
            raise NotPython(token)
        return _WORDS[token]
    if kind == "key":
        return f'"{token}"'
    if kind == "call":
        return _call(token)
    if kind == "object":
        return json.dumps(token)
    return {"open": "[", "close": "]"}.get(kind or "", "")


def _string(token: str) -> str:
    quote = min((at for at in (token.find("'"), token.find('"')) if at >= 0), default=0)
    mark = token[quote]
    closed = len(token) > quote + 1 and token.endswith(mark)
    body = token[quote + 1 : -1] if closed else token[quote + 1 :]
    if "\\" in body and "r" not in token[:quote].lower():
        body = _ESCAPE.sub(_unescape, body)
    spelled = json.dumps(body, ensure_ascii=False)
    return spelled if closed else spelled[:-1]


def _unescape(found: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if found[group]:
            code = int(found[group], base)
            return chr(code) if code <= 0x10FFFF else "\ufffd"
    if found[5] is None:
        return found.group()
    return _SIMPLE.get(found[5], found[5])


def _call(token: str) -> str:
    """`Decimal('1.5')` is a number, `datetime.date(2024, 1, 2)` a date, any other call its own text."""
    moment = _MOMENT.fullmatch(token)
    if moment:
        return json.dumps(_moment(moment["kind"], [int(part) for part in moment["parts"].split(",") if part.strip()]))
    name, _, rest = token.partition("(")
    inner = rest[:-1].strip()
    string = re.fullmatch(_STRING, inner)
    if string:
        text = json.loads(_string(inner))
        if name.endswith("Decimal") and re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", text):
            return str(text)
        return json.dumps(text, ensure_ascii=False)
    return json.dumps(token, ensure_ascii=False)


def _moment(kind: str, parts: list[int]) -> str:
    if kind == "date" and len(parts) == 3:
        return f"{parts[0]:04}-{parts[1]:02}-{parts[2]:02}"
    if kind == "time":
        return ":".join(f"{part:02}" for part in [*parts, 0, 0][:3])
    year, month, day, hour, minute, second, micro = ([*parts, 0, 0, 0, 0, 0, 0, 0])[:7]
    fraction = f".{micro:06}" if micro else ""
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}"
