import pytest

from engine.sampling import SEEDS, Sampling


@pytest.mark.parametrize(
    ("sampling", "greedy"),
    [
        (Sampling(), True),
        (Sampling(top_k=1, top_p=0, seed=3), True),
        (Sampling(temperature=0.1), False),
        (Sampling(repeat_penalty=1.1), False),
        (Sampling(repeat_penalty=1.1, repeat_last_n=0), True),
        (Sampling(frequency_penalty=-0.5), False),
        (Sampling(presence_penalty=0.5), False),
    ],
)
def test_what_is_the_argmax_whatever_the_seed(sampling: Sampling, greedy: bool) -> None:
    assert sampling.greedy == greedy


def test_every_seed_becomes_one_that_llama_cpp_takes() -> None:
    assert Sampling(seed=7).seeded().seed == 7
    assert Sampling(seed=2**64).seeded().seed == 2**64 % SEEDS
    assert Sampling(seed=SEEDS).seeded().seed == 0
    chosen = {Sampling().seeded().seed for _ in range(20)}
    assert len(chosen) > 1
    assert all(0 <= seed < SEEDS for seed in chosen)
