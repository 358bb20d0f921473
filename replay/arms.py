"""Ways of generating, named by spec strings: `plain`, `redraft`, `redraft:tau=3,floor=1`, `anchor`, `lookup`.

Invariant: an arm's name is canonical: two spellings of the same arm have the same name, which reads back
as that arm.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar, get_args

from daemon.wire import Mode
from engine.wire import Algorithm, DraftSource, Rule
from replay.errors import SettingsError

PLAIN = "plain"
CONTROL = "control"
STALE = "stale"
WARMUP = "warmup"
"""The arm under which attempts are stored that only make the engine warm."""
DEFAULT_ARMS = (PLAIN, CONTROL, "redraft", "redraft:tau=3,floor=1")
_TAU, _FLOOR, _P_CUT = 3.0, 1.0, 0.9
_RULE: Rule = "entropy_floor"
_GATED = ("confidence_gated", "gated_entropy")
_FLOORLESS = ("tau", "entropy_scaled", "confidence_gated")
_ALGORITHMS: Mapping[str, Algorithm] = {"redraft": "adaptive", "anchor": "anchor"}
_BASELINES: Mapping[str, tuple[DraftSource, ...] | None] = {
    PLAIN: None,
    CONTROL: None,
    "lookup": ("lookup",),
    "model": ("model",),
}
_KNOWN = "plain, control, redraft, redraft:tau=T,floor=F, anchor, lookup and model"
_OPTIONS = ("tau", "floor", "rule", "p_cut", "sources", "patch", "guard")
_TOLERANT = ("tau", "floor", "rule", "p_cut")
"""Options of which one is enough to ask for tolerant mode."""

Choice = TypeVar("Choice", bound=str)


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of generating; the fields are the daemon's `RefreshRequest`'s.

    `baseline` is plain generation, which may draft from `sources` other than the old answer. `tau` and
    `floor` (nats), `rule`, `p_cut` and `guard` belong to tolerant mode.
    """

    name: str
    baseline: bool = False
    mode: Mode = "exact"
    tau: float = _TAU
    floor: float = _FLOOR
    rule: Rule = _RULE
    p_cut: float = _P_CUT
    algorithm: Algorithm = "adaptive"
    sources: tuple[DraftSource, ...] | None = None
    patch: bool = True
    guard: bool = True

    @property
    def exact(self) -> bool:
        """Whether the arm drafts and must give plain generation's tokens."""
        return self.mode == "exact" and (not self.baseline or self.sources is not None)


def parse_arm(spec: str) -> Arm:
    """The arm of a spec string; SettingsError says what is wrong with it."""
    name, colon, text = spec.strip().partition(":")
    if name in _BASELINES and not colon:
        return Arm(name, baseline=True, sources=_BASELINES[name])
    if name not in _ALGORITHMS:
        raise SettingsError(f"arm {spec!r}: unknown; there are {_KNOWN}")
    options = _Options(spec, text.split(",") if colon else [])
    if name == "anchor":
        options.refuse("sources", "the published algorithm drafts from the old answer only")
    arm = Arm(name, algorithm=_ALGORITHMS[name], sources=options.sources(), patch=options.switch("patch"))
    if any(key in options.texts for key in _TOLERANT):
        arm = _tolerant(arm, options)
    elif "guard" in options.texts:
        options.fail("guard: exact mode needs none; give tau")
    return replace(arm, name=_canonical(arm))


def parse_arms(specs: Iterable[str]) -> tuple[Arm, ...]:
    """The arms of a run: what is asked for, with `plain` and `control` always first."""
    arms = [parse_arm(spec) for spec in (PLAIN, CONTROL, *specs)]
    return tuple({arm.name: arm for arm in arms}.values())


def _tolerant(arm: Arm, options: "_Options") -> Arm:
    """The arm with its tolerance; still exact where that is none."""
    rule: Rule = options.choice("rule", _RULE, get_args(Rule))
    if rule in _FLOORLESS:
        options.refuse("floor", f"rule {rule} has no floor")
    if rule not in _GATED:
        options.refuse("p_cut", f"rule {rule} has no confidence gate")
    tau = options.number("tau", _TAU, " of nats")
    floor = options.number("floor", min(_FLOOR, tau), " of nats")
    p_cut = options.number("p_cut", _P_CUT)
    if floor > tau:
        options.fail(f"floor {floor:g} is above tau {tau:g}")
    if not 0 < p_cut <= 1:
        options.fail(f"p_cut must be above 0 and at most 1, not {p_cut:g}")
    guard = options.switch("guard")
    if tau == 0 or rule == "exact":
        return arm
    return replace(arm, mode="tolerant", tau=tau, floor=floor, rule=rule, p_cut=p_cut, guard=guard)


def _canonical(arm: Arm) -> str:
    options = []
    if arm.mode == "tolerant":
        options.append(f"tau={_short(arm.tau)}")
        if arm.rule not in _FLOORLESS:
            options.append(f"floor={_short(arm.floor)}")
        if arm.rule != _RULE:
            options.append(f"rule={arm.rule}")
        if arm.p_cut != _P_CUT:
            options.append(f"p_cut={_short(arm.p_cut)}")
    if arm.sources is not None:
        options.append(f"sources={'+'.join(arm.sources)}")
    options += [f"{key}=off" for key, on in (("patch", arm.patch), ("guard", arm.guard)) if not on]
    return f"{arm.name}:{','.join(options)}" if options else arm.name


def _short(number: float) -> str:
    """Every digit that the number needs, and no more: reads back as the same number."""
    return repr(number).removesuffix(".0")


class _Options:
    """The `key=value` pairs of a spec, each read as what it means."""

    def __init__(self, spec: str, pairs: Iterable[str]) -> None:
        self.texts: dict[str, str] = {}
        self._spec = spec
        for pair in pairs:
            key, _, value = (piece.strip() for piece in pair.partition("="))
            if key not in _OPTIONS:
                self.fail(f"unknown option {key!r}; there are {', '.join(_OPTIONS)}")
            if key in self.texts:
                self.fail(f"{key} is given twice")
            self.texts[key] = value

    def fail(self, message: str) -> NoReturn:
        raise SettingsError(f"arm {self._spec!r}: {message}")

    def refuse(self, key: str, why: str) -> None:
        if key in self.texts:
            self.fail(f"{key}: {why}")

    def number(self, key: str, default: float, unit: str = "") -> float:
        text = self.texts.get(key, default)
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0):
            self.fail(f"{key} must be a number{unit}, 0 or more, not {text!r}")
        return number

    def choice(self, key: str, default: Choice, known: tuple[Choice, ...]) -> Choice:
        text = self.texts.get(key, default)
        found = next((choice for choice in known if choice == text), None)
        if found is None:
            self.fail(f"{key} must be one of {', '.join(known)}, not {text!r}")
        return found

    def switch(self, key: str) -> bool:
        return self.choice(key, "on", ("on", "off")) == "on"

    def sources(self) -> tuple[DraftSource, ...] | None:
        if "sources" not in self.texts:
            return None
        known: tuple[DraftSource, ...] = get_args(DraftSource)
        given = self.texts["sources"].split("+")
        if not set(given) <= set(known):
            self.fail(f"sources must be some of {'+'.join(known)}, not {self.texts['sources']!r}")
        return tuple(source for source in known if source in given)
