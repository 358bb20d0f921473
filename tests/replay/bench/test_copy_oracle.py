from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.bench.copy_oracle import Answer, Cost, cheapest, copyable, plain_cost
from replay.bench.pass_costs import PassCosts

COSTS = PassCosts({1: 7.5, 4: 19.7, 8: 27.8, 16: 43.4, 32: 76.5, 64: 148})
texts = st.lists(st.integers(0, 3), max_size=9)
tables = st.lists(st.integers(1, 40), min_size=3, max_size=3).map(
    lambda steps: PassCosts({1: steps[0], 4: steps[0] + steps[1], 8: sum(steps)})
)
answers = st.builds(Answer, texts, st.booleans(), st.integers(0, 12))


def stands_in(part: list[int], whole: list[int]) -> bool:
    return any(whole[start : start + len(part)] == part for start in range(len(whole) + 1))


def all_ways(answer: Answer, stale: list[int], costs: PassCosts, most_rows: int) -> Iterator[Cost]:
    """Every division of the decisions into passes, by the definition's own words."""
    tokens = list(answer.tokens)

    def rest(place: int) -> Iterator[tuple[float, int, int]]:
        if place == answer.decisions:
            yield 0.0, 0, 0
        for k in range(min(most_rows - 1, answer.decisions - place - 1) + 1):
            part = tokens[place : place + k]
            if len(part) == k and stands_in(part, stale):
                for ms, passes, rows in rest(place + k + 1):
                    yield costs(k + 1) + ms, passes + 1, rows + k + 1

    prompt = max(1, answer.prompt_rows)
    for k in range(min(most_rows - 1, answer.decisions - 1) + 1):
        part = tokens[:k]
        if len(part) == k and stands_in(part, stale):
            for ms, passes, rows in rest(1 + k):
                yield Cost(costs(prompt + k) - costs(prompt) + ms, passes + (k > 0), rows + k)


@given(answers, texts, tables, st.integers(1, 6))
def test_it_is_the_least_of_all_ways(
    answer: Answer, stale: list[int], costs: PassCosts, most_rows: int
) -> None:
    found = cheapest(answer, stale, costs, most_rows)
    least = min(all_ways(answer, stale, costs, most_rows))
    assert found.ms == pytest.approx(least.ms)


@given(answers, texts, tables, st.integers(1, 6))
def test_it_lies_between_plain_and_the_whole_answer_as_draft(
    answer: Answer, stale: list[int], costs: PassCosts, most_rows: int
) -> None:
    oracle = cheapest(answer, stale, costs, most_rows)
    assert cheapest(answer, answer.tokens, costs, most_rows) <= oracle <= plain_cost(answer, costs)


@given(answers, texts, tables, st.integers(1, 6), texts)
def test_more_to_copy_from_never_costs_more(
    answer: Answer, stale: list[int], costs: PassCosts, most_rows: int, more: list[int]
) -> None:
    assert cheapest(answer, [*stale, *more], costs, most_rows).ms <= (
        cheapest(answer, stale, costs, most_rows).ms + 1e-9
    )


@given(texts, texts)
def test_copyable_runs_stand_in_the_stale_answer_and_are_the_longest(
    tokens: list[int], stale: list[int]
) -> None:
    for place, length in enumerate(copyable(tokens, stale)):
        assert stands_in(tokens[place : place + length], stale)
        longer = tokens[place : place + length + 1]
        assert len(longer) == length or not stands_in(longer, stale)


@pytest.mark.parametrize(
    ("answer", "plain", "copied"),
    [
        pytest.param(Answer([], True, 30), Cost(0, 0, 0), Cost(0, 0, 0), id="empty"),
        pytest.param(Answer([5], False, 30), Cost(0, 0, 0), Cost(0, 0, 0), id="one token"),
        pytest.param(Answer([5], True, 2), Cost(7.5, 1, 1), Cost(0, 1, 1), id="one token and the end"),
    ],
)
def test_the_shortest_answers(answer: Answer, plain: Cost, copied: Cost) -> None:
    assert plain_cost(answer, COSTS) == plain
    assert cheapest(answer, answer.tokens, COSTS, 64) == copied


def test_an_unchanged_answer_takes_few_wide_passes() -> None:
    answer = Answer(list(range(40)), True, 1)
    assert cheapest(answer, answer.tokens, COSTS, 64).passes < 4
    assert plain_cost(answer, COSTS).passes == 40


def test_no_wider_pass_than_is_exact() -> None:
    answer = Answer(list(range(40)), True, 20)
    assert cheapest(answer, answer.tokens, COSTS, 1) == plain_cost(answer, COSTS)
