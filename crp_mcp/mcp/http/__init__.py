"""The streamable HTTP front: both wire eras on one path, over bytes, for many tenants. Loaded only where it is used."""
