from pathlib import Path

import numpy as np
import pytest

from engine.fake_model import FakeModel
from engine.language_model import Part, Rows
from engine.model import LlamaModel
from engine.selftest import COST_DEPTH, COST_REPEATS, COST_SIZES, cost_depth, exact_width, pass_costs


class Model(FakeModel):
    max_rows = 128


def test_a_model_whose_rows_depend_on_the_sequence_alone_is_exact_at_any_width() -> None:
    model = Model(ctx=1024, slots=2)
    model.decode([Part(0, [1, 2, 3], 0), Part(1, [4], 0)])
    assert exact_width(model) == 128
    assert model._sequences == [[], []]


def test_a_context_that_is_too_small_to_try_it_is_exact_at_one_row() -> None:
    assert exact_width(Model(ctx=136)) == 128
    assert exact_width(Model(ctx=135)) == 1


def drifting(rows: int, beyond: int, until: int = 10**6) -> FakeModel:
    """A model with one wrong bit in passes of `rows` and more that end between so many cells."""

    class Drifting(Model):
        def decode(self, parts: list[Part]) -> list[Rows]:  # type: ignore[override]
            results = super().decode(parts)
            inside = beyond < len(self._sequences[0]) <= until
            if len(parts[0].tokens) >= rows and inside and results[0].size:
                results[0][-1, 5] = np.nextafter(results[0][-1, 5], np.float32(9))
            return results

    return Drifting(ctx=1024)


@pytest.mark.parametrize("beyond", [0, 256, 512])
@pytest.mark.parametrize(
    ("rows", "width"), [(2, 1), (3, 2), (4, 3), (9, 8), (32, 31), (65, 64), (128, 64), (129, 128)]
)
def test_the_width_is_the_last_before_one_bit_differs(rows: int, width: int, beyond: int) -> None:
    assert exact_width(drifting(rows, beyond)) == width


@pytest.mark.parametrize(("beyond", "until"), [(0, 256), (256, 512), (512, 768)])
def test_each_number_of_cells_is_tried(beyond: int, until: int) -> None:
    assert exact_width(drifting(4, beyond, until)) == 3


def test_a_serial_row_that_differs_from_all_windows_leaves_one_row() -> None:
    class Split(Model):
        def decode(self, parts: list[Part]) -> list[Rows]:  # type: ignore[override]
            results = super().decode(parts)
            if len(parts[0].tokens) == 1 and len(self._sequences[0]) > 256:
                results[0][-1, 5] += 1
            return results

    assert exact_width(Split(ctx=1024)) == 1


def test_costs_are_measured_for_the_sizes_that_fit() -> None:
    assert list(pass_costs(Model(ctx=1024))) == list(COST_SIZES)
    model = Model(ctx=14)
    costs = pass_costs(model)
    assert list(costs) == [1, 4, 8, 12]
    assert all(cost > 0 for cost in costs.values())
    assert model._sequences == [[]]


def test_costs_are_measured_behind_as_many_cells_as_asked_for() -> None:
    depths = []

    class Watched(Model):
        def decode(self, parts: list[Part]) -> list[Rows]:  # type: ignore[override]
            depths.append(len(self._sequences[0]))
            return super().decode(parts)

    pass_costs(Watched(ctx=1024), 300)
    assert depths[:4] == [0, 128, 256, 300]
    assert set(depths[3:]) == {300}


class Timed(Model):
    """Passes take a millisecond a row by a clock of its own, the first after a wider one two more."""

    now_s, before = 0.0, 0

    def decode(self, parts: list[Part]) -> list[Rows]:  # type: ignore[override]
        rows = len(parts[0].tokens)
        self.now_s += (rows + (2 if self.before > rows else 0)) / 1000
        self.before = rows
        return super().decode(parts)


def test_what_a_pass_slows_in_the_next_one_is_its_own_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Timed(ctx=1024)
    monkeypatch.setattr("engine.selftest.time.perf_counter", lambda: model.now_s)
    costs = pass_costs(model)
    assert costs.pop(1) == pytest.approx(1)
    assert costs == pytest.approx({size: size + 2 for size in COST_SIZES[1:]})


@pytest.mark.parametrize(("slow", "passes"), [(1, COST_REPEATS), (8, 2), (1000, 1)])
def test_repeats_end_before_their_time_is_over(
    monkeypatch: pytest.MonkeyPatch, slow: int, passes: int
) -> None:
    model = Timed(ctx=1024)
    monkeypatch.setattr("engine.selftest.time.perf_counter", lambda: slow * model.now_s)
    widest: list[int] = []
    decode = model.decode

    def watched(parts: list[Part]) -> list[Rows]:
        widest.extend(1 for part in parts if len(part.tokens) == COST_SIZES[-1])
        return decode(parts)

    monkeypatch.setattr(model, "decode", watched)
    pass_costs(model)
    assert len(widest) == passes


@pytest.mark.parametrize(("ctx", "depth"), [(4096, COST_DEPTH), (576, 512), (300, 236), (128, 0), (14, 0)])
def test_a_second_depth_is_the_deepest_that_leaves_room_for_the_widest_pass(ctx: int, depth: int) -> None:
    assert cost_depth(Model(ctx=ctx)) == depth


def test_the_default_model_is_exact_with_bf16_caches(llama: LlamaModel) -> None:
    assert exact_width(llama) == llama.max_rows
    costs = pass_costs(llama)
    assert costs[64] > costs[1]


def test_the_default_model_is_not_exact_with_f16_caches(real_model: Path) -> None:
    model = LlamaModel(real_model, slots=1, ctx=512, threads=2, kv="f16")
    assert exact_width(model) == 1
    model.close()
