"""Proof: strict JSON, canonical JSON, Merkle trees, labels, signed receipts, the audit chain.

Pure: bytes and values in, bytes and values out. Keys, signatures, clock, randomness and storage are passed in.
Nothing here is imported on the way to the first answer of a server; import the module you need.
"""
