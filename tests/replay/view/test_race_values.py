import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bundles import Source, Unit
from replay.view.race_values import LaneResult, RaceRequest, outcome, request_of

ASKED = {"instruction": "Say it.", "sources": [{"name": "a", "before": "Bo", "after": "Ava"}]}


def lane(wall_ms: float = 100.0, tokens: tuple[int, ...] = (1, 2, 3)) -> LaneResult:
    return LaneResult(wall_ms, 10.0, 5.0, 9, 0.0, len(tokens), 2, 0.5, 1, 0, tokens)


def test_a_request_is_the_unit_that_it_describes() -> None:
    unit = RaceRequest.model_validate(ASKED | {"pinned": ["keep"], "max_tokens": 40}).unit()
    assert (unit.sources_before, unit.sources_after) == ((Source("a", "Bo"),), (Source("a", "Ava"),))
    assert (unit.stale, unit.pinned, unit.max_tokens, unit.kind) == (None, ("keep",), 40, "rederive")


def test_an_empty_source_is_not_there() -> None:
    sources = [{"name": "a", "before": "", "after": "Ava"}, {"name": "b", "before": "Bo", "after": ""}]
    unit = RaceRequest.model_validate(ASKED | {"sources": sources}).unit()
    assert (unit.sources_before, unit.sources_after) == ((Source("b", "Bo"),), (Source("a", "Ava"),))


@pytest.mark.parametrize(
    ("mode", "first", "lanes"),
    [
        ("exact", "plain", [("plain", "plain"), ("redraft", "redraft")]),
        ("tolerant", "redraft", [("redraft", "redraft:tau=3,floor=1"), ("plain", "plain")]),
    ],
)
def test_lanes_run_in_the_order_that_is_asked_for(mode: str, first: str, lanes: list) -> None:
    request = RaceRequest.model_validate(ASKED | {"mode": mode, "first": first})
    assert [(name, arm.name) for name, arm in request.lanes()] == lanes


@pytest.mark.parametrize(
    "wrong",
    [
        {"sources": []},
        {"sources": [{"name": "", "before": "", "after": ""}]},
        {"max_tokens": 0},
        {"mode": "fast"},
        {"instruction": "x" * 200_001},
        {"surprise": 1},
    ],
)
def test_what_cannot_be_raced_is_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        RaceRequest.model_validate(ASKED | wrong)


def test_a_unit_becomes_the_request_that_gives_it_back(make) -> None:
    unit = make.unit("u", edited="as edited", pinned=("keep",), kind="revise", stale="old")
    asked = request_of(unit, "old", 99)
    assert asked.max_tokens == 99
    back: Unit = RaceRequest.model_validate(asked.model_dump()).unit()
    for part in ("instruction", "sources_before", "sources_after", "stale", "edited", "pinned"):
        assert getattr(back, part) == getattr(unit, part)


@pytest.mark.parametrize(
    ("plain_ms", "redraft_ms", "won", "headline"),
    [
        (1000, 400, "redraft", "redraft was 2.50 times as fast: 0.40 s against 1.00 s."),
        (950, 1100, "plain", "redraft lost: 1.10 s against 0.95 s by plain generation, 0.86 times as fast."),
        (1000, 1010, "neither", "No real difference: 1.01 s against 1.00 s."),
        (80, 20, "redraft", "redraft was 4.00 times as fast: 20 ms against 80 ms."),
    ],
)
def test_what_is_said_follows_from_the_times(plain_ms, redraft_ms, won: str, headline: str) -> None:
    found = outcome(lane(plain_ms), lane(redraft_ms), "exact")
    assert (found.won, found.headline) == (won, headline)
    assert found.speedup == plain_ms / redraft_ms


@pytest.mark.parametrize(
    ("tokens", "mode", "at", "said"),
    [
        ((1, 2, 3), "exact", None, "Identical: the same 3 token ids as plain generation."),
        (
            (1, 9, 3),
            "tolerant",
            1,
            "token 2 is the first that differs .* Tolerant mode may",
        ),
        ((1, 2), "exact", 2, "token 3 .* is the engine deterministic"),
        ((1, 2, 3, 4), "exact", 3, "token 4 "),
    ],
)
def test_tokens_are_compared(tokens, mode: str, at: int | None, said: str) -> None:
    found = outcome(lane(), lane(tokens=tokens), mode)
    assert (found.identical, found.differs_at) == (at is None, at)
    assert re.search(said, found.tokens)


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_lanes_are_identical_up_to_the_first_difference(ours: list[int], theirs: list[int]) -> None:
    at = outcome(lane(tokens=tuple(ours)), lane(tokens=tuple(theirs)), "tolerant").differs_at
    assert (at is None) == (ours == theirs)
    if at is not None:
        assert ours[:at] == theirs[:at]
        assert ours[at : at + 1] != theirs[at : at + 1]


def test_figures_are_shown_without_the_tokens() -> None:
    shown = replace(lane(), first_ms=None).shown()
    assert "token_ids" not in shown
    assert (shown["first_ms"], shown["wall_ms"]) == (None, 100.0)
