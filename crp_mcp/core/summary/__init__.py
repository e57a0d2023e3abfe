"""Shape -> text within a hard token cap. Pure and deterministic: no model, no network, no clock."""
