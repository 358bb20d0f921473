"""Plans and drives replays, sums them up, reports on them, and the `redraft` command."""
