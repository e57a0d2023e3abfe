"""Keys: the Ed25519 keyring of a store, on disk or from the environment. The only room that touches a secret.

What is signed is not known here. PyNaCl is imported when a key is first used.
"""

from __future__ import annotations

from crp_mcp.keys.folder import KeyInfo, list_keys, load_keyring, rotate, trust
from crp_mcp.keys.ring import Keyring, hkdf_sha256, verify_signature

__all__ = ["KeyInfo", "Keyring", "hkdf_sha256", "list_keys", "load_keyring", "rotate", "trust", "verify_signature"]
