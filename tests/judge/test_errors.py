from judge import JudgeError, PolicyError


def test_one_except_clause_catches_every_error_of_the_judge() -> None:
    assert issubclass(PolicyError, JudgeError)
    assert not issubclass(JudgeError, ValueError | OSError)
