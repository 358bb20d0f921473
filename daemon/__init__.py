"""redraftd: section sessions in front of the engine. Its door is HTTP; `daemon.wire` holds the values."""
