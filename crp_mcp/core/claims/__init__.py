"""Text -> claims -> aligned results -> verdicts (SPEC-029 §6). Pure and deterministic; no model, no network."""
