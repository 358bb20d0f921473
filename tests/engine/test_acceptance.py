import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine import acceptance
from engine.acceptance import Acceptance, Tolerance
from engine.wire import Rule, Stabilize

EXACT = Tolerance(tau=0, floor=0)
TOLERANT = Tolerance(tau=3, floor=1)


def holds(rule: Tolerance, logits: np.ndarray, token: int) -> bool:
    return rule.holds(logits, int(np.argmax(logits)), token)


rows = arrays(np.float32, st.integers(2, 60), elements=st.floats(-20, 20, width=32))


def row(*logits: float, size: int = 100, rest: float = -50) -> np.ndarray:
    return np.array([*logits, *[rest] * (size - len(logits))], np.float32)


def by_the_formula(logits: np.ndarray, token: int, request: Stabilize, slack: float) -> bool:
    """The rules as design documents state them, without any shortcut, the band wider by `slack`."""
    tau, floor = request.tau + slack, request.floor + slack
    logprobs = logits.astype(np.float64) - np.log(np.exp(logits.astype(np.float64)).sum())
    top = np.sort(logprobs)[-20:]
    shares = np.exp(top) / np.exp(top).sum()
    entropy = -(shares * np.log(shares)).sum() / math.log(20)
    confident = math.exp(logprobs.max()) >= request.p_cut - slack
    band = {
        "exact": 0,
        "tau": tau,
        "entropy_scaled": tau * entropy + slack,
        "entropy_floor": floor + (tau - floor) * entropy,
        "confidence_gated": -1 if confident else tau,
        "gated_entropy": -1 if confident else floor + (tau - floor) * entropy,
    }[request.rule]
    gap = logprobs.max() - logprobs[token]
    return bool(gap <= band + 1e-9 and (logits > logits[token]).sum() < 20)


@given(rows, st.data())
def test_exact_holds_the_argmax_alone(logits: np.ndarray, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(logits) - 1))
    assert holds(EXACT, logits, token) == (token == int(np.argmax(logits)))


@pytest.mark.parametrize("rule", get_args(Rule))
@given(logits=rows, data=st.data())
def test_shortcuts_do_not_change_a_rule(rule: Rule, logits: np.ndarray, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(logits) - 1))
    request = Stabilize(
        rule=rule, tau=data.draw(st.floats(0.1, 5)), floor=0.1, p_cut=data.draw(st.floats(0.1, 0.99))
    )
    if rule == "exact":
        assert holds(Tolerance.of(request), logits, token) == (token == int(np.argmax(logits)))
        return
    near = [by_the_formula(logits, token, request, slack) for slack in (-1e-5, 1e-5)]
    assert holds(Tolerance.of(request), logits, token) in near or token == int(np.argmax(logits))


@given(rows, st.data())
def test_a_strict_place_is_exact(logits: np.ndarray, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(logits) - 1))
    best = int(np.argmax(logits))
    acceptance = Acceptance(Stabilize(old_output=[token] * 5, strict=[(1, 3), (2, 4), (4, 4)]))
    held = [acceptance.holds(logits, best, index) for index in range(5)]
    assert held[1:4] == [token == best] * 3
    assert held[0] == held[4] == holds(TOLERANT, logits, token)


def test_overlapping_and_endless_strict_ranges_are_cheap() -> None:
    acceptance = Acceptance(Stabilize(old_output=[1] * 1000, strict=[(0, 10**12)] * 1000))
    assert not acceptance.holds(row(5, 4.9), 0, 999)


def test_a_gate_rejects_where_the_model_is_sure() -> None:
    gated = Tolerance(tau=3, floor=3, p_cut=0.7)
    assert holds(gated, row(5, 4.5), 1)
    assert not holds(gated, row(5, 3.5), 1)
    assert holds(Tolerance(tau=3, floor=3, p_cut=0.9), row(5, 3.5), 1)


def test_no_tolerance_is_exact_whatever_the_rule() -> None:
    for rule in get_args(Rule):
        assert Tolerance.of(Stabilize(tau=0, rule=rule)).tau == 0


@pytest.mark.parametrize(
    ("logits", "token", "held"),
    [
        pytest.param(row(5, 4.1), 1, True, id="gap within the floor"),
        pytest.param(row(5, 3.5), 1, False, id="gap above the floor where the model is sure"),
        pytest.param(row(*[5.0] * 19, 3.5), 19, True, id="same gap where the model is unsure"),
        pytest.param(row(*[5.0] * 19, 1.9), 19, False, id="gap above tau"),
        pytest.param(row(*[5.0] * 20, 4.9), 20, False, id="within the floor but not in the top 20"),
        pytest.param(row(5.0, 5.0), 1, True, id="a tie"),
        pytest.param(np.array([2, 1.5], np.float32), 1, True, id="vocabulary smaller than 20"),
    ],
)
def test_tolerant_rule(logits: np.ndarray, token: int, held: bool) -> None:
    assert holds(TOLERANT, logits, token) is held


def test_a_tie_is_not_held_in_exact_mode_unless_plain_decoding_takes_it() -> None:
    assert holds(EXACT, row(5, 5), 0)
    assert not holds(EXACT, row(5, 5), 1)


@pytest.mark.parametrize(
    ("logits", "token"),
    [
        pytest.param(row(5, 4), 0, id="argmax"),
        pytest.param(row(5, 1), 1, id="above tau"),
        pytest.param(row(5, 4.5), 1, id="within the floor"),
    ],
)
def test_entropy_is_computed_only_in_between(
    logits: np.ndarray, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: np.ndarray) -> float:
        raise AssertionError("computed")

    monkeypatch.setattr(acceptance, "_spread", forbidden)
    holds(TOLERANT, logits, token)
    with pytest.raises(AssertionError, match="computed"):
        holds(TOLERANT, row(5, 3), 1)
