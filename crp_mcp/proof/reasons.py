"""Why a proof was not accepted: one closed list of codes. Knows nothing of what they are said about."""

from __future__ import annotations

from enum import StrEnum

from crp_mcp.errors import Rejected


class Reason(StrEnum):
    """The reason codes of the ECCR profile, used by every verifier here."""

    BAD_ENCODING = "BAD_ENCODING"
    MALFORMED_JSON = "MALFORMED_JSON"
    TOO_LARGE = "TOO_LARGE"
    TOO_DEEP = "TOO_DEEP"
    DUPLICATE_KEY = "DUPLICATE_KEY"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    MISSING_MEMBER = "MISSING_MEMBER"
    UNKNOWN_MEMBER = "UNKNOWN_MEMBER"
    BAD_INTEGER = "BAD_INTEGER"
    BAD_LABEL = "BAD_LABEL"
    BAD_HASH = "BAD_HASH"
    BAD_ALGORITHM = "BAD_ALGORITHM"
    UNKNOWN_KEY = "UNKNOWN_KEY"
    BAD_SIGNATURE = "BAD_SIGNATURE"
    CLOCK_SKEW = "CLOCK_SKEW"
    EXPIRED = "EXPIRED"
    ROOT_MISMATCH = "ROOT_MISMATCH"
    COUNT_MISMATCH = "COUNT_MISMATCH"
    CEILING_MISMATCH = "CEILING_MISMATCH"
    RETENTION_EXCEEDED = "RETENTION_EXCEEDED"
    OUTPUT_MISMATCH = "OUTPUT_MISMATCH"
    TOMBSTONED = "TOMBSTONED"


def rejected(reason: Reason, why: str) -> Rejected:
    """The typed rejection, for `raise`. `why` must not repeat the input: it may be hostile or confidential."""
    return Rejected(f"{reason.value}: {why}", code=reason.value)
