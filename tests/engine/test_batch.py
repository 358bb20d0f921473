import llama_cpp
import numpy as np
import pytest

from engine.batch import Batch
from engine.errors import DecodeFailed
from engine.language_model import Part


def rows(batch: Batch) -> list[tuple[int, int, int, int]]:
    """Token, position, sequence and whether logits are wanted, as llama.cpp reads them."""
    struct = batch.struct
    assert all(struct.n_seq_id[row] == 1 for row in range(struct.n_tokens))
    return [
        (struct.token[row], struct.pos[row], struct.seq_id[row][0], struct.logits[row])
        for row in range(struct.n_tokens)
    ]


def test_parts_stand_one_after_the_other_at_their_own_positions() -> None:
    batch = Batch(llama_cpp, 8)
    batch.add(Part(1, [5, 6, 7], 2), 10)
    batch.add(Part(0, np.array([8, 9]).tolist(), 0), 0)
    assert rows(batch) == [(5, 10, 1, 0), (6, 11, 1, 1), (7, 12, 1, 1), (8, 0, 0, 0), (9, 1, 0, 0)]
    batch.clear()
    batch.add(Part(2, [3], 1), 4)
    assert rows(batch) == [(3, 4, 2, 1)]


def test_what_does_not_fit_is_refused_before_an_array_is_overrun() -> None:
    batch = Batch(llama_cpp, 4)
    batch.add(Part(0, [1, 2, 3], 0), 0)
    with pytest.raises(DecodeFailed, match="5 rows is above the limit of 4"):
        batch.add(Part(1, [4, 5], 0), 0)
    assert len(rows(batch)) == 3
