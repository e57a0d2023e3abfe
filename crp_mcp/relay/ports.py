"""What the proxy asks of the relay, and the values that pass between them. Imports nothing that costs start-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from crp_mcp.core.model import ToolCall, ToolPolicy


@dataclass(frozen=True, slots=True)
class RawResult:
    """The bytes of one JSON-RPC `result`, exactly as received: in memory, or a span of a spooled line.

    Either `data` holds them, or the file `spool` does at `start` to `end` (in bytes). The file lives until the
    capture it was given to returns; whoever needs it longer copies it.
    """

    data: bytes | None
    spool: Path | None = None
    start: int = 0
    end: int = 0

    @property
    def size(self) -> int:
        return len(self.data) if self.data is not None else self.end - self.start


@dataclass(frozen=True, slots=True)
class CapturedCall:
    """The `tools/call` that a result answers."""

    call: ToolCall
    meta: Mapping[str, Any]
    """The request's `_meta`, {} where there was none."""
    modern: bool
    """Whether the call was made in protocol 2026-07-28."""
    tool: Mapping[str, Any] | None
    """The tool's definition as its server listed it; None where it was never listed."""
    server: str

    @property
    def raw(self) -> bool:
        """Whether the caller asked for the result as it is (`_meta["dev.crp/raw"]: true`)."""
        return self.meta.get("dev.crp/raw") is True


class Calls(Protocol):
    """The servers as the relay may call them itself."""

    def servers(self) -> frozenset[str]:
        """Names of the servers behind this proxy."""

    def definition(self, server: str, tool: str) -> Mapping[str, Any] | None:
        """A tool as its server listed it; None where it never did."""

    async def call(self, server: str, tool: str, arguments: bytes, meta: Mapping[str, Any]) -> RawResult | None:
        """Call a tool. None where there is no finished result: an error, a question to the user, a task, no server."""


class RelayPort(Protocol):
    """The relay as the proxy sees it. Synchronous members answer at once: they are asked while messages wait."""

    def instructions(self) -> str:
        """One short sentence for the host, put after what the servers say; "" for none."""

    def warm(self) -> None:
        """A call is on its way to a server: get ready for its result. Returns at once, and may be called every time."""

    def own_tools(self) -> list[dict[str, Any]]:
        """Definitions of our own tools as `tools/list` gives them; [] where they are switched off."""

    def wants_roots(self) -> bool:
        """Whether the folders the host works in matter: it is asked for its roots then."""

    def learn_roots(self, uris: tuple[str, ...]) -> None:
        """The URIs of the host's roots, whenever they are learnt."""

    def policy(self, server: str, tool: str, definition: Mapping[str, Any] | None) -> ToolPolicy:
        """What the registry says of a tool. The name is the one its server uses."""

    def accepts(self, server: str, tool: str, definition: Mapping[str, Any] | None) -> bool:
        """Whether stored values may stand in the arguments of a tool."""

    async def lend(self, call: CapturedCall, agreed: bool) -> tuple[bytes | None, str | None]:
        """The arguments of a call with stored values in place; or None and the question a person must agree to first.

        Raises:
            CrpError: the call must not be made; the message says why.
        """

    def connect(self, calls: Calls) -> None:
        """The proxy runs: from now on its servers can be called."""

    def consults(self, server: str, tool: str, definition: Mapping[str, Any] | None) -> bool:
        """Whether `before` must be asked before this tool is called."""

    async def before(self, call: CapturedCall) -> bytes | None:
        """The `result` JSON to give instead of making a call; None: make it. Never raises."""

    async def capture(self, call: CapturedCall, raw: RawResult) -> bytes | None:
        """Record one result. None: forward it as it came. Bytes: the `result` JSON to send instead. Never raises."""

    async def call_tool(self, name: str, arguments: object, meta: Mapping[str, Any], modern: bool) -> dict[str, Any]:
        """Result object of one of our own tools; what went wrong is in it, with `isError`.

        `arguments`: the JSON value that was given; None where there was none.
        """

    def resource_templates(self) -> list[dict[str, Any]]:
        """Definitions of our own resource templates; [] where they are switched off."""

    def owns_uri(self, uri: str) -> bool:
        """Whether a resource, or a template to complete, is ours."""

    async def read_resource(self, uri: str, meta: Mapping[str, Any], modern: bool) -> dict[str, Any]:
        """Result object of `resources/read`.

        Raises:
            CrpError: the message becomes a protocol error (`-32602` for NotFound and BadRequest).
        """

    async def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Result object of `completion/complete` for a template of ours."""
