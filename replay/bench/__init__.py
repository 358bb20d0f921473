"""How fast the arms are on this machine, beside what is possible at all."""
