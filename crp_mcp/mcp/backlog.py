"""What waits for a server that takes nothing for the time being: on disk, so that others need not wait with it."""

from __future__ import annotations

from crp_mcp.core.wire.frame import SMALL, Cut, Piece
from crp_mcp.log import log

from .spool import Spool, SpoolFile

MOST = 1024 * 1024 * 1024
"""Bytes on disk for one server; beyond that the host has to wait after all."""


class Backlog:
    """Of one server. All of one time of waiting goes into one file, which is gone when the last of it was sent."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._file: SpoolFile | None = None

    def shelve(self, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
        """The message with what is large of it on disk; as it is where no more can be stored."""
        return tuple(
            self._stored(piece) if isinstance(piece, bytes) and len(piece) > SMALL else piece for piece in pieces
        )

    def _stored(self, piece: bytes) -> Piece:
        try:
            file = self._file = self._file or self._spool.new()
            if file.size + len(piece) > MOST:
                return piece
            start = file.size
            file.write(piece)
        except OSError as error:
            # What was written of it lies in the way of whatever would come next.
            self._file = None
            log("warning", "spool_failed", reason=str(error))
            return piece
        return Cut(file, start, file.size)

    def clear(self) -> None:
        """Nothing has to wait any more."""
        self._file = None
