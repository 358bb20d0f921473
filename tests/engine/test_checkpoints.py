from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.checkpoints import SPACING, CheckpointedModel, Checkpoints
from engine.cost import FIXED_COST, Calibration, PassCost
from engine.draft_model import DraftModel
from engine.errors import DecodeFailed
from engine.fake_model import FakeModel
from engine.language_model import Part, Rows
from engine.selftest import exact_width, pass_costs
from engine.stabilize import Drafting
from engine.worker import Worker

COSTLY = PassCost({int(rows): cost for rows, cost in FIXED_COST.as_table().items()}, rolls_back=False)


class Forward(FakeModel):
    """Goes back to checkpoints alone, as llama.cpp does with recurrent memory."""

    max_rows = 16
    rolls_back = cuts_states = False

    def __init__(self, **options: object) -> None:
        super().__init__(answer=None, **options)
        self._logits_of = cache(super()._logits)
        self.passes = self.rows = 0

    def _logits(self, sequence: Sequence[int]) -> np.ndarray:
        return self._logits_of(tuple(sequence[-self._order :]))

    def decode(self, parts: Sequence[Part]) -> list[Rows]:
        self.passes += 1
        self.rows += sum(len(part.tokens) for part in parts)
        return super().decode(parts)

    def truncate(self, slot: int, length: int) -> int:
        return super().truncate(slot, length if length == len(self._sequences[slot]) else 0)

    def checkpoint(self, slot: int) -> bytes:
        return self.state(slot)

    def return_to(self, slot: int, data: bytes, length: int) -> int:
        self.set_state(slot, data, length)
        return length


@given(data=st.data(), budget=st.integers(0, 40))
def test_checkpoints_are_the_last_and_those_far_apart(data: st.DataObject, budget: int) -> None:
    kept = Checkpoints(2, budget)
    lengths = [0, 0]
    for _ in range(data.draw(st.integers(1, 20))):
        slot = data.draw(st.integers(0, 1))
        if data.draw(st.integers(0, 3)):
            lengths[slot] += data.draw(st.integers(1, 30))
            kept.add(slot, lengths[slot], bytes([lengths[slot] % 256]) * 4)
        else:
            most = data.draw(st.integers(0, lengths[slot]))
            left, content = kept.go_back(slot, most)
            assert left <= most
            assert content == bytes([left % 256]) * 4 * (left > 0)
            lengths[slot] = left
        assert [kept.latest(slot) for slot in range(2)] == lengths
        assert kept.used_bytes <= max(budget, 4 * sum(length > 0 for length in lengths))
    for slot in range(2):
        kept.go_back(slot, 0)
    assert kept.used_bytes == 0


def test_the_closest_checkpoints_make_way() -> None:
    kept = Checkpoints(1, 4)
    for length in (10, 20, 25, 40, 60):
        kept.add(0, length, b"x")
    assert [kept.go_back(0, most)[0] for most in (59, 39, 24, 19, 9)] == [40, 25, 10, 10, 0]


class Sequences(RuleBasedStateMachine):
    """Whatever is decoded, forgotten or restored, a sequence is what it should be or a beginning of it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Forward(slots=2, ctx=2000)
        self.model = CheckpointedModel(self.inner, budget_bytes=300)
        self.wanted: list[list[int]] = [[], []]
        self.saved: list[tuple[bytes, list[int]]] = []

    @rule(slot=st.integers(0, 1), size=st.integers(1, 16), data=st.data())
    def decode(self, slot: int, size: int, data: st.DataObject) -> None:
        tokens = data.draw(st.lists(st.integers(0, 400), min_size=size, max_size=size))
        self.model.decode([Part(slot, tokens, data.draw(st.integers(0, size)))])
        self.wanted[slot] += tokens

    @rule(slot=st.integers(0, 1), data=st.data())
    def forget(self, slot: int, data: st.DataObject) -> None:
        length = data.draw(st.integers(0, len(self.wanted[slot])))
        left = self.model.truncate(slot, length)
        assert left <= length
        del self.wanted[slot][left:]

    @rule(slot=st.integers(0, 1))
    def save(self, slot: int) -> None:
        self.saved.append((self.model.state(slot), list(self.wanted[slot])))

    @precondition(lambda self: self.saved)
    @rule(slot=st.integers(0, 1), data=st.data(), damaged=st.booleans())
    def restore(self, slot: int, data: st.DataObject, damaged: bool) -> None:
        state, tokens = data.draw(st.sampled_from(self.saved))
        if damaged:
            with pytest.raises(DecodeFailed):
                self.model.set_state(slot, state + b"x", len(tokens))
            tokens = []
        else:
            self.model.set_state(slot, state, len(tokens))
        self.wanted[slot] = list(tokens)

    @invariant()
    def sequences_are_what_they_should_be(self) -> None:
        assert self.inner._sequences == self.wanted


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=60, stateful_step_count=30)


def test_a_rejected_window_costs_what_stood_of_it_and_no_more() -> None:
    model = CheckpointedModel(Forward())
    model.decode([Part(0, [1] * 10, 0)])
    model.decode([Part(0, [2], 1)])
    model.decode([Part(0, [3, 4, 5, 6], 4)])
    assert model.truncate(0, 15) == 15
    assert model.truncate(0, 13) == 11
    model.decode([Part(0, [3, 4, 7], 1)])
    assert model.truncate(0, 13) == 11


def test_a_prompt_is_gone_back_to_by_passes_and_an_answer_by_spacing() -> None:
    model = CheckpointedModel(Forward())
    for _ in range(3):
        model.decode([Part(0, [1] * 16, 0)])
    model.decode([Part(0, [2], 1)])
    for _ in range(SPACING + 10):
        model.decode([Part(0, [3], 1)])
    assert [model.truncate(0, length) for length in (310, 303, 40, 31, 15)] == [304, 48, 32, 16, 0]


@pytest.mark.parametrize(("slots", "budget"), [(1, 0), (2, 2000), (3, 10**6)])
def test_exact_mode_equals_plain_generation(
    slots: int, budget: int, greedy: Callable, submit: Callable
) -> None:
    """Also where every checkpoint but the last of a sequence is soon gone."""
    random = np.random.default_rng([slots, budget])
    wasted = drafted = 0
    for seed in range(6):
        options = {"ctx": 256, "seed": seed, "order": 1 + seed % 2}
        inner = Forward(slots=slots, **options)
        model = CheckpointedModel(inner, budget)
        worker = Worker(model, 64, Drafting(Calibration(16, COSTLY)))
        prompts = [random.integers(0, 300, int(random.integers(1, 60))).tolist() for _ in range(2)]
        plain = [greedy(Forward(**options), prompt, 50) for prompt in prompts]
        told = []
        for number in range(12):
            which = int(random.integers(2))
            answer, other = plain[which], plain[1 - which]
            cut = int(random.integers(len(answer) + 1))
            noise = random.integers(0, 300, 3).tolist()
            draft = [answer, other, [], noise, answer[:cut], answer + answer,
                     [*answer[:cut], *noise, *answer[cut + 3 :]]][int(random.integers(7))]  # fmt: skip
            body = {
                "old_output": draft,
                "tau": 0,
                "max_tokens": 50,
                "algorithm": ("adaptive", "anchor")[number % 2],
            }
            cached = bool(random.integers(4))
            _, it = submit(worker, prompt=prompts[which], cache_prompt=cached, redraft_stabilize=body)
            told.append((which, it))
        while not all(it.outcomes for _, it in told):
            worker.step()
            assert [slot.cache for slot in worker.slots] == inner._sequences
        for which, it in told:
            result = it.result
            assert result.redraft_emitted == plain[which]
            answered = result.redraft_rows - result.redraft_wasted_rows
            assert result.tokens_cached == len(prompts[which]) + answered
            wasted += result.redraft_wasted_rows
            drafted += sum(result.redraft_drafted.values())
        assert worker.counts.rows == inner.rows
    assert wasted
    assert drafted


def test_rows_decoded_again_are_counted(complete: Callable) -> None:
    """A draft that goes wrong in the middle: what stood of its window, once more, beside the correction."""
    inner = Forward(ctx=256, seed=3)
    worker = Worker(CheckpointedModel(inner), 4, Drafting(Calibration(16, COSTLY)))
    plain = complete(worker, prompt=[5] * 20, n_predict=30, return_tokens=True).result
    draft = [*plain.tokens[:9], 1, *plain.tokens[10:]]
    before = inner.passes, inner.rows
    body = {"old_output": draft, "tau": 0, "max_tokens": 30, "algorithm": "anchor", "horizon": 16}
    result = complete(worker, prompt=[5] * 20, redraft_stabilize=body).result
    assert result.redraft_emitted == plain.tokens
    in_prompt = 1
    assert inner.passes - before[0] == result.redraft_passes + in_prompt
    assert inner.rows - before[1] == result.redraft_rows + in_prompt
    # The window of the second token on holds 16; 8 of them stand and are decoded again with the correction.
    assert result.redraft_wasted_rows == 8 + 8


def test_the_same_prompt_is_reused_up_to_its_last_token(complete: Callable) -> None:
    worker = Worker(CheckpointedModel(Forward(ctx=256)), 4)
    for cached in (0, 39):
        result = complete(worker, prompt=list(range(40)), n_predict=9).result
        assert result.timings.cache_n == cached


def test_an_edited_prompt_is_reused_up_to_a_checkpoint_before_the_edit(complete: Callable) -> None:
    worker = Worker(CheckpointedModel(Forward(ctx=256)), 4)
    complete(worker, prompt=list(range(100)), n_predict=9)
    result = complete(worker, prompt=[*range(50), 7, *range(51, 100)], n_predict=9).result
    assert result.timings.cache_n == 48


def test_a_refused_roll_back_never_spoils_an_answer(
    complete: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that should roll back and does not: its sequence is decoded anew each time."""
    model = FakeModel(ctx=256, answer=None)
    monkeypatch.setattr(model, "is_end", lambda _: False)
    plain = complete(Worker(model, 4), prompt=[5] * 60, n_predict=40, return_tokens=True).result.tokens
    truncate = model.truncate
    monkeypatch.setattr(model, "truncate", lambda slot, length: truncate(slot, 0))
    worker = Worker(model, 4)
    draft = [token if place % 7 else 1 for place, token in enumerate(plain)]
    for algorithm in ("adaptive", "anchor"):
        body = {"old_output": draft, "tau": 0, "max_tokens": 40, "algorithm": algorithm}
        result = complete(worker, prompt=[5] * 60, redraft_stabilize=body).result
        assert result.redraft_emitted == plain
        assert result.redraft_wasted_rows > 20


def test_a_draft_model_that_cannot_roll_back_decodes_little_again() -> None:
    inner = Forward(ctx=900)
    drafts = DraftModel(CheckpointedModel(inner), 1.0)
    text = [7] * 300
    for _ in range(4):
        before = inner.rows
        said = drafts.draft(0, text, 8)
        assert said == DraftModel(FakeModel(ctx=900, answer=None), 1.0).draft(0, text, 8)
        text += [*said[:3], 5]
    assert inner.rows - before < 20


def test_the_self_test_sees_what_is_decoded_again() -> None:
    model = CheckpointedModel(Forward(ctx=1024))
    assert exact_width(model) == 16
    assert 1 in pass_costs(model)
