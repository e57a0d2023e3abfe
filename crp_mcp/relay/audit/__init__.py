"""Holding a store against what its audit chain and its signed receipts say of it."""
