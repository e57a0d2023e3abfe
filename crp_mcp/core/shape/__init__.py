"""Payload bytes -> shape: kind, rows, columns or tree. Pure; any bytes at all, never an exception."""
