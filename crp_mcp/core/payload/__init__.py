"""Tool result JSON -> the exact bytes to hash and store, and back with summaries in place of floods.

`extract_payload`, `text_blocks`, `replace_with_summary` and `strip_reserved` work on bytes in memory.
"""

from .extract import extract_payload, text_blocks
from .model import NotExact, Payload, Scan, Span, Structured, TextBlock
from .replace import replace_with_summary, strip_reserved

__all__ = [
    "NotExact",
    "Payload",
    "Scan",
    "Span",
    "Structured",
    "TextBlock",
    "extract_payload",
    "replace_with_summary",
    "strip_reserved",
    "text_blocks",
]
