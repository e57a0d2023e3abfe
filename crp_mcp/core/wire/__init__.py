"""One JSON-RPC message in, commands out: routing, ids, eras, interception. Sans-I/O: drivers do the rest."""
