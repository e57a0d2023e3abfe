"""Servers over HTTP: the two transports, their headers, and who we are to them. Loads only where one is configured."""
