"""Context on request: the three tiers and the workspace as one corpus, assembled, receipted and remembered."""
