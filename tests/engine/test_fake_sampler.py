import numpy as np
import pytest

from engine.fake_sampler import NumpySampler
from engine.sampling import Sampling

ROW = np.log(np.array([0.4, 0.3, 0.15, 0.1, 0.05], np.float32))
OPEN = Sampling(temperature=1, top_k=0, top_p=1, min_p=0, seed=1)


def drawn(sampling: Sampling, row: np.ndarray = ROW, accepted: tuple[int, ...] = ()) -> list[float]:
    """How often each token comes, of 2000 draws."""
    sampler = NumpySampler(sampling, ctx=100)
    for token in accepted:
        sampler.accept(token)
    return np.bincount([sampler.sample(row) for _ in range(2000)], minlength=5) / 2000


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (OPEN, [0.4, 0.3, 0.15, 0.1, 0.05]),
        (OPEN._replace(top_k=2), [4 / 7, 3 / 7, 0, 0, 0]),
        (OPEN._replace(top_p=0.8), [0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0]),
        (OPEN._replace(top_p=0), [1, 0, 0, 0, 0]),
        (OPEN._replace(min_p=0.3), [0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0]),
        (OPEN._replace(temperature=1e-9), [1, 0, 0, 0, 0]),
        (OPEN._replace(temperature=0), [1, 0, 0, 0, 0]),
    ],
)
def test_the_distribution_is_cut_and_drawn_from(sampling: Sampling, expected: list[float]) -> None:
    assert drawn(sampling) == pytest.approx(expected, abs=0.04)


def test_penalties_look_at_the_last_tokens() -> None:
    greedy = Sampling(repeat_penalty=3, seed=1)
    assert drawn(greedy, accepted=(0,))[1] == 1
    assert drawn(greedy._replace(repeat_last_n=1), accepted=(0, 4))[0] == 1
    assert drawn(Sampling(frequency_penalty=0.2, seed=1), accepted=(0,))[0] == 1
    assert drawn(Sampling(frequency_penalty=0.2, seed=1), accepted=(0, 0))[1] == 1
    assert drawn(Sampling(presence_penalty=0.2, seed=1), accepted=(0, 0))[0] == 1


def test_a_seed_gives_the_same_draws() -> None:
    one, same, other = (NumpySampler(OPEN._replace(seed=seed), 100) for seed in (5, 5, 6))
    draws = [[sampler.sample(ROW) for _ in range(30)] for sampler in (one, same, other)]
    assert draws[0] == draws[1] != draws[2]


def test_where_nothing_can_come_something_is_drawn() -> None:
    assert NumpySampler(OPEN, 100).sample(np.full(5, -np.inf, np.float32)) in range(5)
