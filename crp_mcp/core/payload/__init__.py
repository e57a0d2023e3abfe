"""Tool result JSON -> the exact bytes to hash and store, and back with summaries in place of floods.

`extract_payload`, `text_blocks`, `replace_with_summary` and `strip_reserved` work on bytes in memory; `open_payload`,
`iter_text`, `replace_spooled` and `strip_spooled` do the same to a result in a spooled line, a window at a time.
"""

from .extract import extract_payload, text_blocks
from .model import BlockScan, NotExact, Payload, Scan, Span, Structured, TextBlock
from .replace import replace_with_summary, strip_reserved
from .scan import Read, scan_result
from .stream import SpooledPayload, TextSpan, open_payload, replace_spooled, strip_spooled
from .text import iter_text, iter_windows

__all__ = [
    "BlockScan",
    "NotExact",
    "Payload",
    "Read",
    "Scan",
    "Span",
    "SpooledPayload",
    "Structured",
    "TextBlock",
    "TextSpan",
    "extract_payload",
    "iter_text",
    "iter_windows",
    "open_payload",
    "replace_spooled",
    "replace_with_summary",
    "scan_result",
    "strip_reserved",
    "strip_spooled",
    "text_blocks",
]
