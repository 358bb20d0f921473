"""A run's assessment as the sum of those of its sessions.

Invariant: parts that have no session in common and are assessed one by one come to what is assessed at once,
but for the order in which flips are listed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

from judge.canaries import CanaryCount
from judge.evidence import ArmFacts, Assessment, PinnedLines
from judge.significance import SessionCounts

Counts = TypeVar("Counts", ArmFacts, CanaryCount, SessionCounts, PinnedLines)
_VALUES: Mapping[type, Callable[[Any], tuple[int, ...]]] = {
    kind: attrgetter(*(entry.name for entry in fields(kind)))
    for kind in (ArmFacts, CanaryCount, SessionCounts, PinnedLines)
}


def joined(parts: Sequence[Assessment]) -> Assessment:
    """Of a run that has these parts, at least one."""
    first = parts[0]
    return Assessment(
        run_id=first.run_id,
        arms={arm: _sum([part.arms[arm] for part in parts]) for arm in first.arms},
        flips=tuple(flip for part in parts for flip in part.flips),
        regressions=tuple(flip for part in parts for flip in part.regressions),
        canaries={arm: _sum([part.canaries[arm] for part in parts]) for arm in first.canaries},
        canary_outcomes={key: how for part in parts for key, how in part.canary_outcomes.items()},
        missing=tuple(key for part in parts for key in part.missing),
        errors=tuple(key for part in parts for key in part.errors),
        attempts=sum(part.attempts for part in parts),
        telling_units=sum(part.telling_units for part in parts),
        sessions={arm: _sum([part.sessions[arm] for part in parts]) for arm in first.sessions},
        pinned={arm: _sum([part.pinned[arm] for part in parts]) for arm in first.pinned},
    )


def without(total: Assessment, part: Assessment) -> Assessment:
    """Of the run that is left when one of its parts is taken away."""
    lost, regressions = set(part.flips), set(part.regressions)
    missing, errors = set(part.missing), set(part.errors)
    return Assessment(
        run_id=total.run_id,
        arms=_less(total.arms, part.arms),
        flips=tuple(flip for flip in total.flips if flip not in lost),
        regressions=tuple(flip for flip in total.regressions if flip not in regressions),
        canaries=_less(total.canaries, part.canaries),
        canary_outcomes={
            key: how for key, how in total.canary_outcomes.items() if key not in part.canary_outcomes
        },
        missing=tuple(key for key in total.missing if key not in missing),
        errors=tuple(key for key in total.errors if key not in errors),
        attempts=total.attempts - part.attempts,
        telling_units=total.telling_units - part.telling_units,
        sessions=_less(total.sessions, part.sessions),
        pinned=_less(total.pinned, part.pinned),
    )


def _sum(counts: Sequence[Counts]) -> Counts:
    kind = type(counts[0])
    return kind(*map(sum, zip(*map(_VALUES[kind], counts), strict=True)))


def _less(total: Mapping[str, Counts], part: Mapping[str, Counts]) -> dict[str, Counts]:
    less: dict[str, Counts] = {}
    for arm, counts in total.items():
        values = _VALUES[type(counts)]
        pairs = zip(values(counts), values(part[arm]), strict=True)
        less[arm] = type(counts)(*(ours - theirs for ours, theirs in pairs))
    return less
