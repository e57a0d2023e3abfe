"""Every error a caller may catch, each with a stable `code`. Programmer mistakes stay built-in exceptions.

CrpError
├── ConfigError        CONFIG      a config, registry or command-line value is wrong: says where and what to do
├── StoreError         STORE       the store cannot be used (corrupt, foreign, newer schema, full, not writable)
│   ├── StoreBusy      STORE_BUSY  another process held the write lock past the time limit
│   └── StoreGone      STORE_GONE  the file was deleted or replaced while it was open
├── KeyringError          KEY         the signing key is missing where it must exist, unreadable or malformed
├── NotFound           NOT_FOUND   an id, name, resource or tool that does not exist (or no longer does)
├── BadRequest         BAD_REQUEST an argument of one of our own tools is wrong: names it and what is allowed
├── Refused            REFUSED     understood, and not allowed: says the rule
├── CaptureFailed      CAPTURE     a result could not be recorded; the result itself is still the caller's
├── UpstreamError      UPSTREAM    an upstream could not be started, died, or did not answer in time
└── Rejected           (reason)    a proof was not accepted; `code` is one of the reason codes of proof/reasons.py
"""

from __future__ import annotations


class CrpError(Exception):
    """Base of everything here. `str(error)` is a sentence for a person."""

    code = "ERROR"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class ConfigError(CrpError):
    code = "CONFIG"


class StoreError(CrpError):
    code = "STORE"


class StoreBusy(StoreError):
    code = "STORE_BUSY"


class StoreGone(StoreError):
    code = "STORE_GONE"


class KeyringError(CrpError):
    code = "KEY"


class NotFound(CrpError):
    code = "NOT_FOUND"


class BadRequest(CrpError):
    code = "BAD_REQUEST"


class Refused(CrpError):
    code = "REFUSED"


class CaptureFailed(CrpError):
    code = "CAPTURE"


class UpstreamError(CrpError):
    code = "UPSTREAM"


class Rejected(CrpError):
    """A proof that was not accepted. `code` is the reason code; verification fails closed."""

    code = "REJECTED"
