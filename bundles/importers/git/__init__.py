"""Edit sessions out of a git history: consecutive revisions of the sections of its documents."""
