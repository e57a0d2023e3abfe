"""The nouns: entry, tool policy, captured call. Plain frozen values; nothing here touches the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

CountTokens = Callable[[str], int]
"""Exact number of tokens of a text for the counter in use. Passed in, never imported, by core."""


class Kind(StrEnum):
    """What shape the data of a result has."""

    TABULAR = "tabular"
    OBJECT = "object"
    LIST = "list"
    SCALAR = "scalar"
    TEXT = "text"
    ERROR = "error"
    EMPTY = "empty"
    BINARY = "binary"


class Volatility(StrEnum):
    """How fast a tool's output stales (SPEC-029 §4.1)."""

    REALTIME = "REALTIME"
    VOLATILE = "VOLATILE"
    STABLE = "STABLE"
    STATIC = "STATIC"


class Persistence(StrEnum):
    EPHEMERAL = "EPHEMERAL"
    PINNED = "PINNED"


class ToolClass(StrEnum):
    SQL = "sql"
    API = "api"
    COMPUTATION = "computation"
    SEARCH = "search"
    FILE = "file"
    METRIC = "metric"
    OTHER = "other"


DEFAULT_TTL: Mapping[Volatility, int | None] = {
    Volatility.REALTIME: 30,
    Volatility.VOLATILE: 300,
    Volatility.STABLE: 3600,
    Volatility.STATIC: None,
}
"""Seconds a result stays fresh, by class (SPEC-029 §4.1); None means for as long as the entry lives."""

LABELS = ("PUBLIC", "INTERNAL", "CONFIDENTIAL", "HIGHLY_CONFIDENTIAL", "RESTRICTED")
"""The default sensitivity lattice, low to high."""

DAY = 86_400


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """How one tool's summaries are made. `cap` is hard: no summary ever exceeds it."""

    cap: int = 256
    sample_rows: int = 3


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """What the registry says of one tool. The defaults are those of an undeclared tool."""

    volatility: Volatility = Volatility.VOLATILE
    ttl: int | None = 300
    tool_class: ToolClass = ToolClass.OTHER
    sensitivity: str = "INTERNAL"
    max_sensitivity: str | None = None
    retention: int = 30 * DAY
    reinvoke: bool = False
    reuse: bool = False
    invalidates: tuple[str, ...] = ()
    accepts_scratch_from: tuple[str, ...] = ()
    redact_args: tuple[str, ...] = ()
    inline_tokens: int | None = None
    """None: the default for the kind (512, text 2,000). 0: always summarise, the letter of SPEC-029 §2.2."""
    passthrough: bool = False
    summary: SummaryOptions = field(default_factory=SummaryOptions)


INLINE_TOKENS = 512
INLINE_TOKENS_TEXT = 2_000


def inline_limit(policy: ToolPolicy, kind: Kind) -> int:
    """Most tokens a result of this kind may have and still reach the host untouched."""
    if policy.inline_tokens is not None:
        return policy.inline_tokens
    return INLINE_TOKENS_TEXT if kind is Kind.TEXT else INLINE_TOKENS


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose data this is. Access = tenant + project; reference = conversation."""

    tenant: str = "local"
    project: str = ""
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that went through us: names as the upstream knows them, arguments as the host sent them."""

    server: str
    tool: str
    arguments: Mapping[str, Any]
    arguments_json: bytes = b"{}"
    """The arguments exactly as received."""


@dataclass(frozen=True, slots=True)
class Block:
    """One non-text block of a result: what is recorded of an image, audio or embedded resource."""

    index: int
    type: str
    mime: str | None
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One captured result. The first twelve members are SPEC-029 §2.1's, names and enums exactly."""

    scratch_id: str
    tool_name: str
    tool_call_args: Mapping[str, Any]
    raw_token_count: int | None
    summary: str | None
    """None until it is first needed: a result given inline was not compacted, so no summary was made."""
    structured: Mapping[str, Any] | None
    """What was parsed: columns, rows, where the rows stand (see core/shape); None where there is no structure."""
    created_at: float
    freshness_ttl: int | None
    persistence: Persistence
    referenced_by: Sequence[int]
    provenance_hash: str
    kind: Kind
    tool_class: ToolClass
    label: str
    scope: Scope
    server: str
    payload_id: int
    payload_bytes: int
    is_error: bool = False
    rows: int | None = None
    rows_total: int | None = None
    partial: bool = False
    inline: bool = False
    volatility: Volatility = Volatility.VOLATILE
    turn_id: int | None = None
    stream_id: str | None = None
    supersedes: str | None = None
    name: str | None = None
    """The pinned name."""
    receipt: str | None = None
    """Digest (`sha256:…`) of the receipt that covers the summary."""
    expires_at: int = 0
    """Retention epoch, in seconds: when the content must be gone."""
    form: str = "text"
    """`text`: the payload is one text block's exact bytes; `result`: it is the result JSON as received."""
    origin: str = "capture"
    """`capture`, or `query` for a derived entry; only captures are `latest`."""
    stale_since: float | None = None
    """Set once something is known to have changed what the result was read from, whatever its age."""
    stale_why: str | None = None
    superseded_by: str | None = None
    """The entry that a refresh put in its place."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation (SPEC-029 §10, tier C). `number` counts per conversation."""

    number: int
    role: str
    """`user`, `assistant`, or `unknown` where nobody declared it."""
    at: float
    declared: bool
    text: str | None = None
    decision: Mapping[str, Any] | None = None
    """What was decided in it: question, chosen, alternatives, rationale."""
    produced: tuple[str, ...] = ()
    """Entries captured in it."""
    referenced: tuple[str, ...] = ()
    """Earlier entries resolved, injected or cited in it."""


class FactStatus(StrEnum):
    ACTIVE = "ACTIVE"
    STALE = "STALE"
    DELETED = "DELETED"
    QUARANTINED = "QUARANTINED"


@dataclass(frozen=True, slots=True)
class Fact:
    """Durable knowledge of a project (SPEC-029 §5.4, tier P): a full statement, and the entry it was derived from."""

    id: int
    content: str
    content_hash: str
    source: str | None
    provenance: str
    importance: float
    created_at: float
    access_count: int
    ttl: int | None
    status: FactStatus
    supersedes: int | None = None
    expires_at: int = 0
    flag: str | None = None
    """Why it may no longer hold, where something it depends on changed."""
