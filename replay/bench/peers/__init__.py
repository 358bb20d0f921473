"""Other software on the same model, measured in the same way."""
