import inspect

from bundles import errors


def test_one_small_tree() -> None:
    found = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    assert len(found) < 8
    assert all(issubclass(kind, errors.BundleError) for kind in found)


def test_tree_drawn_in_the_docstring_is_the_tree() -> None:
    assert errors.__doc__ is not None
    for name, _ in inspect.getmembers(errors, inspect.isclass):
        assert name in errors.__doc__


def test_a_held_lock_is_a_store_error_and_an_empty_suite_is_not_a_broken_one() -> None:
    assert issubclass(errors.StoreLocked, errors.StoreError)
    assert not issubclass(errors.EmptySuite, errors.SuiteError)
