"""Runs `request_context`, `query_history` and `get_context_budget`: arguments in, pages out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crp_mcp.core.ages import iso_time
from crp_mcp.core.headers import HEADERS_KEY
from crp_mcp.core.model import CountTokens
from crp_mcp.errors import BadRequest
from crp_mcp.relay.using import Ask

from .answers import answer
from .arguments import Arguments
from .definitions import MAX_TOKENS, MAX_TOKENS_LIMIT

if TYPE_CHECKING:
    from crp_mcp.core.assemble.reply import Reply
    from crp_mcp.core.request.models import ContextRequest
    from crp_mcp.relay.context.budget import Budgets
    from crp_mcp.relay.context.history import Historian
    from crp_mcp.relay.context.requesting import Answer, Requester

FIELDS = (
    "query", "entities", "uko_types", "focus", "breadth", "depth", "depth_gradient", "temporal", "max_tokens",
    "preferred_strategies", "required_backends", "priority", "purpose", "as_of",
)  # fmt: skip
LISTS = ("entities", "uko_types", "focus", "preferred_strategies", "required_backends")
WRAPPER_TOKENS = 24
"""What is said of freshness and receipt around the assembled text."""


@dataclass(slots=True)
class ContextTools:
    """The Context Request Protocol's tools over one store and workspace."""

    requester: Requester
    historian: Historian
    budgets: Budgets
    headers: Callable[..., Mapping[str, str]]
    """Headers of an answer in a scope: what it used, tokens saved, its receipt."""

    def request_context(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        """Assembled context: our line, the text, and in `structuredContent` the rest of it without content."""
        values = {name: value for name in FIELDS if (value := given.value(name)) is not None}
        if (at := moment(given, "as_of")) is not None:
            values["as_of"] = datetime.fromtimestamp(at, UTC)
        if_hash, cursor = given.text("if_hash"), given.text("cursor", limit=100)
        given.done()
        request = parse_request(values)
        budget = self.budgets.for_request(ask, request)
        made = self.requester.request(ask, request, budget, cursor=cursor, if_hash=if_hash)
        result = context_answer(made, self.requester.counter().count, if_hash)
        return {**result, "_meta": {HEADERS_KEY: dict(self.headers(ask.scope, made.used, made.saved, made.receipt))}}

    def query_history(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        """A page of what happened, or what changed between two results of one call."""
        from crp_mcp.core.request.ladders import ladder_of
        from crp_mcp.relay.context import history

        depth = given.value("depth")
        asked = history.Ask(
            kind=given.text("kind"),
            query=given.text("query"),
            tools=tuple(given.texts("tools") or ()),
            scratch_id=given.text("scratch_id"),
            since=moment(given, "since"),
            until=moment(given, "until"),
            as_of=moment(given, "as_of"),
            include_superseded=given.flag("include_superseded") is not False,
            limit=given.whole("limit", 20, low=1, high=200),
            cursor=given.text("cursor"),
            newest_first=given.choice("order", ("newest", "oldest"), "newest") == "newest",
            depth=ladder_of("uko-tool:").resolve(2 if depth is None else depth),
        )
        max_tokens = given.whole("max_tokens", MAX_TOKENS, low=64, high=MAX_TOKENS_LIMIT)
        other = given.text("diff")
        given.done()
        if other is not None:
            return self._diff(ask, asked.scratch_id, other, max_tokens)
        page = self.historian.page(ask.scope, asked)
        shown, cursor = self._fit(page, max_tokens)
        what = (
            f"{len(shown)} found, {'newest' if asked.newest_first else 'oldest'} first" if shown else "nothing matches"
        )
        line = "; ".join(filter(None, (what, cursor and f"more with cursor {cursor}", page.withheld)))
        return answer(line, "\n".join(history.lines_of(shown)), {"cursor": cursor, "count": len(shown)})

    def _fit(self, page: Any, max_tokens: int) -> tuple[Any, str | None]:
        from crp_mcp.relay.context import history

        count, left = self.historian.counter().count, max_tokens - 2 * WRAPPER_TOKENS
        for number, line in enumerate(history.lines_of(page.items)):
            left -= count(line + "\n")
            if left < 0 and number:
                return page.items[:number], history.cursor_of(page.items[number - 1])
        return page.items, page.cursor

    def _diff(self, ask: Ask, scratch_id: str | None, other: str, max_tokens: int) -> dict[str, Any]:
        if scratch_id is None:
            raise BadRequest("query_history: `diff` needs the `scratch_id` of the other revision")
        text = self.historian.diff(ask.scope, scratch_id, other)
        cut = self.historian.counter().cut(text, max_tokens - WRAPPER_TOKENS)
        whole = "" if len(cut) == len(text) else f"; {len(text) - len(cut):,} characters more with max_tokens"
        return answer(f"{scratch_id} against {other}: " + (f"changed{whole}" if text else "no difference"), cut)

    def get_context_budget(self, given: Arguments, ask: Ask) -> dict[str, Any]:
        """What of the context window is used, by what, and what is left."""
        window = given.whole("max_tokens", -1, low=1)
        reserved = given.whole("reserved_tokens", 0)
        given.done()
        found = self.budgets.of(ask, None if window < 0 else window, reserved)
        return answer(found.line(), None, {**found.to_json(), "roots": list(map(str, self.requester.folders(ask)))})


def parse_request(values: dict[str, Any]) -> ContextRequest:
    """A request from a call's arguments, lenient where a model spells a number or a single name as text.

    Raises:
        BadRequest: it names the field and what is wrong with it.
    """
    from pydantic import ValidationError

    from crp_mcp.core.request.models import ContextRequest

    clean = dict(values)
    for name in LISTS:
        if isinstance(clean.get(name), str):
            clean[name] = [clean[name]]
    if isinstance(clean.get("temporal"), str):
        clean["temporal"] = clean["temporal"].upper()
    try:
        return ContextRequest.model_validate(clean)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "arguments"
        raise BadRequest(f"request_context: `{where}` {_fault(first)}") from None


_KINDS = {"int": "a whole number", "float": "a number", "string": "a string", "bool": "true or false", "list": "a list"}


def _fault(error: Mapping[str, Any]) -> str:
    """What is wrong with a field, in the words of our other tools."""
    if error["type"] == "enum":
        return f"must be one of {error['ctx']['expected']}".replace("'", "").replace(" or ", ", ")
    kind = _KINDS.get(error["type"].partition("_")[0])
    return f"must be {kind}" if kind else f"is refused: {error['msg'].removeprefix('Value error, ')}"


def context_answer(made: Answer, count: CountTokens, if_hash: str | None = None) -> dict[str, Any]:
    """The result for an assembly; `unchanged` where the caller has this very context already.

    A cursor is said in our line where there is room for it, since some hosts show a model the text alone.
    """
    reply = made.reply
    if if_hash is not None and if_hash == reply.context.context_hash:
        return answer("unchanged", None, {"unchanged": True, "context_hash": if_hash})
    line = reply.context.preamble or _of_little(reply)
    handles = reply.to_json(content=False)
    if made.cursor:
        handles["cursor"], more = made.cursor, f"more with cursor {made.cursor}"
        line, handles["total_tokens"] = _with(line, more, reply.context.total_tokens, reply.budget, count)
    said = list(made.said)
    if made.withheld:
        said.append(made.withheld)
        line, handles["total_tokens"] = _with(line, made.withheld, handles["total_tokens"], reply.budget, count)
    if made.receipt:
        handles["receipt"] = made.receipt
    if said:
        handles["said"] = said
    return answer(line, reply.text, handles)


def _with(line: str, more: str, total: int, budget: int, count: CountTokens) -> tuple[str, int]:
    """Our line with something more where there is room for it, and the tokens of the whole."""
    cost = total + count(f"; {more}")
    return (f"{line}; {more}", cost) if cost <= budget else (line, total)


def _of_little(reply: Reply) -> str:
    """Our line where there was no room for a preamble; it costs nothing beside a text."""
    if reply.text:
        return ""
    return "no budget, no context" if not reply.budget else "nothing fits" if reply.more else "nothing found"


def moment(given: Arguments, name: str) -> float | None:
    """A time as ISO 8601 or epoch seconds. Raises BadRequest."""
    value = given.value(name)
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC).timestamp()
        at = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        raise BadRequest(f"{name}: {str(value)[:40]!r} is no time; give ISO 8601, as {iso_time(0)}") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
