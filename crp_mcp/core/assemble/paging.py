"""What a next answer goes on with: what was found less what was delivered; a digest tells whether it is still that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import orjson

from crp_mcp.core.request.nodes import MAX_DEPTH, Node

from .corpus import About, Corpus
from .fuse import Found

Nodes = Callable[[str], Node | None]
KEYED_MOST = 100
"""Nodes that are part of the digest, as many as one answer looks at."""


def key_of(node: Node) -> str:
    """Equal for equal content; "" for a node that has none."""
    if node.content_key or not node.body:
        return node.content_key
    return hashlib.sha256(node.body.encode("utf-8", "replace")).hexdigest()


def after(
    found: Sequence[tuple[Found, About]], corpus: Corpus, nodes: Nodes, before: Mapping[str, int]
) -> list[tuple[Found, About]]:
    """What is left of it: neither delivered, nor a part of something that was delivered whole."""
    deep = {uri: nodes(uri) for uri, depth in before.items() if depth >= MAX_DEPTH}
    whole = {uri for uri, node in deep.items() if node is not None and node.whole}
    return [
        (one, about) for one, about in found if one.uri not in before and not _stands_in(about.parent, whole, corpus)
    ]


def _stands_in(parent: str | None, whole: set[str], corpus: Corpus) -> bool:
    while parent is not None:
        if parent in whole:
            return True
        about = corpus.about(parent)
        parent = about.parent if about is not None else None
    return False


def digest_of(found: Sequence[tuple[Found, About]], nodes: Nodes) -> str:
    """A digest of what was found first, and what it holds. Scores change with any edit anywhere: no part of it."""
    said = [[one.uri, key_of(node) if (node := nodes(one.uri)) is not None else None] for one, _ in found[:KEYED_MOST]]
    return hashlib.sha256(orjson.dumps(said)).hexdigest()
