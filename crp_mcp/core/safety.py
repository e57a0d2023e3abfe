"""CRP-Safety-Policy (SPEC-029 §8): text to value and back, and what a request may change of it. Enforces nothing.

Directives of SPEC-006 are known by name, kept, and reported as not enforced here; anything else is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from crp_mcp.errors import BadRequest, Refused

MAX_LENGTH = 4_096
POLICY_KEY = "dev.crp/policy"
"""Member of a request's `_meta` that holds the policy it asks for."""


class Stale(StrEnum):
    """What becomes of a stale entry that would be used, most lenient first."""

    REINVOKE = "reinvoke"
    WARN = "warn"
    EXCLUDE = "exclude"


class Retain(StrEnum):
    """How long tool output is kept, shortest first."""

    EVAPORATE = "evaporate"
    ALL = "all"
    AUDIT = "audit"


_STRICTER = list(Stale)
_OWN: dict[str, tuple[str, ...]] = {
    "tool-output-stale": tuple(Stale),
    "tool-output-retain": tuple(Retain),
    "tool-provenance": ("optional", "required"),
}
_REQUEST_MAY = {
    "tool-output-stale": ("warn", "exclude"),
    "tool-provenance": ("required",),
}
ELSEWHERE = frozenset(
    [
        "default-src",
        "halt-on",
        "warn-on",
        "require-grounding",
        "require-entailment",
        "require-quality",
        "require-oversight",
        "require-flow",
        "require-completeness",
        "block-ungrounded",
        "block-parametric",
        "block-pii",
        "block-fabrication",
        "block-repetition",
        "max-repetition",
        "upgrade-on-risk",
        "oversight",
        "report-uri",
        "report-to",
        "profile",
    ]
)
"""Directives that SPEC-006 §2.1 and §6.1 define: about model output, which does not pass through here."""


@dataclass(frozen=True, slots=True)
class SafetyPolicy:
    """What holds. None or False: the directive was not given, so its default does."""

    stale: Stale | None = None
    retain: Retain | None = None
    provenance: bool | None = None
    """Whether claims must cite their entry; None: not said, which is optional."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Directives that are not enforced here, with their values, in order."""

    @property
    def audits(self) -> bool:
        return self.retain is Retain.AUDIT

    @property
    def evicts(self) -> bool:
        return self.retain in (None, Retain.EVAPORATE)

    @property
    def must_cite(self) -> bool:
        return self.provenance is True

    def to_text(self) -> str:
        """The directives that were given, `name=value` for ours."""
        parts = [f"{name}={value}" for name, value in self._own()]
        parts += [f"{name} {value}".rstrip() for name, value in self.elsewhere]
        return "; ".join(parts)

    def report(self) -> dict[str, Any]:
        """What is enforced, by directive, and what was understood but is not enforced here."""
        return {
            "enforced": {
                "tool-output-stale": self.stale.value if self.stale else "by volatility class",
                "tool-output-retain": (self.retain or Retain.EVAPORATE).value,
                "tool-provenance": "required" if self.must_cite else "optional",
            },
            "not_enforced_here": [name for name, _ in self.elsewhere],
        }

    def trail(self) -> dict[str, Any]:
        """What the audit trail says of a policy: values of the directives that hold here, of others only the names.

        `hash` is over all of it, so that a change of theirs shows as well.
        """
        digest = "sha256:" + hashlib.sha256(self.to_text().encode("utf-8", "replace")).hexdigest()
        return {"directives": dict(self._own()), "elsewhere": [name for name, _ in self.elsewhere], "hash": digest}

    def _own(self) -> list[tuple[str, str]]:
        said = [
            ("tool-output-stale", self.stale),
            ("tool-output-retain", self.retain),
            ("tool-provenance", None if self.provenance is None else "required" if self.provenance else "optional"),
        ]
        return [(name, str(value)) for name, value in said if value is not None]


def parse_policy(text: str) -> SafetyPolicy:
    """The policy of a directive string. Raises BadRequest that names the directive and what is allowed."""
    if len(text) > MAX_LENGTH:
        raise BadRequest(f"safety policy: {len(text)} characters; at most {MAX_LENGTH} are read")
    given: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, value = _split(part)
        if name not in _OWN and name not in ELSEWHERE:
            raise BadRequest(f"safety policy: unknown directive {name[:60]!r}; known are {', '.join(_OWN)}")
        if name in given:
            raise BadRequest(f"safety policy: {name} is given twice")
        if name in _OWN and value not in _OWN[name]:
            raise BadRequest(f"safety policy: {name} is {value[:60]!r}; it must be one of {', '.join(_OWN[name])}")
        given[name] = value
    stale, retain = given.get("tool-output-stale"), given.get("tool-output-retain")
    provenance = given.get("tool-provenance")
    return SafetyPolicy(
        stale=Stale(stale) if stale else None,
        retain=Retain(retain) if retain else None,
        provenance=None if provenance is None else provenance == "required",
        elsewhere=tuple((name, value) for name, value in given.items() if name in ELSEWHERE),
    )


def _split(part: str) -> tuple[str, str]:
    """`name=value` or `name value`: whichever separator comes first."""
    for at, character in enumerate(part):
        if character == "=" or character.isspace():
            return part[:at].lower(), part[at:].lstrip("= \t")
    return part.lower(), ""


def tighten(operator: SafetyPolicy, asked: str) -> SafetyPolicy:
    """The operator's policy with what a request asks for, where that is stricter.

    Raises:
        BadRequest: no policy. Refused: a directive that a request may not set, or not so.
    """
    return _stricter(operator, _of_request(asked))


def policy_for(operator: SafetyPolicy, meta: Mapping[str, Any]) -> SafetyPolicy:
    """What holds for a request with this `_meta`.

    Raises:
        BadRequest: what it asks for is no policy; it is never taken for none. Refused: it may not ask for that.
    """
    asked = meta.get(POLICY_KEY)
    if asked is None:
        return operator
    if not isinstance(asked, str):
        raise BadRequest(f"{POLICY_KEY} must be a text of directives, such as 'tool-output-stale=warn'")
    return tighten(operator, asked)


def with_header(meta: Mapping[str, Any], *headers: str) -> dict[str, Any]:
    """A request's `_meta` with the `CRP-Safety-Policy` headers that came with it: of all that is asked, the strictest.

    Raises:
        BadRequest: a header or the `_meta` holds no policy. Refused: a directive that a request may not set, or not so.
    """
    if not headers:
        return dict(meta)
    policy = policy_for(SafetyPolicy(), meta)
    for header in headers:
        policy = _stricter(policy, _of_request(header))
    return {**meta, POLICY_KEY: policy.to_text()}


def _of_request(asked: str) -> SafetyPolicy:
    request = parse_policy(asked)
    for name, value in request._own():
        if value not in _REQUEST_MAY.get(name, ()):
            raise Refused(f"safety policy: a request may not set {name}={value}; that is the operator's to say")
    return request


def _stricter(one: SafetyPolicy, request: SafetyPolicy) -> SafetyPolicy:
    stale = max((each for each in (one.stale, request.stale) if each), key=_STRICTER.index, default=None)
    known = {name for name, _ in one.elsewhere}
    elsewhere = one.elsewhere + tuple(each for each in request.elsewhere if each[0] not in known)
    return replace(one, stale=stale, provenance=request.provenance or one.provenance, elsewhere=elsewhere)
