"""`crp-mcp logout`: forget the token of a server, here and at its authorization server."""

from __future__ import annotations

import argparse

from . import common
from .login import add_server, server_of


def add(parser: argparse.ArgumentParser) -> None:
    add_server(parser)


def run(options: argparse.Namespace) -> int:
    import asyncio

    from crp_mcp.mcp.remote.renewing import log_out
    from crp_mcp.mcp.remote.tokens import TokenFile

    spec = server_of(options)
    was, revoked = asyncio.run(log_out(TokenFile(spec.tokens, spec.url, spec.account)))
    if not was:
        common.print_text(f"there was no login to {spec.name}")
    elif revoked:
        common.print_text(f"logged out of {spec.name}; the token is revoked")
    else:
        common.print_text(f"logged out of {spec.name} here; its authorization server was not told, or did not revoke")
    return 0
