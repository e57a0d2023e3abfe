"""Tokens of logins on disk: one file for each server and account, its owner's alone, replaced whole."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crp_mcp.errors import ConfigError
from crp_mcp.mcp.spec import OAuth, RemoteSpec

EARLY_SECONDS = 30.0
"""A token is renewed this long before it ends, so that it does not end on its way."""
LOCK_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Login:
    """What a login brought, and what its renewal needs. Secrets are kept out of the repr."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    scope: str | None = None
    token_endpoint: str = ""
    revocation_endpoint: str | None = None
    resource: str | None = None
    """The server the token is for (RFC 8707); None: the authorization server is not told."""
    client: dict[str, Any] = field(default_factory=dict, repr=False)
    """Our registration: `client_id`, and `client_secret` and the way it is sent if there are any."""
    server: str = ""
    account: str = ""

    def ended(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at - EARLY_SECONDS <= now

    def renewed(self, answer: dict[str, Any], now: float) -> Login:
        """With what a token endpoint answered; what it leaves out stays as it was (RFC 6749 §6)."""
        return replace(
            self,
            access_token=str(answer["access_token"]),
            refresh_token=answer.get("refresh_token") or self.refresh_token,
            scope=answer.get("scope") or self.scope,
            expires_at=end_of(answer, now),
        )


def end_of(answer: dict[str, Any], now: float) -> float | None:
    """When a new token ends; None where nothing is said."""
    seconds = answer.get("expires_in")
    return now + float(seconds) if isinstance(seconds, int | float | str) and str(seconds).isdigit() else None


class TokenFile:
    """The file of one server and account."""

    def __init__(self, folder: str, url: str, account: str) -> None:
        self._folder = Path(folder)
        self._server = shown_address(url)
        self._account = account
        name = hashlib.sha256(f"{account}\n{canonical(url)}".encode()).hexdigest()[:32]
        self.path = self._folder / f"{name}.json"

    def read(self) -> Login | None:
        """What is kept; None where nothing is.

        Raises:
            ConfigError: the file cannot be read, or not be trusted.
        """
        try:
            with self.path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode & 0o777
                raw = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"the login in {self.path} cannot be read ({error.strerror}); check its owner") from None
        if os.name == "posix" and mode & 0o077:
            raise ConfigError(f"the login in {self.path} may be read by others; run `chmod 600` on it and log in again")
        try:
            return Login(**json.loads(raw))
        except (ValueError, TypeError):
            raise ConfigError(f"the login in {self.path} is damaged; remove the file and log in again") from None

    def stamp(self) -> tuple[int, int] | None:
        """Changes whenever the file does."""
        try:
            about = self.path.stat()
        except OSError:
            return None
        return about.st_mtime_ns, about.st_ino

    def write(self, login: Login) -> None:
        """Replace the file, whole."""
        self._make_folder()
        login = replace(login, server=self._server, account=self._account)
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(asdict(login)).encode())
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise ConfigError(f"the login cannot be kept in {self._folder} ({error.strerror})") from None

    def remove(self) -> bool:
        """Forget the login. False where there was none."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        self.path.with_suffix(".lock").unlink(missing_ok=True)
        return True

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the folder for logins, {self._folder}, cannot be made ({error.strerror})") from None

    def lock(self) -> int | None:
        """Have the login to ourselves; None while another process has it. What is returned goes to `unlock`."""
        self._make_folder()
        try:
            descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"the login in {self._folder} cannot be locked ({error.strerror})") from None
        if _locked(descriptor):
            return descriptor
        os.close(descriptor)
        return None

    def unlock(self, descriptor: int) -> None:
        # The lock goes with the descriptor.
        os.close(descriptor)

    async def alone(self) -> int:
        """The same, waited for.

        Raises:
            ConfigError: another process does not come to an end with it.
        """
        end = time.monotonic() + LOCK_SECONDS
        # Polled: waiting for a file's lock would take a thread that cannot be ended.
        while (descriptor := self.lock()) is None:
            if time.monotonic() > end:
                raise ConfigError(f"another process holds the login in {self.path}; try again")
            await asyncio.sleep(0.05)
        return descriptor


def _locked(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def canonical(url: str) -> str:
    """One spelling for a URL: case of scheme and host, usual ports and a last slash do not count."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port and parts.port != usual else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{(parts.hostname or '').lower()}{port}{parts.path.rstrip('/')}{query}"


def shown_address(url: str) -> str:
    """What may be shown of a URL: neither user nor query, where secrets stand."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"


def is_private(url: str) -> bool:
    """Whether nobody on the way can read what is sent there."""
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in ("127.0.0.1", "::1", "localhost")


def describe(login: Login | None, spec: RemoteSpec) -> str:
    """What there is to say of a login, without what is secret."""
    unattended = isinstance(spec.auth, OAuth) and spec.auth.grant == "client_credentials"
    if login is None:
        return "client credentials" if unattended else f"no login; if it wants one, run `{spec.login}`"
    scope = f" for {login.scope}" if login.scope else ""
    if unattended or login.refresh_token:
        return f"logged in{scope}; the token is renewed by itself"
    if login.ended(time.time()):
        return f"the login has ended; run `{spec.login}`"
    return f"logged in{scope}"
