"""Public names where many servers meet: as they are unless two collide, then `<server>_<name>`, short and stable."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping

MAX_NAME = 48
_HASH = 8
_HEAD = (MAX_NAME - _HASH - 2) // 2
_HASHED = re.compile(rf"_[0-9a-f]{{{_HASH}}}(?:_|$)")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")

Original = tuple[str, str]
"""Server and the name it uses itself."""


def prefixed(prefix: str, name: str, identity: Original) -> str:
    """`<prefix>_<name>` in `[A-Za-z0-9_-]`, at most `MAX_NAME` characters, a hash of `identity` in longer ones' middle.

    A name that had to be changed otherwise, by replacing characters, carries the hash too, so that two such names
    stay two.
    """
    wanted = f"{prefix}_{name}"
    clean = _FOREIGN.sub("_", wanted)
    if clean == wanted and len(clean) <= MAX_NAME:
        return clean
    return with_hash(clean, identity)


def with_hash(clean: str, identity: Original) -> str:
    """Start and end of a name, a hash of what it stands for between them."""
    import hashlib  # rarely needed, and slow to load

    digest = hashlib.sha256("\0".join(identity).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    room = MAX_NAME - _HASH - 2
    if len(clean) <= room:
        return f"{clean}_{digest}"
    return f"{clean[:_HEAD]}_{digest}_{clean[len(clean) - (room - _HEAD) :]}"


def may_be_of(public: str, server: str, prefix: str | None, shown: Callable[[str], bool]) -> bool:
    """Whether a server that has not listed yet may turn out to own this name. False only where it cannot.

    `shown`: whether the server's rules let a name of its own through.
    """
    if prefix is None and shown(public):
        return True
    front = f"{server if prefix is None else prefix}_"
    if len(public) <= MAX_NAME and public.startswith(front) and shown(public[len(front) :]):
        return True
    # A hash stands for a name that cannot be read back.
    return bool(_HASHED.search(public)) and public.startswith(_FOREIGN.sub("_", front)[:_HEAD])


def public_names(
    names: Iterable[Original], prefixes: Mapping[str, str | None], taken: Container[str] = ()
) -> dict[Original, str]:
    """A public name for every original one. The outcome does not depend on the order of `names`.

    `prefixes`: by server, what its names get in front in any case; None: only where names collide.
    `taken`: names that are ours; whatever has one of them gets the prefix.
    """
    originals = sorted(set(names))
    uses = Counter(name for server, name in originals if prefixes.get(server) is None)
    public: dict[Original, str] = {}
    for server, name in originals:
        prefix = prefixes.get(server)
        if prefix is None and uses[name] == 1 and name not in taken:
            public[server, name] = name
        else:
            public[server, name] = prefixed(server if prefix is None else prefix, name, (server, name))
    clashes = Counter(public.values())
    for original, name in public.items():
        if (clashes[name] > 1 and name != original[1]) or (name in taken):
            public[original] = with_hash(_FOREIGN.sub("_", name), original)
    return public
