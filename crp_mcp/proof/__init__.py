"""Pure proofs: strict JSON, canonical JSON, Merkle trees, the label lattice, receipts, the audit chain."""
