"""`python -m benchmarks [--quick]`: every figure of the product, measured side by side, as one table."""

from __future__ import annotations

import sys

from . import capture, relay
from .harness import table

if __name__ == "__main__":
    quick = "--quick" in sys.argv
    print(table([*relay.measure(quick=quick), *capture.measure(quick=quick)]))
    print("\nThe store's, the proofs' and the queries' own: python -m benchmarks.store, .proof, .query")
