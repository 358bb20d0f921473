"""Replies kept in a folder, one file each, by the hash of what was asked.

Invariant: a file appears whole or not at all, so any number of processes may share a folder; whether its
text is still an answer is for whoever asks to check.
"""

import os
import tempfile
from pathlib import Path


class ReplyCache:
    """A folder of replies, made on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> str | None:
        """The reply of a key (hex); None where there is none."""
        try:
            return self._path(key).read_bytes().decode(errors="replace")
        except FileNotFoundError:
            return None

    def put(self, key: str, text: str) -> None:
        """Keeps a reply in place of what the key had."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as new:
            try:
                new.write(text.encode())
                new.close()
                os.replace(new.name, path)
            except BaseException:
                os.unlink(new.name)
                raise

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]
