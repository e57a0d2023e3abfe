"""Bridges between the two wire eras, loaded where host and server speak different ones. See `base`."""
