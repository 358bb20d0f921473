import numpy as np
import pytest

from engine.fake_model import FakeModel
from engine.language_model import Part, Rows
from engine.model import LlamaModel
from engine.selftest import is_deterministic


@pytest.mark.parametrize("ctx", [8, 48, 512])
def test_a_model_whose_rows_depend_on_the_sequence_alone_passes(ctx: int) -> None:
    model = FakeModel(ctx=ctx)
    assert is_deterministic(model)
    assert model._sequences == [[]]


@pytest.mark.parametrize(("rows", "cells"), [(8, 0), (31, 0), (8, 256), (31, 256)])
def test_one_bit_that_depends_on_the_window_is_found(rows: int, cells: int) -> None:
    class Drifting(FakeModel):
        def decode(self, parts: list[Part]) -> list[Rows]:  # type: ignore[override]
            begun = len(self._sequences[0])
            results = super().decode(parts)
            if parts[0].outputs == rows and begun >= cells:
                results[0][3, 5] = np.nextafter(results[0][3, 5], np.float32(9))
            return results

    assert not is_deterministic(Drifting(ctx=512))


def test_the_default_model_with_bf16_caches_passes(llama: LlamaModel) -> None:
    assert is_deterministic(llama)
