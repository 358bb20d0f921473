import pytest

from judge.matchers import negation, quotation
from judge.matchers import standing as standing_module
from judge.matchers.standing import standing


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("It is X.", "current"),
        ("It is not X.", "negated"),
        ("It was moved from X to Y.", "old"),
        ("It is not. X is here.", "current"),
        ("- not\n- X", "current"),
        ("It is **not** “X”.", "negated"),
        ("~~X~~", "old"),
        ("| what | before | after |\n|---|---|---|\n| limit | X | Y |", "old"),
        ("| what | before | after |\n|---|---|---|\n| limit | Y | X |", "current"),
        ("| before |\n|---|\n| a | b | X |", "current"),
        ("It isn’t, as Zoë says, X", "negated"),
    ],
)
def test_standing_of_a_place(text: str, how: str) -> None:
    at = text.index("X")
    assert standing(text, (at, at + 1)) == how


@pytest.mark.parametrize("sign", [*negation.SIGNS, *quotation.SIGNS])
def test_no_sign_is_overlooked(sign: str) -> None:
    assert any(cues.before == cues.after == [1] for cues in standing_module._cues(f"a{sign}b"))


def test_words_that_are_far_away_say_nothing_of_a_place() -> None:
    text = f"It is not {'so ' * 60}X"
    assert standing(text, (len(text) - 1, len(text))) == "current"
