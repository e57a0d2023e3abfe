"""`crp-mcp keys`: which keys sign and are believed. Secrets are never printed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crp_mcp.keys import KeyInfo, list_keys, rotate, trust

from . import common


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the key in force, former ones, and those of others that are trusted")
    rotating = actions.add_parser("rotate", help="sign with a new key from now on; the old public key is kept")
    exporting = actions.add_parser("export", help="print our public keys, for others to verify with")
    trusting = actions.add_parser("trust", help="believe receipts signed with another's public key")
    trusting.add_argument("public_key", metavar="KEY", help="64 hex digits, or base64")
    for action in (listing, rotating, exporting, trusting):
        common.add_store(action)
        common.add_json(action)


def run(options: argparse.Namespace) -> int:
    folder = common.settings_of(options).keys
    if options.action == "rotate":
        ring = rotate(folder)
        _print([KeyInfo(ring.kid, ring.public_key, "current")], options.json)
        return 0
    if options.action == "trust":
        kid = trust(folder, options.public_key)
        if options.json:
            common.print_json({"kid": kid, "role": "trusted"})
        else:
            common.print_text(f"receipts signed with {kid} are believed from now on")
        return 0
    keys = list_keys(folder)
    if options.action == "list":
        _print(keys, options.json)
        return 0
    own = [key for key in keys if key.role != "trusted"]
    if options.json:
        common.print_json({"keys": {key.kid: key.public_key.hex() for key in own}})
    else:
        for key in own:
            common.print_text(key.public_key.hex())
    return 0


def _print(keys: Sequence[KeyInfo], as_json: bool) -> None:
    if as_json:
        listed = [{"kid": key.kid, "public_key": key.public_key.hex(), "role": key.role} for key in keys]
        common.print_json({"keys": listed})
        return
    for key in keys:
        common.print_text(f"{key.role:8} {key.kid} {key.public_key.hex()}")
