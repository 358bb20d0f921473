"""The engine's promise: in exact mode the answer is that of plain generation, for every draft, whatever it
is drafted from, by either algorithm, however many slots are busy and whatever they had cached."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from engine.cost import Calibration
from engine.draft_model import DraftModel
from engine.fake_model import FakeModel
from engine.language_model import Part, Rows
from engine.stabilize import Drafting
from engine.worker import Worker

PAIRS = 640
"""For each of eight ways to serve them."""
END = 258
WAYS = [
    pytest.param(slots, exact_width, id=f"{slots} slots, exact to {exact_width}")
    for slots, exact_width in ((1, 128), (1, 1), (1, 8), (1, 31), (2, 128), (2, 31), (4, 128), (4, 1))
]
SOURCES = [None, ["stale"], ["lookup"], ["model"], ["stale", "model"], ["stale", "lookup", "model"]]


class Quick(FakeModel):
    """Logits of the last one or two tokens, computed once; few tokens are likely, so texts repeat."""

    max_rows = 128

    def __init__(self, *, slots: int, seed: int, order: int) -> None:
        super().__init__(slots=slots, ctx=256, seed=seed, order=order, answer=None)
        self._logits_of = cache(super()._logits)
        self.widest = 0
        """Rows of the widest pass over windows with drafts."""

    def decode(self, parts: Sequence[Part]) -> list[Rows]:
        rows = sum(len(part.tokens) for part in parts if part.outputs > 1)
        self.widest = max(self.widest, rows)
        return super().decode(parts)

    def _logits(self, sequence: list[int]) -> np.ndarray:
        return self._logits_of(tuple(sequence[-self._order :]))


def adversarial(random: np.random.Generator, answer: list[int], other: list[int], size: int) -> list[int]:
    """A draft that misleads, or helps now and then."""
    noise = random.integers(0, size, int(random.integers(40))).tolist()
    cut = int(random.integers(len(answer) + 1))
    return [
        noise,
        other,
        answer,
        answer[:cut],
        answer[cut:],
        answer + answer,
        answer + noise + answer,
        [*answer[:cut], END, *answer[cut:]],
        [*answer[:cut], *noise[:2], *answer[cut + int(random.integers(3)) :]],
        [token for both in zip(answer, other, strict=False) for token in both],
        [],
    ][int(random.integers(11))]


@pytest.mark.parametrize(("slots", "exact_width"), WAYS)
def test_exact_mode_equals_plain_generation(
    slots: int, exact_width: int, greedy: Callable, submit: Callable
) -> None:
    random = np.random.default_rng([slots, exact_width])
    pairs = held = drafted = 0
    while pairs < PAIRS:
        seed, order = int(random.integers(10**6)), int(random.integers(1, 3))
        model = Quick(slots=slots, seed=seed, order=order)
        guess = Quick(slots=slots, seed=seed + int(random.integers(2)), order=order)
        drafting = Drafting(Calibration(exact_width), DraftModel(guess, float(random.uniform(0, 3))))
        worker = Worker(model, 64, drafting)
        prompts = [random.integers(0, 300, int(random.integers(1, 60))).tolist() for _ in range(2)]
        limits = [int(random.integers(1, 60)) for _ in prompts]
        plain = [greedy(model, *it) for it in zip(prompts, limits, strict=True)]
        waiting = []
        for _ in range(16):
            which = int(random.integers(2))
            draft = adversarial(random, plain[which], plain[1 - which], model.vocabulary_size)
            stabilize = {
                "old_output": draft,
                "tau": 0,
                "floor": 0,
                "horizon": int(random.integers(1, 80)),
                "max_tokens": limits[which],
            }
            if random.random() < 0.3:
                stabilize |= {"algorithm": "anchor", "anchor_len": int(random.integers(1, 5))}
            else:
                stabilize |= {"draft_sources": SOURCES[int(random.integers(len(SOURCES)))]}
            body = {"prompt": prompts[which], "cache_prompt": random.random() < 0.8}
            waiting.append((which, draft, submit(worker, **body, redraft_stabilize=stabilize)[1]))
        while not all(told.outcomes for _, _, told in waiting):
            worker.step()
        assert model.widest <= exact_width
        for which, draft, told in waiting:
            result = told.result
            assert result.redraft_emitted == plain[which]
            said = zip(plain[which], result.redraft_src, strict=True)
            assert all(source < 0 or draft[source] == token for token, source in said)
            assert (
                result.tokens_cached == len(prompts[which]) + result.redraft_rows - result.redraft_wasted_rows
            )
            held += result.redraft_held_fraction > 0
            drafted += sum(result.redraft_drafted.values())
            pairs += 1
    assert held > PAIRS / 5
    assert (drafted == 0) == (exact_width == 1)
