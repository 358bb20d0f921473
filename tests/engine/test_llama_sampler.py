import gc
import weakref

import numpy as np
import pytest

from engine.fake_sampler import NumpySampler
from engine.model import LlamaModel
from engine.sampling import Sampling

SIZE = 49152
LIKELY = np.array([7, 40_000, 3, 49_151, 12])
ROW = np.full(SIZE, -20, np.float32)
ROW[LIKELY] = np.log([0.4, 0.3, 0.15, 0.1, 0.05])
OPEN = Sampling(temperature=1, top_k=0, top_p=1, min_p=0, seed=1)
RECENT = (7, 7, 12)


@pytest.mark.parametrize(
    "sampling",
    [
        OPEN,
        OPEN._replace(top_k=2),
        OPEN._replace(top_p=0.8),
        OPEN._replace(min_p=0.3),
        OPEN._replace(temperature=0.5),
        OPEN._replace(temperature=1e-9),
        OPEN._replace(repeat_penalty=1.5, frequency_penalty=0.3, presence_penalty=0.2),
        Sampling(temperature=0.8, seed=3),
        Sampling(repeat_penalty=2, seed=0),
    ],
)
def test_llama_cpp_draws_from_the_distribution_that_numpy_draws_from(
    sampling: Sampling, llama: LlamaModel
) -> None:
    shares = []
    for sampler in (llama.sampler(sampling), NumpySampler(sampling, llama.ctx)):
        for token in RECENT:
            sampler.accept(token)
        drawn = [sampler.sample(ROW) for _ in range(250)]
        shares.append([drawn.count(token) / 250 for token in LIKELY])
    assert shares[0] == pytest.approx(shares[1], abs=0.15)


def test_a_seed_gives_the_same_draws(llama: LlamaModel) -> None:
    one, same, other = (llama.sampler(OPEN._replace(seed=seed)) for seed in (5, 5, 6))
    draws = [[sampler.sample(ROW) for _ in range(30)] for sampler in (one, same, other)]
    assert draws[0] == draws[1] != draws[2]


def test_where_nothing_can_come_something_is_drawn(llama: LlamaModel) -> None:
    for sampling in (OPEN, Sampling(temperature=1, seed=2), Sampling(repeat_penalty=2, seed=0)):
        assert llama.sampler(sampling).sample(np.full(SIZE, -np.inf, np.float32)) in range(SIZE)


def test_only_what_a_mask_leaves_is_drawn(llama: LlamaModel) -> None:
    row = np.full(SIZE, -np.inf, np.float32)
    row[[5, 6]] = 0
    sampler = llama.sampler(Sampling(temperature=1, seed=4))
    assert {sampler.sample(row) for _ in range(60)} == {5, 6}


def test_penalties_look_back_on_no_more_than_a_context(
    llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama.cpp takes memory for all that it is to look back on: 8 GB for the most that a request may say."""
    binding, asked = llama.sampler(OPEN)._binding, []
    penalties = binding.llama_sampler_init_penalties
    monkeypatch.setattr(
        binding, "llama_sampler_init_penalties", lambda *it: asked.append(it[1]) or penalties(*it)
    )
    for last_n in (-1, 64, 2**31 - 1):
        llama.sampler(Sampling(repeat_penalty=1.5, repeat_last_n=last_n, seed=0))
    assert asked == [llama.ctx, 64, llama.ctx]


def test_a_chain_is_freed_with_its_sampler(llama: LlamaModel) -> None:
    sampler = llama.sampler(OPEN)
    gone = weakref.ref(sampler)
    del sampler
    gc.collect()
    assert gone() is None
