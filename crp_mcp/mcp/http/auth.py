"""Who a request comes from: nobody is asked on loopback, else bearer tokens that the operator gave out, or OAuth."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from crp_mcp.config.fields import LABEL
from crp_mcp.config.http import TENANT, TOKEN, Token
from crp_mcp.errors import ConfigError
from crp_mcp.log import log

from .request import Refusal
from .site import Principal


class Authenticator(Protocol):
    async def check(self, headers: Mapping[str, str]) -> Principal:
        """Who sent these headers. Raises Refusal, with a challenge."""


class Anyone:
    """On loopback, with nothing configured: whoever can reach us is the user of this machine."""

    async def check(self, headers: Mapping[str, str]) -> Principal:
        return Principal("local")


class Tokens:
    """Tokens of the configuration, and of a file that may change while we run."""

    def __init__(self, tokens: Sequence[Token], file: Path | None) -> None:
        self._fixed = _digests(tokens)
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._from_file: dict[bytes, Principal] = {}
        if file is not None:
            self._from_file = _digests(read_tokens(file))
            self._seen = _state(file)

    async def check(self, headers: Mapping[str, str]) -> Principal:
        given = bearer(headers)
        if given is None:
            raise challenge("This needs a bearer token (header Authorization).")
        digest = hashlib.sha256(given.encode()).digest()
        found = None
        # All are compared, and digests of equal length: how long it takes says nothing of any token.
        for known, principal in [*self._fixed.items(), *self._current().items()]:
            if hmac.compare_digest(known, digest):
                found = principal
        if found is None:
            raise challenge("This token is not known here.", error="invalid_token")
        return found

    def _current(self) -> dict[bytes, Principal]:
        if self._file is None:
            return {}
        state = _state(self._file)
        if state != self._seen:
            self._seen = state
            try:
                self._from_file = _digests(read_tokens(self._file))
            except ConfigError as error:
                # What was valid stays so: a file that is half written must lock nobody out.
                log("error", "token_file", reason=str(error))
        return self._from_file


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def challenge(text: str, *, error: str = "", status: int = 401, **more: str) -> Refusal:
    """A refusal that says how to come in."""
    parts = {**({"error": error, "error_description": text} if error else {}), **more}
    said = ", ".join(f'{name}="{value}"' for name, value in parts.items())
    return Refusal(status, text, headers={"www-authenticate": f"Bearer {said}".rstrip()})


def _digests(tokens: Sequence[Token]) -> dict[bytes, Principal]:
    return {
        hashlib.sha256(one.token.encode()).digest(): Principal(
            one.tenant, hashlib.sha256(one.token.encode()).hexdigest()
        )
        for one in tokens
    }


def _state(file: Path) -> tuple[int, int, int] | None:
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def read_tokens(file: Path) -> list[Token]:
    """Lines of `TOKEN TENANT [CLEARANCE]`; `#` begins a comment. Raises ConfigError that shows no token."""
    try:
        about = file.stat()
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{file}: the token file cannot be read ({problem})") from None
    if os.name == "posix" and about.st_mode & 0o077:
        raise ConfigError(f"{file}: others can read the token file; run: chmod 600 {file}")
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        usual = len(words) in (2, 3) and TOKEN.fullmatch(words[0]) and TENANT.fullmatch(words[1])
        if not usual or not all(LABEL.fullmatch(label) for label in words[2:]):
            raise ConfigError(
                f"{file}:{number}: not `TOKEN TENANT [CLEARANCE]`: a token has 16 to 4096 visible ASCII characters, "
                "a tenant at most 128, a clearance is a label in capital letters"
            )
        found.append(Token(words[0], words[1], words[2] if len(words) == 3 else None))
    return found
