"""Where a text states what a fact speaks of: one module a kind of matcher, and how it is stated."""
