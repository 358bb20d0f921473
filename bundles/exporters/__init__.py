"""One module per format that bundles are written in."""
