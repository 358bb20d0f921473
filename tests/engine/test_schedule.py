import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.schedule import PROMPT_ROWS_BESIDE_ANSWERS, shares


@pytest.mark.parametrize(
    ("in_prompt", "expected"),
    [
        ([], []),
        ([True], [128]),
        ([False], [128]),
        ([True, True], [64, 64]),
        ([False, False], [64, 64]),
        ([True, False], [32, 96]),
        ([True, False, True], [16, 96, 16]),
    ],
)
def test_prompts_take_few_rows_beside_answers(in_prompt: list[bool], expected: list[int]) -> None:
    assert shares(in_prompt, 128) == expected


@given(st.lists(st.booleans(), min_size=1, max_size=64), st.integers(0, 200))
def test_everyone_gets_rows_and_a_pass_holds_them(in_prompt: list[bool], more: int) -> None:
    max_rows = 2 * len(in_prompt) + more
    given_out = shares(in_prompt, max_rows)
    assert min(given_out) >= 1
    assert sum(given_out) <= max_rows
    if not all(in_prompt):
        prompts = sum(rows for rows, prompt in zip(given_out, in_prompt, strict=True) if prompt)
        assert prompts <= max(sum(in_prompt), PROMPT_ROWS_BESIDE_ANSWERS)
