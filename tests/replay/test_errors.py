import inspect

from replay import errors


def test_every_error_is_a_replay_error_with_an_exit_code_of_the_documented_ones() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    assert all(issubclass(kind, errors.ReplayError) for kind in kinds)
    assert {kind.__name__: kind.exit_code for kind in kinds} == {
        "ReplayError": 2,
        "SettingsError": 2,
        "NotComparable": 2,
        "NothingToRun": 5,
        "ServiceError": 4,
        "ServiceTimeout": 4,
        "ServiceDown": 4,
        "JudgeUnfit": 4,
    }
