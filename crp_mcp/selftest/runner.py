"""Runs every probe on three connections, two direct ones and one through us, and collects the verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from . import odd, probes
from .compare import Finding, Probe, Recording, judge, judge_stderr
from .expected import Ours
from .peer import Peer
from .probes import HANDSHAKE, LATEST_HANDSHAKE, LISTS, MODERN, Era, Known, Talk, Try, open_session

OTHER_VERSIONS = ("2024-11-05", "1999-01-01")


class Target(NamedTuple):
    """How to reach one server."""

    name: str
    direct: Callable[[], Peer]
    through: Callable[[], Peer]
    ours: Ours
    programs: bool = True
    """Both ways are over stdio: broken lines, the end and stderr can be compared."""


@dataclass(slots=True)
class Trio:
    """The three connections."""

    direct: Peer
    again: Peer
    through: Peer

    def run(self, era: str, one: Try, ours: Ours) -> tuple[Finding, Recording]:
        """One probe on all three; the verdict, and what the server said directly."""
        peers = (self.direct, self.again, self.through)
        for peer in peers:
            peer.sent = {}
        with ThreadPoolExecutor(len(peers)) as pool:
            list(pool.map(one.talk, peers))
        direct = Recording(self.direct.take())
        again, through = (Recording(peer.take(len(direct.lines))) for peer in peers[1:])
        probe = Probe(one.feature, self.direct.sent, one.unreadable)
        return judge(era, probe, direct, again, through, ours), direct


def examine(target: Target, known: Known) -> Iterator[Finding]:
    """Everything, in each era the server speaks."""
    for era in (Era(HANDSHAKE), Era(MODERN)):
        known.items.clear()
        yield from _era(target, era, known)
        if not era.modern:
            yield from _other_openings(target)


def _era(target: Target, era: Era, known: Known) -> Iterator[Finding]:
    session = _Session(target, era)
    with session.connected():
        finding, opened = session.open()
        yield finding
        spoken = any("result" in json.loads(line) for line in opened.lines[:1] if line[:1] == "{")
        if spoken:
            yield from session.run(probes.listing(era), known)
            for part in (probes.reading, probes.calling, probes.listening, odd.refusing, odd.unknown_members):
                yield from session.run(part(era, known))
            yield from session.run(odd.identified(era))
        yield from session.end()
        yield from session.run(odd.broken(era) if spoken and target.programs else ())


def _other_openings(target: Target) -> Iterator[Finding]:
    """Handshakes for other revisions, and none at all."""
    era = Era(HANDSHAKE)
    for version in OTHER_VERSIONS:
        session = _Session(target, era)
        with session.connected():
            yield session.open(version)[0]
            yield from session.run([Try("opening", probes.trying(era, "tools/list", "{}"))])
    if not target.programs:
        return  # over HTTP there is no session then, and the refusal is of the transport
    session = _Session(target, era, greets=False)
    with session.connected():
        yield from session.run([Try("opening", probes.trying(era, "tools/list", "{}"))])


class _Session:
    """Three connections, opened alike, and opened again where a probe ends them."""

    def __init__(self, target: Target, era: Era, *, greets: bool = True) -> None:
        self._greets = greets
        self._target = target
        self._era = era
        self._trio: Trio | None = None
        self._mended = False

    @contextmanager
    def connected(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._close()

    def _connect(self) -> Trio:
        if self._trio is None:
            self._trio = Trio(self._target.direct(), self._target.direct(), self._target.through())
        return self._trio

    def _close(self) -> list[Recording]:
        trio, self._trio = self._trio, None
        return [peer.close() for peer in (trio.direct, trio.again, trio.through)] if trio else []

    def open(self, version: str = LATEST_HANDSHAKE) -> tuple[Finding, Recording]:
        talk: Talk = open_session(self._era, version)
        return self._connect().run(self._era.name, Try("opening", talk), self._target.ours)

    def run(self, tries: Iterable[Try], known: Known | None = None) -> Iterator[Finding]:
        """These probes, in turn. `known` learns what the lists say."""
        for one in tries:
            if self._trio is None and self._greets:
                self.open()
            finding, direct = self._connect().run(self._era.name, one, self._target.ours)
            self._mended |= any(note.startswith("mended: an answer") for note in finding.notes)
            yield finding
            if known is not None and one.feature in LISTS:
                known.learn(direct.lines, LISTS[one.feature])
            if self._trio is not None and (one.restarts or self._trio.direct.over or self._trio.through.over):
                self._close()

    def end(self) -> Iterator[Finding]:
        """The end of the session."""
        if not self._target.programs:
            return
        ends = self._close()
        shut = [Recording(end.lines, {"shutdown": end.facts["shutdown"]}) for end in ends]
        yield judge(self._era.name, Probe("shutdown", {}), shut[0], shut[1], shut[2], self._target.ours)
        errors = [end.facts["stderr"] for end in ends]
        yield judge_stderr(self._era.name, errors[0], errors[1], errors[2], mended=self._mended)
