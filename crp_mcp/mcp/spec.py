"""What is needed to run one server over stdio. Filled by the application from its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crp_mcp.core.wire.commands import ServerRules


@dataclass(frozen=True, slots=True)
class UpstreamSpec:
    """One server. `env` is its whole environment; None: ours as it is. It may hold secrets, so it has no repr."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: str | None = None
    prefix: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    era: str = "auto"
    timeout: float | None = None
    """Seconds a request may take without a sign of progress; None: the default."""
    ceiling: float | None = None
    shared: bool = False
    """Over stdio there is one host, so nothing is shared whatever this says."""

    def rules(self) -> ServerRules:
        """The part of it that the core decides by."""
        usual = ServerRules(self.name)
        return ServerRules(
            self.name,
            prefix=self.prefix,
            allow=self.allow,
            deny=self.deny,
            era=self.era,
            idle=usual.idle if self.timeout is None else self.timeout,
            ceiling=usual.ceiling if self.ceiling is None else self.ceiling,
        )
