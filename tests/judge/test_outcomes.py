from collections.abc import Callable

import pytest

from bundles import Attempt, HeldSpan
from judge.outcomes import Outcomes, attribute_absence, attribute_evidence


def test_only_what_is_planned_is_seen(judged: Callable) -> None:
    run = judged(repeats=2)
    outcomes = Outcomes(run.run, run.units[:1], run.attempts, run.verdicts)
    assert outcomes.planned == [("u1", arm, n) for arm in ("plain", "control", "redraft") for n in (0, 1)]
    assert set(outcomes.attempts) == set(outcomes.planned)
    assert outcomes.of(run.units[0], "redraft", run.units[0].facts) == ["pass"] * 6
    assert outcomes.one("u2", "redraft", 0, "owner") == "unscored"


def test_a_unit_could_lose_what_plain_has_where_the_arm_is_scored(judged: Callable) -> None:
    run = judged({("u2", "plain"): ""})
    outcomes = Outcomes(run.run, run.units, run.attempts, run.verdicts)
    assert [outcomes.could_lose(unit, "redraft") for unit in run.units] == [True, False]
    unjudged = [verdict for verdict in run.verdicts if verdict.arm != "redraft"]
    outcomes = Outcomes(run.run, run.units, run.attempts, unjudged)
    assert not outcomes.could_lose(run.units[0], "redraft")


@pytest.mark.parametrize(
    ("evidence", "attribution"),
    [
        pytest.param((5, 7), "held", id="inside"),
        pytest.param((3, 5), "held", id="overlaps-the-start"),
        pytest.param((0, 4), "decoded", id="ends-where-the-span-starts"),
        pytest.param((8, 9), "decoded", id="starts-where-the-span-ends"),
    ],
)
def test_a_statement_is_held_where_it_overlaps_a_held_span(
    attempt: Callable[..., Attempt], evidence: tuple[int, int], attribution: str
) -> None:
    held = attempt("u1", "redraft", spans=(HeldSpan(100, 104, 4, 8),))
    assert attribute_evidence(held, evidence) == attribution


@pytest.mark.parametrize(
    ("tokens", "sources", "attribution"),
    [
        pytest.param((1, 2, 9, 4), (-1, -1, 2, -1), "held", id="first-difference-held"),
        pytest.param((1, 2, 9, 4), (0, 1, -1, 3), "decoded", id="first-difference-decoded"),
        pytest.param((1, 2), (0, 1), "decoded", id="stopped-early"),
        pytest.param((1, 2, 3, 4), (0, 1, 2, 3), "decoded", id="no-difference"),
        pytest.param((), (), "decoded", id="no-tokens"),
    ],
)
def test_an_absence_is_held_if_the_first_differing_token_was(
    attempt: Callable[..., Attempt], tokens: tuple[int, ...], sources: tuple[int, ...], attribution: str
) -> None:
    ours = attempt("u1", "redraft", token_ids=tokens, token_src=sources)
    assert attribute_absence(ours, attempt("u1", "plain", token_ids=(1, 2, 3, 4))) == attribution
