from pathlib import Path

import numpy as np
import pytest

from engine.fake_model import FakeModel
from engine.language_model import Part, Rows
from engine.model import LlamaModel
from engine.selftest import is_deterministic


class Model(FakeModel):
    max_rows = 128


def test_a_model_whose_rows_depend_on_the_sequence_alone_passes() -> None:
    model = Model(ctx=512)
    model.decode([Part(0, [1, 2, 3], 0)])
    assert is_deterministic(model)
    assert model._sequences == [[]]


def test_a_context_that_is_too_small_to_try_it_does_not_pass() -> None:
    assert is_deterministic(Model(ctx=289))
    assert not is_deterministic(Model(ctx=288))


@pytest.mark.parametrize(
    ("rows", "beyond"),
    [*((rows, False) for rows in (1, 8, 31, 64, 128)), *((rows, True) for rows in (1, 8, 31, 128))],
)
def test_one_bit_that_depends_on_the_window_is_found(rows: int, beyond: bool) -> None:
    class Drifting(Model):
        def decode(self, parts: list[Part]) -> list[Rows]:  # type: ignore[override]
            results = super().decode(parts)
            if len(parts[0].tokens) == rows and (len(self._sequences[0]) > 256) == beyond:
                results[0][0, 5] = np.nextafter(results[0][0, 5], np.float32(9))
            return results

    assert not is_deterministic(Drifting(ctx=512))


def test_the_default_model_with_bf16_caches_passes(llama: LlamaModel) -> None:
    assert is_deterministic(llama)


def test_the_default_model_with_f16_caches_does_not_pass(real_model: Path) -> None:
    model = LlamaModel(real_model, slots=1, ctx=512, threads=2, kv="f16")
    assert not is_deterministic(model)
    model.close()
