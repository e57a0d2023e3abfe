"""What is needed to run one server over stdio. Filled by the application from its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from crp_mcp.core.wire.commands import ServerRules


class UpstreamSpec(NamedTuple):
    """One server. A named tuple, since it is made before anything else: see `start`."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    """Its whole environment; None: ours as it is."""
    cwd: str | None = None
    prefix: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    era: str = "auto"
    timeout: float | None = None
    """Seconds a request, or the handshake, may take without a sign of progress; None: the defaults."""
    ceiling: float | None = None
    shared: bool = False
    """Over stdio there is one host, so nothing is shared whatever this says."""

    def __repr__(self) -> str:
        # Arguments and environment may hold secrets.
        return f"UpstreamSpec({self.name!r})"

    def rules(self) -> ServerRules:
        """The part of it that the core decides by."""
        from crp_mcp.core.wire.commands import ServerRules

        usual = ServerRules(self.name)
        return ServerRules(
            self.name,
            prefix=self.prefix,
            allow=self.allow,
            deny=self.deny,
            era=self.era,
            idle=usual.idle if self.timeout is None else self.timeout,
            handshake=usual.handshake if self.timeout is None else self.timeout,
            ceiling=usual.ceiling if self.ceiling is None else self.ceiling,
        )
