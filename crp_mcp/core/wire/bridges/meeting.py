"""Which servers a host needs a bridge to, and how that is found out.

The host's era is tried first (mirror). A server is bridged to where its configuration says so, or where it turned out
not to speak the host's era.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crp_mcp.core.wire.answers import INVALID_REQUEST
from crp_mcp.core.wire.commands import Log, OwnSide
from crp_mcp.core.wire.eras import HANDSHAKE, MODERN, era_of, turned_away
from crp_mcp.core.wire.frame import Frame, text_of
from crp_mcp.core.wire.requests import Outcome

from .rewrite import object_members, written

if TYPE_CHECKING:
    from crp_mcp.core.wire.link import Link

PROBE_SECONDS = 8.0
"""A server that does not know `server/discover` may stay silent."""


def meet(link: Link, own: OwnSide, meta: bytes | None, now: float) -> bool:
    """Have a server reachable for a host of 2026-07-28, whose request had this `_meta`. False while that is not known.

    What is asked of the server meanwhile waits.
    """
    if link.bridge is not None:
        greeting = link.bridge.outgrown(meta)
        if greeting is not None:
            link.reopen("is greeted again: its host can do more than it said at first", now)
            link.greet(greeting, now)
        return True
    era = link.era if link.rules.era == "auto" else link.rules.era
    if era == MODERN:
        return True
    if era == HANDSHAKE:
        to_handshake(link, own, meta, now)
        return True
    if not link.probing:
        link.probe(
            _envelope(meta), lambda outcome, at: _probed(link, own, meta, outcome, at), now, seconds=PROBE_SECONDS
        )
    return False


def _envelope(meta: bytes | None) -> bytes:
    """Params of a `server/discover` of ours, in the name of the host."""
    return b'{"_meta":%b}' % written({n: v for n, v in object_members(meta).items() if n != "progressToken"})


def _probed(link: Link, own: OwnSide, meta: bytes | None, outcome: Outcome, now: float) -> None:
    refusal = turned_away(outcome) if isinstance(outcome, Frame) else None
    if refusal is not None:
        link.turned_away(refusal, now)
    elif isinstance(outcome, Frame) and era_of(outcome) == MODERN:
        link.era = MODERN
        link.admit(now)
    else:
        to_handshake(link, own, meta, now)


def to_handshake(link: Link, own: OwnSide, meta: bytes | None, now: float) -> None:
    """Bridge to a server of the handshake, for a host of 2026-07-28."""
    from .to_handshake import ToHandshake

    bridge = ToHandshake(link, own)
    link.era, link.bridge = HANDSHAKE, bridge
    link.on_greeted = link.on_refused = None
    link.after_greeting.clear()
    link.greet(bridge.greeting(meta), now)


def to_modern(link: Link) -> None:
    """Bridge to a server of 2026-07-28, for a host of the handshake, whose `initialize` is still to be sent."""
    from .to_modern import ToModern

    link.bridge = ToModern(link)


def refuses_handshake(link: Link, answer: Frame, now: float) -> bool:
    """A server has refused the greeting: whether it is asked again, through a bridge."""
    if link.rules.era != "auto" or link.greeting is None:
        return False
    if link.bridge is None:
        reason = text_of(answer.part("message")) or "no reason given"
        link._emit(Log("info", "server_bridged", {"server": link.name, "reason": reason}))
        to_modern(link)
        link.greet(link.greeting, now)
        return True
    if answer.part("code") == b"%d" % INVALID_REQUEST and not link.bridge.begun_anew:
        # It serves one era on each connection, and the first request has decided.
        link.bridge.begun_anew = True
        link.greet_anew("is started again to be asked in the other protocol era", now)
        return True
    link.bridge = None
    return False
