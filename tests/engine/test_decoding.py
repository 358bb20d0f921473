from collections.abc import Callable

import numpy as np
import pytest

from engine.cost import Calibration
from engine.decoding import Decision
from engine.stabilize import Drafting, decoding_for
from engine.wire import Stabilize

END = 0


def test_a_decision_comes_from_nowhere_unless_told() -> None:
    assert Decision(5) == (5, -1, False, None)


@pytest.mark.parametrize("algorithm", ["adaptive", "anchor"])
@pytest.mark.parametrize("tau", [0, 2])
def test_decodings_keep_to_their_room_and_decide_what_they_keep(
    algorithm: str, tau: float, scripted: Callable, drive: Callable
) -> None:
    """`drive` asserts it pass by pass."""
    random = np.random.default_rng(1)
    for seed in range(100):
        draft = random.integers(0, 9, int(random.integers(60))).tolist()
        request = Stabilize.model_validate(
            {"old_output": draft, "algorithm": algorithm, "tau": tau, "floor": 0}
        )
        decoding = decoding_for(
            request, Drafting(Calibration(64)), [1, 2, 3], 40, 0, lambda token: token == END
        )
        assert len(drive(decoding, scripted(seed, 9, order=1), 40, random, END)) > 0
