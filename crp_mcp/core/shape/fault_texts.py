"""Is this text an error message as a whole? A log or page that only mentions errors is not.

An error text starts like one and goes on like one (a trace, a hint, indented lines); or it ends in a traceback.
"""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_MOST_LINES = 400
_SHORT = 600
_HEAD = 2_000

_START = re.compile(
    r"""(?xi)
    (?: [\w./\\-]{1,80} : \s (?: line \s \d+ : \s )? )?             # program: (line 3:)
    (?:
      (?: an? \s | the \s )? (?: [\w-]+ \s ){0,4}? (?: error | exception | fatal | failure ) s? (?: \s [\w.'"`\[\]/-]+ ){0,6}? \s* (?: \( [^)\n]{0,80} \) \s* )? (?: : | \s-\s | !\s*$ )
    | (?: \w+\. )* \w* (?: Error | Exception | Fault | Errno ) \b \s* (?: \[ [^]\n]{0,60} \] | \( [^)\n]{0,200} \) )? \s* (?: : | $ )
    | an? \s (?: \w+ \s ){0,2} error \s (?: has \s )? occurred
    | mcp \s error \s -?\d+
    | error \s executing \s tool
    | error \s+ (?: [A-Z]{1,4} -? \d{2,6} | code | no | number | -?\d+ ) \b
    | npm \s (?: err! | error ) | panic: | traceback \s \( | segmentation \s fault | unhandled \s (?: promise \s )? (?: rejection | exception | error )
    | uncaught \s (?: \w+ \s )? (?: error | exception )
    | curl: \s \( \d+ \)
    | \#{1,4} \s* error \s* $
    | http/\d(?:\.\d)? \s [45]\d\d
    | (?: http (?: \s status )? (?: \s code )? \s* :? \s* )? [45]\d\d \s* [:-]? \s* (?: bad \s request | unauthori[sz]ed | forbidden | not \s found | method \s not \s allowed | conflict | gone
        | too \s many \s requests | internal \s server \s error | bad \s gateway | service \s unavailable | gateway \s time-?out | client \s error | server \s error )
    | (?: the \s )? (?: command | request | query | operation | tool | call | execution ) \s (?: has \s )? (?: failed | timed \s out )
    )
    """,
)
_SHORT_START = re.compile(
    r"""(?xi)
    (?: failed | unable ) \s to \b | (?: could | can | did | does ) (?: \s not | n['’]t | not ) \s \w+ | cannot \b
    | (?: access | permission ) \s (?: is \s )? denied | unauthori[sz]ed \b | forbidden \b | not \s found \b | not \s authenticated | authentication \s (?: failed | required )
    | invalid \s [\w -]{1,60} (?: : | [.]? $ | \s ['"`] ) | unknown \s (?: tool | command | option | argument | host | resource | method ) \b | unrecognized \s (?: option | argument | command )
    | missing \s (?: required \s )? (?: argument | parameter | field | property | option ) | no \s such \s | connection \s (?: refused | reset | timed )
    | (?: request | operation | connection ) \s (?: timed \s out | timeout ) | timed? \s? -? out \b | syntax \s error | rate \s limit \s exceeded
    | [\w./-]{1,80} : \s [^:\n]{0,160} : \s (?: no \s such \s file \s or \s directory | permission \s denied | is \s a \s directory | not \s a \s directory | command \s not \s found | file \s exists )
    """,
)
_SHORT_END = re.compile(
    r"(?i)(?:no such file or directory|command not found|permission denied|connection refused|operation not permitted|access is denied"
    r"|is not recognized as .*|not a directory|is a directory|(?:tool|user|file|path|resource|page|item|session|channel|repository|order|record|object|key|table|column)\b[^\n]{0,120}\b(?:not found|does not exist|doesn't exist)|timed out)[.!]?$"
)
_GOES_ON = re.compile(
    r"(?i)\s|at\b|line \d|hint:|detail:|details:|context:|where:|statement:|query:|caused by|call log|in \w|file \"|\^|~|[-=*]{3,}$|usage:|try |see |run |use |run `|please|traceback|the above exception|during handling"
    r"|note:|help:|location:|stack|error|fatal|npm (?:err|error)|exit(?:ed)? |code:|status:|message:|reason:|request|response|\(?background on|\[sql|\[param|<|\{|\}|\]|\.\.\.|-->|\||\d+ \||[\w.]+(?:error|exception)\b|valid |available |did you mean|possible|expected|received|got |\d+\.|- |\* |for more|if you|this |you |[a-z]"
)
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d|\w{3} +\d{1,2} \d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING)\]?[ :\]]|level=|ts=|time=)",
    re.I,
)
_TRACE_HEAD = re.compile(r"(?m)^(?:[ \t|]*|.{0,80}> )Traceback \(most recent call last\):")
_TRACE_END = re.compile(
    r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Warning|Failure|Iteration|Timeout|DoesNotExist|NotFound)\b.*"
)
_PAGE = re.compile(r"(?is)\s*(?:\"|')?(?:<!doctype html|<html|<head|<\?xml|<error\b|<center>)")
_PAGE_HEADING = re.compile(r"(?is)<(title|h1|h2|code|message)\b[^>]{0,200}>(.{0,300}?)</\1>")
_PAGE_FAULT = re.compile(
    r"(?i)\b(?:4\d\d|5\d\d)\b[^a-z]{0,5}(?:error|bad|unauth|forbidden|not found|method|conflict|gone|too many|internal|service|gateway|$)|^\W*(?:error\b.{0,40}|forbidden|access denied|unauthori[sz]ed|not found|page not found|bad request"
    r"|bad gateway|service unavailable|internal server error|server error.{0,40}|gateway time-?out|too many requests|attention required.*|nosuch\w+|accessdenied|just a moment\W*)\W*$"
)


def text_fault(text: str) -> str | None:
    """The error message (the text itself, bounded by the caller), or None."""
    head = strip_ansi(text[:_HEAD]).strip("\ufeff \t\r\n")
    if not head:
        return None
    if _PAGE.match(head):
        return _page_fault(text)
    lines = [line for line in strip_ansi(text[: 200 * _MOST_LINES]).strip().splitlines() if line.strip()]
    if len(lines) <= _MOST_LINES and _starts_as_error(lines, text) and _goes_on_as_error(lines):
        return text
    if _ends_in_traceback(text):
        return text
    return None


def strip_ansi(text: str) -> str:
    """Without terminal escapes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _starts_as_error(lines: list[str], text: str) -> bool:
    first = lines[0].strip().lstrip("❌✗✖⚠️🚫 ").strip()
    bold = re.sub(r"^[*_`>#\[\( ]{1,4}|[*_`]{1,2}(?=:)", "", first)
    if len(first) <= 2_000 and (_START.match(first) or _START.match(bold)):
        return not re.match(r"(?i)(?:no|0|zero|without)\s+(?:\w+\s+)?error", first)
    if len(text) > _SHORT or len(lines) > 6:
        return False
    return bool(_SHORT_START.match(bold) or (len(lines) == 1 and len(first) <= 300 and _SHORT_END.search(first)))


def _goes_on_as_error(lines: list[str]) -> bool:
    """A log that happens to start with a red line has timestamps and other levels in what follows."""
    rest = lines[1:]
    if not rest:
        return True
    if any(_LOG_LINE.match(line) for line in rest[:50]):
        return False
    alike = sum(1 for line in rest if _GOES_ON.match(line) or _START.match(line))
    return alike >= 0.6 * len(rest) or (len(rest) <= 4 and sum(map(len, rest)) <= _SHORT)


def _ends_in_traceback(text: str) -> bool:
    tail = strip_ansi(text[-20_000:]).rstrip()
    heads = [found.start() for found in _TRACE_HEAD.finditer(tail)]
    if not heads or not _TRACE_END.match(tail.rsplit("\n", 1)[-1].strip()):
        return False
    before = [line for line in strip_ansi(text[:20_000]).splitlines()[:40] if line.strip()]
    return not (before and _LOG_LINE.match(before[0]))


def _page_fault(text: str) -> str | None:
    """An HTML or XML page whose title or first heading is an HTTP error."""
    if len(text) > 60_000:
        return None
    for found in _PAGE_HEADING.finditer(text[:20_000]):
        words = re.sub(r"<[^>]{0,200}>", " ", found[2]).strip()
        if _PAGE_FAULT.search(words):
            return words
        if found[1].lower() == "h1":
            break
    return None
