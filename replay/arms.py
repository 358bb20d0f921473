"""Ways of generating, named by spec strings: `plain`, `control`, `redraft`, `redraft:tau=3,floor=1`.

Invariant: an arm's name is canonical: two spellings of the same arm have the same name.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from daemon.wire import Mode
from replay.errors import SettingsError

PLAIN = "plain"
CONTROL = "control"
STALE = "stale"
DEFAULT_ARMS = (PLAIN, CONTROL, "redraft", "redraft:tau=3,floor=1")
_TAU, _FLOOR = 3.0, 1.0


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of generating. `baseline` is plain generation; `tau` and `floor` (nats) are tolerant mode's."""

    name: str
    baseline: bool = False
    mode: Mode = "exact"
    tau: float = _TAU
    floor: float = _FLOOR

    @property
    def exact(self) -> bool:
        """Whether the arm replays a draft and must give plain generation's tokens."""
        return not self.baseline and self.mode == "exact"


def parse_arm(spec: str) -> Arm:
    """The arm of a spec string; SettingsError says what is wrong with it."""
    name, colon, options = spec.strip().partition(":")
    if name in (PLAIN, CONTROL) and not colon:
        return Arm(name, baseline=True)
    if name != "redraft":
        raise SettingsError(
            f"arm {spec!r}: unknown; there are plain, control, redraft and redraft:tau=T,floor=F"
        )
    if not colon:
        return Arm("redraft")
    given = _options(spec, options)
    tau = given.get("tau", _TAU)
    floor = given.get("floor", min(_FLOOR, tau))
    if floor > tau:
        raise SettingsError(f"arm {spec!r}: floor {floor:g} is above tau {tau:g}")
    if tau == 0:
        return Arm("redraft")
    return Arm(f"redraft:tau={_short(tau)},floor={_short(floor)}", mode="tolerant", tau=tau, floor=floor)


def parse_arms(specs: Iterable[str]) -> tuple[Arm, ...]:
    """The arms of a run: what is asked for, with `plain` and `control` always first."""
    arms = [parse_arm(spec) for spec in (PLAIN, CONTROL, *specs)]
    return tuple({arm.name: arm for arm in arms}.values())


def _short(number: float) -> str:
    """Every digit that the number needs, and no more: reads back as the same number."""
    return repr(number).removesuffix(".0")


def _options(spec: str, text: str) -> dict[str, float]:
    given: dict[str, float] = {}
    for part in text.split(","):
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key not in ("tau", "floor"):
            raise SettingsError(f"arm {spec!r}: unknown option {key!r}; there are tau and floor")
        if key in given:
            raise SettingsError(f"arm {spec!r}: {key} is given twice")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0):
            raise SettingsError(f"arm {spec!r}: {key} must be a number of nats, 0 or more, not {value!r}")
        given[key] = number
    return given
