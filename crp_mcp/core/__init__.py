"""Pure rooms: no async, files, clock, randomness, logging, network, SDK or database. Everything impure is passed in."""
