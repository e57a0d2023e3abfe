"""The transparency report: drives a server directly and through us, and tells what differs, token by token."""
