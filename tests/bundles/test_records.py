from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from bundles import Attempt, Unit


def test_attempt_is_keyed_within_its_run(make_attempt: Callable[..., Attempt]) -> None:
    assert make_attempt(unit_id="u", arm="control", repeat=2).key == ("u", "control", 2)


def test_held_counts_tokens_taken_from_the_draft(make_attempt: Callable[..., Attempt]) -> None:
    assert make_attempt(token_src=(0, -1, 4, -1, -1)).held == 2


def test_records_cannot_be_changed(make_unit: Callable[..., Unit]) -> None:
    unit = make_unit()
    with pytest.raises(FrozenInstanceError):
        unit.canary = True  # type: ignore[misc]
