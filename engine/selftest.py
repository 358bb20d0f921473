"""Whether this model, on this machine, gives the same logits in windows as one token at a time.

Invariant: bit for bit, or `deterministic` is false; false too where the context is too small to try it.
Slot 0 is used and left empty.
"""

import numpy as np

from engine.language_model import LanguageModel, Part

PREFIX = 33
CUTS = ((64, 31, 8, 1, 1), (31, 8, 1, 1))
"""Two of the widest passes follow the prefix, and the end of each is decoded again in these. Kernels change
at 64 rows, for rows left over from fours, and at 256 used cells, which all cuts of the second are beyond."""


def is_deterministic(model: LanguageModel) -> bool:
    """Compare passes of `max_rows`, the widest in use, with narrower ones down to one row."""
    ends = [PREFIX + (index + 1) * model.max_rows for index in range(len(CUTS))]
    tokens = [(7919 * (index + 1)) % model.vocabulary_size for index in range(ends[-1])]
    if model.ctx < len(tokens):
        return False
    model.truncate(0, 0)
    model.decode([Part(0, tokens[:PREFIX], 0)])
    same = all(_whole_equals_cuts(model, tokens[:end], cuts) for end, cuts in zip(ends, CUTS, strict=True))
    model.truncate(0, 0)
    return same


def _whole_equals_cuts(model: LanguageModel, tokens: list[int], cuts: tuple[int, ...]) -> bool:
    """Decode the last `max_rows` of `tokens`, which the model does not have yet, both ways."""
    whole = model.decode([Part(0, tokens[-model.max_rows :], sum(cuts))])[0].copy()
    place = len(tokens) - sum(cuts)
    model.truncate(0, place)
    cut = []
    for size in cuts:
        cut.append(model.decode([Part(0, tokens[place : place + size], size)])[0].copy())
        place += size
    return np.array_equal(whole, np.concatenate(cut))
