import pytest

from judge import BaselineError, IncomparableRuns, JudgeError, PolicyError


@pytest.mark.parametrize("kind", [PolicyError, BaselineError, IncomparableRuns])
def test_one_except_clause_catches_every_error_of_the_judge(kind: type[Exception]) -> None:
    assert issubclass(kind, JudgeError)
    assert not issubclass(JudgeError, ValueError | OSError)
