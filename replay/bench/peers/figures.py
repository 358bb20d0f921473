"""What other software took, beside our plain generation. Pure, and seeded where it draws.

Invariant: a peer is held against our plain generation of the same unit; whether it says the same is told, not
assumed.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from bundles import Attempt
from replay.bench.figures import speed_of
from replay.bench.result import PeerFigures, UnitFigures

Served = Mapping[str, Sequence[Attempt]]
"""A peer's attempts by unit."""


def peer_figures(
    units: Sequence[UnitFigures], plain_texts: Mapping[str, str], served: Served, own_plain: Served, seed: int
) -> PeerFigures:
    """One peer over all units; `own_plain` is the same software without speculation."""
    wall_ms, plain_ms = _taken(served), _taken(own_plain)
    over_own = [plain_ms[unit_id] / took for unit_id, took in wall_ms.items() if unit_id in plain_ms]
    done = [attempt for attempts in served.values() for attempt in attempts if attempt.status == "ok"]
    failed = [attempt for attempts in served.values() for attempt in attempts if attempt.status != "ok"]
    same = [
        all(attempt.text == plain_texts[unit_id] for attempt in served[unit_id] if attempt.status == "ok")
        for unit_id in wall_ms
        if unit_id in plain_texts
    ]
    tokens = sum(len(attempt.token_ids) for attempt in done)
    speed = speed_of(units, wall_ms, seed)
    return PeerFigures(
        **speed.model_dump(),
        over_own_plain=median(over_own) if over_own else None,
        same_text=sum(same) / len(same) if same else None,
        ms_per_token=sum(attempt.wall_ms for attempt in done) / tokens if tokens else None,
        speedups={
            unit.unit_id: plain / wall_ms[unit.unit_id]
            for unit in units
            if unit.unit_id in wall_ms and (plain := unit.arms["plain"].wall_ms) is not None
        },
        errors=len(failed),
        error=failed[0].error if failed else None,
    )


def _taken(served: Served) -> dict[str, float]:
    """The median of each unit's finished attempts, milliseconds."""
    finished = {
        unit_id: [attempt.wall_ms for attempt in attempts if attempt.status == "ok"]
        for unit_id, attempts in served.items()
    }
    return {unit_id: median(walls) for unit_id, walls in finished.items() if walls}
