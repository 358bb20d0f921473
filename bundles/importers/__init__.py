"""One module per format that sessions are read from."""
