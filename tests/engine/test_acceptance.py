import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine import acceptance
from engine.acceptance import Tolerance

EXACT = Tolerance(tau=0, floor=0)
TOLERANT = Tolerance(tau=3, floor=1)

rows = arrays(np.float32, st.integers(2, 60), elements=st.floats(-20, 20, width=32))


def row(*logits: float, size: int = 100, rest: float = -50) -> np.ndarray:
    return np.array([*logits, *[rest] * (size - len(logits))], np.float32)


def by_the_formula(logits: np.ndarray, token: int, tau: float, floor: float) -> bool:
    """The rule as design documents state it, without any shortcut."""
    logprobs = logits.astype(np.float64) - np.log(np.exp(logits.astype(np.float64)).sum())
    top = np.sort(logprobs)[-20:]
    shares = np.exp(top) / np.exp(top).sum()
    entropy = -(shares * np.log(shares)).sum() / math.log(20)
    gap = logprobs.max() - logprobs[token]
    return bool(gap <= floor + (tau - floor) * entropy + 1e-9 and (logits > logits[token]).sum() < 20)


@given(rows, st.data())
def test_exact_holds_the_argmax_alone(logits: np.ndarray, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(logits) - 1))
    assert EXACT.holds(logits, token) == (token == int(np.argmax(logits)))


@given(rows, st.data())
def test_strict_is_exact(logits: np.ndarray, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(logits) - 1))
    assert TOLERANT.holds(logits, token, strict=True) == EXACT.holds(logits, token)


@given(rows, st.data())
def test_shortcuts_do_not_change_the_rule(logits: np.ndarray, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(logits) - 1))
    near = [by_the_formula(logits, token, 3 + d, 1 + d) for d in (-1e-5, 1e-5)]
    assert TOLERANT.holds(logits, token) in near


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
    assert TOLERANT.holds(logits, token) is held


def test_a_tie_is_not_held_in_exact_mode_unless_plain_decoding_takes_it() -> None:
    assert EXACT.holds(row(5, 5), 0)
    assert not EXACT.holds(row(5, 5), 1)


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
    TOLERANT.holds(logits, token)
    with pytest.raises(AssertionError, match="computed"):
        TOLERANT.holds(row(5, 3), 1)
