"""The tools the model sees: their definitions, argument checks and answers."""
