"""Whether this model, on this machine, gives the same logits in windows as one token at a time.

Invariant: bit for bit, or `deterministic` is false. Slot 0 is used and left empty.
"""

from collections.abc import Sequence

import numpy as np

from engine.language_model import LanguageModel, Part, Rows

PREFIXES = (16, 264)
"""Used cells before the window: few, and beyond the 256 where kernels change."""
WINDOWS = (8, 31)
SERIAL = 8
"""Rows of each window that are compared."""


def is_deterministic(model: LanguageModel) -> bool:
    """Compare serial decoding with windows of 8 and 31 rows, over short and long prefixes."""
    tokens = [(7919 * (index + 1)) % model.vocabulary_size for index in range(max(PREFIXES) + max(WINDOWS))]
    same = True
    for prefix in PREFIXES:
        if prefix + max(WINDOWS) <= model.ctx:
            same = same and _windows_equal_serial(model, tokens[: prefix + max(WINDOWS)], prefix)
    model.truncate(0, 0)
    return same


def _windows_equal_serial(model: LanguageModel, tokens: Sequence[int], prefix: int) -> bool:
    model.truncate(0, 0)
    for start in range(0, prefix, model.max_rows):
        model.decode([Part(0, tokens[start : min(prefix, start + model.max_rows)], 0)])
    serial = [_rows(model, [token]).copy() for token in tokens[prefix : prefix + SERIAL]]
    expected = np.concatenate(serial)
    for window in WINDOWS:
        model.truncate(0, prefix)
        if not np.array_equal(_rows(model, tokens[prefix : prefix + window])[:SERIAL], expected):
            return False
    return True


def _rows(model: LanguageModel, tokens: Sequence[int]) -> Rows:
    return model.decode([Part(0, tokens, len(tokens))])[0]
