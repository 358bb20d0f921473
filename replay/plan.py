"""From a bundle's units to ordered attempts. Pure: the same run gives the same plan on every machine.

Invariant: every unit x arm x repeat occurs exactly once. Over any 2 x arms successive blocks (a
block is one unit and repeat, counted from an even one) each arm takes each place exactly twice, and
each pair of arms runs as often in one order as in the other.
"""

import random
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from bundles import Run, Unit
from replay.arms import STALE, Arm, parse_arm
from replay.errors import NothingToRun, SettingsError

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt to make; `order` is its place in the unit's block, from 1 (0 is the stale answer)."""

    arm: Arm
    repeat: int
    order: int


@dataclass(frozen=True, slots=True)
class Block:
    """All attempts of one unit, in the order in which they are made."""

    index: int
    unit: Unit
    steps: tuple[Step, ...]

    def missing(self, kept: Container[Key]) -> list[Step]:
        """The steps whose attempt is not in `kept`."""
        return [step for step in self.steps if (self.unit.unit_id, step.arm.name, step.repeat) not in kept]


def select(
    units: Sequence[Unit], *, text: str | None = None, sample: int | None = None, seed: int = 0
) -> tuple[Unit, ...]:
    """The units to run, in the bundle's order.

    `text` keeps units with it in id, category or a tag, whatever the case; `sample` then draws that
    many, the same ones for the same seed.
    """
    kept = [unit for unit in units if text is None or _mentions(unit, text)]
    if not kept:
        raise NothingToRun(f"nothing to run: no unit has {text!r} in its id, category or tags")
    if sample is None or sample >= len(kept):
        return tuple(kept)
    if sample < 1:
        raise NothingToRun(f"nothing to run: a sample of {sample} units")
    drawn = random.Random(seed).sample(range(len(kept)), sample)
    return tuple(kept[index] for index in sorted(drawn))


def blocks(run: Run, units: Sequence[Unit]) -> Iterator[Block]:
    """The run's blocks in order; `units` are the bundle's. SettingsError where one is missing."""
    by_id = {unit.unit_id: unit for unit in units}
    arms = [parse_arm(spec) for spec in run.arms]
    random.Random(run.seed).shuffle(arms)
    for index, unit_id in enumerate(run.unit_ids):
        if unit_id not in by_id:
            raise SettingsError(f"run {run.run_id}: its bundle has no unit {unit_id!r}")
        steps = [
            Step(arm, repeat, 1 + repeat * len(arms) + place)
            for repeat in range(run.repeats)
            for place, arm in enumerate(rotated(arms, index * run.repeats + repeat))
        ]
        yield Block(index, by_id[unit_id], tuple(steps))


def rotated(arms: Sequence[Arm], block: int) -> list[Arm]:
    """Two successive blocks run forwards and backwards (ABBA), the next two start one arm later."""
    start = block // 2 % len(arms)
    order = [*arms[start:], *arms[:start]]
    return order[::-1] if block % 2 else order


def remaining(run: Run, units: Sequence[Unit], kept: Container[Key]) -> int:
    """How many attempts are still to be made, stale answers included, where those of `kept` are."""
    count = 0
    for block in blocks(run, units):
        steps = block.missing(kept)
        stale_wanted = steps and block.unit.stale is None
        count += len(steps) + bool(stale_wanted and (block.unit.unit_id, STALE, 0) not in kept)
    return count


def _mentions(unit: Unit, text: str) -> bool:
    needle = text.casefold()
    return any(needle in value.casefold() for value in (unit.unit_id, unit.category, *unit.tags))
