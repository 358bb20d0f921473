"""What this model does on this machine: how wide a pass may be and stay exact, and what passes cost.

Invariant: `exact_width` counts bit for bit, and only what was tried; the sequences are left empty.
"""

import time
from itertools import takewhile

import numpy as np

from engine.language_model import LanguageModel, Part, Rows

SERIAL = 8
"""Tokens decoded one by one, which the ends of windows are compared with."""
WIDTHS = (2, 3, 8, 31, 64)
"""Kernels change at two rows, for rows left over from fours, at eight, and at 64; and the widest is tried."""
DEPTHS = (0, 260, 516)
"""Used cells before the serial tokens, at least: kernels change beyond 256, and perhaps beyond 512."""
COST_SIZES = (1, 4, 8, 12, 16, 24, 32, 48, 64)
COST_DEPTH = 512
MOST_CELLS = COST_DEPTH + COST_SIZES[-1]
COST_REPEATS = 5
COST_BUDGET_S = 4.0
"""What the repeats at one depth may take; the first is always made."""


def exact_width(model: LanguageModel) -> int:
    """Rows of the widest pass whose logits are those of serial decoding; 1 where the context has no room."""
    widths = [*(width for width in WIDTHS if width < model.max_rows), model.max_rows]
    ends = sorted({min(max(depth, model.max_rows) + SERIAL, model.ctx) for depth in DEPTHS})
    if ends[0] < model.max_rows + SERIAL:
        return 1
    _clear(model)
    tokens = [(7919 * (place + 1)) % model.vocabulary_size for place in range(ends[-1])]
    for start, end in zip([0, *ends], ends, strict=False):
        _fill(model, tokens[start : end - SERIAL])
        widths = _exact_widths(model, tokens[:end], widths)
    _clear(model)
    return max(widths, default=1)


def _exact_widths(model: LanguageModel, tokens: list[int], widths: list[int]) -> list[int]:
    """Those of `widths`, up to the first that fails, that the end of `tokens` can be decoded in.

    The model has all of `tokens` but the serial ones, and has them all afterwards.
    """
    serial = np.concatenate([_rows(model, [token], 1) for token in tokens[-SERIAL:]])

    def is_exact(width: int) -> bool:
        outputs = min(width, SERIAL)
        start = len(tokens) - width
        _fill(model, tokens[model.truncate(0, start) : start])
        return np.array_equal(_rows(model, tokens[-width:], outputs), serial[-outputs:])

    return list(takewhile(is_exact, widths))


def _fill(model: LanguageModel, tokens: list[int]) -> None:
    for start in range(0, len(tokens), model.max_rows):
        model.decode([Part(0, tokens[start : start + model.max_rows], 0)])


def _rows(model: LanguageModel, tokens: list[int], outputs: int) -> Rows:
    return model.decode([Part(0, tokens, outputs)])[0].copy()


def _clear(model: LanguageModel) -> None:
    for slot in range(model.slots):
        model.truncate(slot, 0)


def pass_costs(model: LanguageModel, depth: int = 1) -> dict[int, float]:
    """Milliseconds that a pass behind `depth` cells takes by its rows, all with logits.

    The next pass of one row takes longer after a wide one than after its like: that is the wide one's cost.
    The least of a few: what else a machine does adds to a pass and takes nothing from it.
    """
    sizes = [size for size in COST_SIZES if size <= min(model.max_rows, model.ctx - depth)]
    times: dict[int, list[float]] = {size: [] for size in sizes}
    after: dict[int, list[float]] = {size: [] for size in sizes}
    settled: list[float] = []
    _clear(model)
    _fill(model, [1] * depth)
    started = time.perf_counter()
    for repeat in range(COST_REPEATS):
        if repeat and (time.perf_counter() - started) * (repeat + 1) / repeat > COST_BUDGET_S:
            break
        for size in sizes:
            times[size].append(_pass_ms(model, depth, size))
            after[size].append(_pass_ms(model, depth, 1))
            settled.append(_pass_ms(model, depth, 1))
    _clear(model)
    return {size: min(times[size]) + max(0.0, min(after[size]) - min(settled)) for size in sizes}


def _pass_ms(model: LanguageModel, depth: int, size: int) -> float:
    started = time.perf_counter()
    model.decode([Part(0, [1] * size, size)])
    took_ms = 1000 * (time.perf_counter() - started)
    model.truncate(0, depth)
    return took_ms


def cost_depth(model: LanguageModel) -> int:
    """Where passes are measured a second time, as each row attends to all cells; 0 in too small a context."""
    depth = min(COST_DEPTH, model.ctx - COST_SIZES[-1])
    return depth if depth > COST_SIZES[-1] else 0
