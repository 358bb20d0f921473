import pytest

from judge.matchers.negation import is_negated


@pytest.mark.parametrize(
    "before",
    [
        "it is not ",
        "it isn't ",
        "it is no longer ",
        "nobody thinks that it is ",
        "it has not yet been put back ",
        "it is not (yet) ",
        "it is not, as of today, ",
        "it does not include dark mode, export, or ",
        "it does not include dark mode and ",
        "neither cheap nor ",
        "non-",
        "we did not move it to ",
        "is **not** ",
    ],
)
def test_denied(before: str) -> None:
    assert is_negated(before, ".")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "it is ",
        "it is not late, it is ",
        "it is not late but ",
        "it is not late and ",
        "not only ",
        "isn't just ",
        "there is no doubt that it is ",
        "not without ",
        "it never fails to be ",
        "not before ",
        "no later than ",
        "it did not move from ",
        "it is not possible to use ",
        "use `none` to ignore ",
        "no, it is ",
        "no. ",
        "nobody but ",
        "no changes to ",
        "without the configuration file the server listens on ",
    ],
)
def test_not_denied(before: str) -> None:
    assert not is_negated(before, ".")


@pytest.mark.parametrize(
    ("after", "denied"),
    [
        (" is not the launch date.", True),
        (" isn't the owner.", True),
        (" no longer owns it.", True),
        (": no", True),
        ("-free food", True),
        (" is not the only one.", False),
        (" does not like mondays.", False),
        (" is no longer on holiday.", False),
        (": no delays", False),
        (", not bo", False),
    ],
)
def test_what_follows_may_deny(after: str, denied: bool) -> None:
    assert is_negated("", after) == denied
