"""Is this text an error message as a whole? A log or page that only mentions errors is not.

An error text starts like one and goes on like one (a trace, a hint, indented lines); or it ends in one.
"""

from __future__ import annotations

import re

from .fault_pages import STATUS, is_page, page_fault

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_MOST_LINES = 400
_SHORT = 600
_HEAD = 2_000
_FIRST_LINE = 400

_DOING = (
    "executing|invoking|calling|running|processing|parsing|reading|opening|fetching|getting|creating|loading|connecting"
    "|sending|writing|searching|querying|retrieving|updating|deleting|performing|accessing|validating|handling|listing"
    "|from|in|near|while|when|during|on|at|code|message|response|occurred"
)
_PROGRAM = r"(?:[\w./\\-]{1,80}: (?:line \d+: )?)?"
_STARTS = (
    # `Database error: …`, `Error executing tool x: …`, `API error (429): …`
    rf"{_PROGRAM}(?:an? |the )?(?:[\w-]+ ){{0,3}}?(?:errors?|exception|fatal|failure)"
    rf"(?: (?:{_DOING})\b[^:\n]{{0,120}})?(?: ?\([^)\n]{{0,80}}\))? ?(?::| - )",
    # `psql:file.sql:1: ERROR:  …`
    r"[\w./\\<>-]{1,80}:[\w./\\<>-]{0,80}:?\d+: (?-i:ERROR|FATAL): ",
    # `requests.exceptions.HTTPError: …`, `TypeError [ERR_X]: …`
    r"[\w.]{0,120}(?:Error|Exception|Fault|Errno)\b ?(?:\[[^]\n]{0,60}\]|\([^)\n]{0,200}\))? ?(?::|$)",
    r"an? (?:\w+ ){0,2}error (?:has )?occurred",
    r"mcp error -?\d+",
    r"error executing tool",
    r"error +(?:[A-Z]{1,4}-?\d{2,6}|no|number|-?\d+)\b",
    r"npm (?:err!|error)",
    r"panic: ",
    r"thread '[^'\n]{0,80}' (?:\(\d+\) )?panicked at ",
    r"traceback \(",
    r"segmentation fault",
    r"unhandled (?:promise )?(?:rejection|exception|error)",
    r"uncaught (?:\w+ )?(?:error|exception)",
    r"exception in thread ",
    r"curl: \(\d+\)",
    r"#{1,4} *error *$",
    r"http/\d(?:\.\d)? [45]\d\d",
    rf"(?:http(?: status)?(?: code)? ?:? ?)?[45]\d\d ?[:-]? ?(?:{STATUS})",
    r"(?:the )?(?:command|request|query|operation|tool|call|execution|build|compilation) (?:has )?(?:failed|timed out)",
)
_START = re.compile(rf"(?:{'|'.join(_STARTS)})", re.I)
_SHORT_STARTS = (
    r"(?:failed|unable) to\b",
    r"(?:could|can|did|does)(?: not|n['’]t|not) \w+",
    r"cannot\b",
    r"(?:access|permission)(?: is)? denied",
    r"(?:unauthori[sz]ed|forbidden|not found)\b",
    r"not (?:authenticated|authori[sz]ed|permitted|allowed)\b",
    r"authentication (?:failed|required)",
    r"invalid [\w -]{1,60}(?::|\.?$| ['\"`])",
    r"unknown (?:tool|command|option|argument|host|resource|method)\b",
    r"unrecognized (?:option|argument|command)",
    r"missing (?:required )?(?:argument|parameter|field|property|option)",
    r"no such ",
    r"(?:request|operation|connection) (?:timed out|timeout|refused|reset|failed)",
    r"timed? ?-?out\b",
    r"syntax error",
    r"rate limit exceeded",
    r"\[error\] ",
    r"(?-i:ERROR )",
)
_SHORT_START = re.compile(rf"{_PROGRAM}(?:{'|'.join(_SHORT_STARTS)})", re.I)
_THINGS = (
    "tool|user|file|path|resource|page|item|session|channel|repository|order|record|object|key|table|column|flight"
    "|product|account|module|package|directory|project|issue|branch|document|database|entity|node|id"
)
_SHORT_END = re.compile(
    r"(?:no such file or directory|command not found|permission denied|connection refused|operation not permitted"
    r"|access is denied|is not recognized as .{0,200}|\bconnection\b.{0,80}\brefused\b.{0,100}"
    r"|not a directory|is a directory|file exists|timed out"
    rf"|\b(?:{_THINGS})\b[^\n]{{0,120}}\b(?:not found|does not exist|doesn't exist))[.!]?$",
    re.I,
)
_NO_ERROR = re.compile(
    r"(?:no|0|zero|without)\s+(?:\w+\s+)?(?:error|exception|failure)"
    r"|[^:\n]{0,60}:\s*(?:[\d.,%/]+ ?\w{0,3}|none|no|false)?\s*$",
    re.I,
)
_GOES_ON = re.compile(
    r"\s|at\b|line \d|(?:hint|details?|context|where|statement|query|note|help|location|code|status|message|reason):"
    r"|caused by|call log|in \w|file \"|[\^~<{}\].|]|[-=*]{3,}$|-->|\d+ \||\d+\.|[-*] |\[sql|\[param|\(?background on"
    r"|usage:|try |see |use |run |please|possible|expected|received|got |valid |available |did you mean|for more|if you"
    r"|traceback|the above exception|during handling|stack|error|fatal|npm (?:err|error)|exit(?:ed)? |request|response"
    r"|[\w.]+(?:error|exception)\b|this |you |[a-z]",
    re.I,
)
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d|\w{3} +\d{1,2} \d\d:\d\d|level=|ts=|time="
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING)\]?[ :\]])",
    re.I,
)
_TRACE_HEAD = re.compile(r"(?m)^(?:[ \t|]*|.{0,80}> )Traceback \(most recent call last\):")
_TRACE_END = re.compile(
    r"[\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Failure|Iteration|Timeout|DoesNotExist|NotFound)\b"
)
_TRACE_AT = re.compile(
    r"(?m)^(?:Uncaught |Exception in thread [^\n]{0,80}? |Caused by: )?[\w.$]{0,120}(?:Error|Exception)\b[^\n]*\n"
    r"(?:[^\n]*\n){0,3}?[ \t]+at "
)


def text_fault(text: str) -> str | None:
    """The error message (the text itself, bounded by the caller), or None."""
    head = strip_ansi(text[:_HEAD]).strip("\ufeff \t\r\n")
    if not head:
        return None
    if is_page(head):
        return page_fault(text)
    lines = [line for line in _unframed(strip_ansi(text[: 200 * _MOST_LINES]).strip()).splitlines() if line.strip()]
    if not lines:  # nothing but separators that count as blanks (U+001C and the like)
        return None
    if len(lines) > _MOST_LINES:
        return text if _ends_in_traceback(text) else None
    if _starts_as_error(lines, len(text)) and _goes_on_as_error(lines):
        return text
    return text if _ends_as_error(lines, len(text)) or _ends_in_traceback(text) else None


def strip_ansi(text: str) -> str:
    """Without terminal escapes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _unframed(text: str) -> str:
    """Without the bar at the left that sets a message off."""
    return re.sub(r"(?m)^[╷│╵┃] ?", "", text) if text[:1] in "╷│┃" else text


def _starts_as_error(lines: list[str], size: int) -> bool:
    first = lines[0][:_FIRST_LINE].strip().lstrip("❌✗✖⚠️🚫⛔ ").strip()
    bare = re.sub(r"^[*_`>\[( ]{1,4}|[*_`]{1,2}(?=:)", "", first)
    if _START.match(first) or _START.match(bare):
        return _NO_ERROR.match(first) is None or (len(lines) > 1 and first.endswith(":"))
    if size > _SHORT or len(lines) > 6:
        return False
    if first[:1] == "[" and len(lines) > 1:
        return False
    return bool(_SHORT_START.match(first) or (len(lines) == 1 and len(first) <= 300 and _SHORT_END.search(first)))


def _goes_on_as_error(lines: list[str]) -> bool:
    """A log that happens to start with a red line has timestamps and other levels in what follows."""
    rest = lines[1:]
    if not rest:
        return True
    if any(_LOG_LINE.match(line) for line in rest[:50]):
        return False
    alike = sum(1 for line in rest if _GOES_ON.match(line[:200]))
    return alike >= 0.6 * len(rest) or (len(rest) <= 4 and sum(map(len, rest)) <= _SHORT)


def _ends_as_error(lines: list[str], size: int) -> bool:
    """A few lines of a command that stopped: the last one says why."""
    last = lines[-1][:_FIRST_LINE]
    if len(lines) > 12 or size > 2 * _SHORT or any(_LOG_LINE.match(line) for line in lines):
        return False
    return re.match(r"(?:[\w./-]{1,40}: )?(?:fatal )?error: ", last, re.I) is not None and not _NO_ERROR.match(last)


def _ends_in_traceback(text: str) -> bool:
    if "    at " in text and len(text) <= 20_000 and _TRACE_AT.search(text):
        last = text.rstrip().rsplit("\n", 1)[-1]
        if re.match(r"\s+at |\s*\.\.\. \d+ more|Node\.js v|\}", last) and not _LOG_LINE.match(text.lstrip()):
            return True
    tail = strip_ansi(text[-20_000:]).rstrip()
    headed = _TRACE_HEAD.search(tail) or _TRACE_HEAD.match(text)
    if not headed or not _TRACE_END.match(tail.rsplit("\n", 1)[-1].strip()[:_FIRST_LINE]):
        return False
    before = [line for line in strip_ansi(text[:20_000]).splitlines()[:40] if line.strip()]
    return not (before and _LOG_LINE.match(before[0]))
