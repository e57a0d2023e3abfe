"""Which nodes a request may have at all: fields that name, filter and limit. Says what each of them did."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from crp_mcp.core.request.models import ContextBudget, ContextRequest, TemporalScope
from crp_mcp.errors import BadRequest

from .corpus import About, Corpus
from .fuse import Found
from .strategies import EMBEDDING, NAMES, Search

RECENCY = 0.15
"""How fast RECENT lets relevance fall from one node to the next older one."""
FLOOR = 0.6
"""A background request (priority 0) leaves out what is less relevant than this; an ordinary one takes what fits."""


class BackendMissing(BadRequest):
    """A backend the request requires is not there."""

    code = "BACKEND"


@dataclass(slots=True)
class Told:
    """What each given field did, or why it did nothing."""

    request: ContextRequest
    applied: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)

    def did(self, name: str, what: str) -> None:
        if name in self.request.model_fields_set:
            self.applied[name] = what

    def skipped(self, name: str, why: str) -> None:
        if name in self.request.model_fields_set:
            self.ignored[name] = why


def limit_of(request: ContextRequest, budget: ContextBudget, told: Told) -> int:
    """Tokens this answer may have: the asked number within what is available; a critical request may use reserves."""
    drawn = int(budget.reserved_tokens * max(0.0, request.priority - 0.5) * 2)
    available = budget.available_tokens + drawn
    limit = available if request.max_tokens is None else min(request.max_tokens, available)
    if request.max_tokens is not None:
        cut = f", cut to the {available} that are available" if request.max_tokens > available else ""
        told.did("max_tokens", f"{limit} tokens{cut}")
    else:
        told.did("max_tokens", f"the context budget, {limit} tokens")
    floor = floor_of(request)
    what = f"only what is at least {floor:.2f} relevant" if floor else "takes what fits"
    if request.priority > 0.5 and not drawn:
        told.skipped("priority", "no tokens are reserved that it could draw on")
    else:
        told.did("priority", what + (f"; may use {drawn} reserved tokens" if drawn else ""))
    return limit


def floor_of(request: ContextRequest) -> float:
    """The least relevance a request of this priority takes."""
    return round(max(0.0, 0.5 - request.priority) * 2 * FLOOR, 4)


def check_backends(request: ContextRequest, there: Collection[str], told: Told) -> None:
    """Raises BackendMissing naming what is there."""
    missing = [name for name in request.required_backends if name not in there]
    if missing:
        raise BackendMissing(
            f"required_backends: {missing[0][:60]!r} is not available; there are {', '.join(sorted(there)) or 'none'}"
        )
    if request.required_backends:
        told.did("required_backends", f"{', '.join(request.required_backends)}: available")


def find_focus(request: ContextRequest, corpus: Corpus, told: Told) -> list[str]:
    """The nodes that focus and entities name, in the order they were named."""
    found: list[str] = []
    for name, values in (("focus", request.focus), ("entities", request.entities)):
        hits = {value: list(corpus.resolve(value)) for value in values}
        missing = [value[:60] for value, uris in hits.items() if not uris]
        named = [uri for uris in hits.values() for uri in uris]
        found += named
        if named:
            told.did(name, f"{len(set(named))} nodes: {', '.join(dict.fromkeys(named[:8]))}")
        if missing and name == "focus":
            told.skipped(name, f"nothing is called {', '.join(missing)}")
        elif missing:
            told.did(name, (told.applied.get(name, "") + f"; as words: {', '.join(missing)}").lstrip("; "))
    return list(dict.fromkeys(found))


def check_strategies(request: ContextRequest, ran: Collection[str], told: Told) -> list[str]:
    """The preferred strategies that ran."""
    good = [name for name in request.preferred_strategies if name in ran]
    bad = [name for name in request.preferred_strategies if name not in ran]
    if good:
        told.did("preferred_strategies", f"{', '.join(good)} counted double")
    if bad:
        known = bad[0] in NAMES and bad[0] != EMBEDDING
        why = "has nothing to go by here" if known else "is not installed" if bad[0] == EMBEDDING else "is unknown"
        told.skipped("preferred_strategies", f"{bad[0][:60]} {why}; ran: {', '.join(ran)}")
    return good


def keep(search: Search, found: Sequence[Found], told: Told) -> list[tuple[Found, About]]:
    """What type, time and priority let through, the most relevant first; what the focus names, whatever its time."""
    request = search.request
    floor, left_out = floor_of(request), {"type": 0, "time": 0}
    kept: list[tuple[Found, About]] = []
    for one in found:
        about = search.corpus.about(one.uri)
        if about is None:
            continue
        named = one.uri in search.focus
        if request.uko_types and not any(is_type(one.uri, asked) for asked in request.uko_types):
            left_out["type"] += 1
        elif not named and not in_time(about, request):
            left_out["time"] += 1
        elif named:
            kept.append((replace(one, relevance=1.0), about))
        elif one.relevance >= floor:
            kept.append((one, about))
    none = [asked for asked in request.uko_types if not any(is_type(one.uri, asked) for one in found)]
    none_said = f"; nothing found is of type {', '.join(one[:60] for one in none)}" if none else ""
    told.did("uko_types", f"left out {left_out['type']} nodes of other types{none_said}")
    told.did("temporal", f"{request.temporal.value}: left out {left_out['time']} nodes of another time")
    told.did("as_of", f"left out {left_out['time']} nodes of another time")
    if request.temporal is TemporalScope.RECENT:
        kept = _by_recency(kept)
    return sorted(kept, key=lambda pair: (pair[0].uri not in search.focus, -pair[0].relevance, pair[0].uri))


def is_type(uri: str, asked: str) -> bool:
    """Whether a URI is of a type: `uko-py:class`, a whole domain (`uko-py:`), or a bare kind (`class`)."""
    domain, _, rest = uri.partition(":")
    kind = rest.partition("/")[0]
    return asked in (f"{domain}:{kind}", f"{domain}:", domain, kind)


def in_time(about: About, request: ContextRequest) -> bool:
    """Whether a node is of the time that is asked about."""
    past, until = about.past, request.until
    if until is not None:
        if about.at > until:
            return False
        past = about.past and (about.since is None or about.since <= until)
    if request.temporal is TemporalScope.ALL:
        return True
    return past if request.temporal is TemporalScope.HISTORICAL else not past


def _by_recency(kept: list[tuple[Found, About]]) -> list[tuple[Found, About]]:
    times = sorted({about.at for _, about in kept}, reverse=True)
    order = {at: number for number, at in enumerate(times)}
    return [(replace(one, relevance=one.relevance / (1 + RECENCY * order[about.at])), about) for one, about in kept]
