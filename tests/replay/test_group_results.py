from dataclasses import replace
from typing import Any

import pytest


def test_an_arm_says_how_far_it_is_from_plain_and_where_its_losses_come_from(make: Any) -> None:
    evaluated = make.evaluated(4)
    evaluated = evaluated.changed("u1", "redraft", text="Bo owns it.", token_ids=(1,), token_src=(0,))
    evaluated = evaluated.changed("u2", "redraft", text="Me.", token_ids=(1,), token_src=(-1,), spans=())
    arm = evaluated.summary().arms["redraft"]
    assert (arm.flips, arm.lost_held, arm.lost_decoded) == (3, 2, 1)
    assert arm.edit_distance == pytest.approx((3 / 12 + 11 / 12) / 4)
    assert arm.identical == 0.5
    control = evaluated.summary().arms["control"]
    assert (control.edit_distance, control.lost_held, control.lost_decoded) == (0.0, 0, 0)


def test_a_fact_that_an_arm_gains_is_no_loss(make: Any) -> None:
    evaluated = make.evaluated(2)
    for arm in ("plain", "control"):
        evaluated = evaluated.changed("u0", arm, text="Bo owns it.")
    arm = evaluated.summary().arms["redraft"]
    assert (arm.flips, arm.lost_held, arm.lost_decoded) == (2, 0, 0)


def test_groups_come_in_the_order_of_their_first_unit_and_add_up(make: Any) -> None:
    evaluated = make.evaluated(5)
    names = ("b", "a", "b", "", "a")
    units = tuple(replace(u, category=name) for u, name in zip(evaluated.units, names, strict=True))
    summary = replace(evaluated, units=units, run=make.run(units)).summary()
    assert [(part.category, part.units) for part in summary.categories] == [("b", 2), ("a", 2), ("", 1)]
    for name, arm in summary.arms.items():
        parts = [part.arms[name] for part in summary.categories]
        assert sum(part.facts_total for part in parts) == arm.facts_total
        assert sum(part.canaries.passed for part in parts) == arm.canaries.passed


def test_pinned_lines_are_counted_by_arm(make: Any) -> None:
    evaluated = make.evaluated(2)
    units = (replace(evaluated.units[0], pinned=("Ava owns it.",)), evaluated.units[1])
    evaluated = replace(evaluated, units=units, run=make.run(units)).changed("u0", "redraft", text="Ava.")
    arms = evaluated.summary().arms
    assert [(arms[name].pinned_kept, arms[name].pinned_total) for name in ("plain", "redraft")] == [
        (1, 1),
        (0, 1),
    ]
