"""What a release must hold to, as people write it down.

Invariant: a policy is checked when it is made, whether from a file or not; an unknown key or a value that
cannot be meant is an error that names both, never a gate that quietly asks for less.
"""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from bundles import Severity, brief
from judge.errors import PolicyError
from judge.outcomes import CONTROL, PLAIN

POLICY_VERSION = 1
Metric = Literal["wall", "ms_per_token", "passes"]
Requirement = Literal["calibrated", "comparable"]
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What a release must hold to; see `decide`.

    Losses are limited in two ways. `allowed_regressions` counts: per severity, how many facts an arm may lose
    that the control keeps. `max_regressions_over_control` (facts that the arm loses less those that the
    control loses) and `margin` (share of sessions in which the arm loses a fact less that of the control, at
    `confidence`) compare. A severity that `allowed_regressions` leaves out is not counted where one of the
    two is given; otherwise its limit is 0, and advisory facts have none.

    `canaries` is "all" (none may fail) or "report". `min_units` is how many units it takes of which plain
    generation gets at least one fact right, in every repeat and not an advisory one. `min_speedup` is the
    least median speedup by metric, `pinned_survival` the least share of pinned lines that an arm keeps.
    `require` names what else must be known: that a claim judge took part and passed its calibration, that
    nothing is unknown by which runs are compared. `arms` narrows the arms that are gated; empty means every
    arm but plain and control.
    """

    version: int = POLICY_VERSION
    allowed_regressions: Mapping[Severity, int] = field(default_factory=dict)
    max_regressions_over_control: int | None = None
    margin: float | None = None
    confidence: float = 0.95
    canaries: Literal["all", "report"] = "all"
    min_units: int = 1
    min_speedup: Mapping[Metric, float] = field(default_factory=dict)
    pinned_survival: float | None = None
    require: tuple[Requirement, ...] = ()
    arms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check every value, as a policy mostly comes from a file."""
        if type(self.version) is not int or self.version != POLICY_VERSION:
            raise PolicyError(f"version: {brief(self.version)} is not {POLICY_VERSION}, the one known here")
        for severity, allowed in _table("allowed_regressions", self.allowed_regressions, Severity):
            _require_count(f"allowed_regressions.{severity}", allowed, least=0)
        if self.max_regressions_over_control is not None:
            _require_count("max_regressions_over_control", self.max_regressions_over_control, least=0)
        if self.margin is not None:
            _require_number("margin", self.margin, 0, 1)
        _require_number("confidence", self.confidence, 0.5, 0.9999)
        if self.canaries not in ("all", "report"):
            raise PolicyError(f'canaries: {brief(self.canaries)} is neither "all" nor "report"')
        _require_count("min_units", self.min_units, least=1)
        for metric, least in _table("min_speedup", self.min_speedup, Metric):
            _require_number(f"min_speedup.{metric}", least, 0, 1000)
        if self.pinned_survival is not None:
            _require_number("pinned_survival", self.pinned_survival, 0, 1)
        for name in _names("require", self.require, '["comparable"]'):
            _require_known("require", name, Requirement)
        if barred := {PLAIN, CONTROL} & set(_names("arms", self.arms, '["redraft"]')):
            raise PolicyError(f"arms: {barred.pop()!r} is what others are compared with and is never gated")

    @property
    def limits(self) -> Mapping[Severity, int]:
        """How many facts an arm may lose, by severity; a severity without a limit is left out."""
        compares = self.margin is not None or self.max_regressions_over_control is not None
        default: Mapping[Severity, int] = {} if compares else {"critical": 0, "supporting": 0}
        return {**default, **self.allowed_regressions}

    @classmethod
    def from_toml(cls, path: Path) -> "GatePolicy":
        """Read the `[gate]` table of a TOML file; what it leaves out, or the table as a whole, is default."""
        document = _document(path)
        table = document.get("gate", {})
        if not isinstance(table, dict):
            raise PolicyError(f"{path}: gate is no table; write [gate] and its keys below")
        if not document or ("gate" not in document and difflib.get_close_matches("gate", document)):
            raise PolicyError(f"{path}: no [gate] table, only {brief(', '.join(document) or 'nothing')}")
        try:
            return cls._from_table(table)
        except PolicyError as error:
            raise PolicyError(f"{path}: [gate] {error}") from error

    @classmethod
    def _from_table(cls, table: Mapping[str, Any]) -> "GatePolicy":
        known = [entry.name for entry in fields(cls)]
        for key in table:
            if key not in known:
                raise PolicyError(f"{brief(key)}: unknown key; known are {', '.join(known)}")
        values = dict(table)
        for key in ("require", "arms"):
            if isinstance(values.get(key), list):
                values[key] = tuple(values[key])
        if isinstance(values.get("min_speedup"), int | float):
            values["min_speedup"] = {"wall": values["min_speedup"]}
        return cls(**values)


def _document(path: Path) -> Mapping[str, Any]:
    if "\0" in str(path):
        raise PolicyError(f"{brief(str(path))}: no path holds a NUL character")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise PolicyError(f"{path}: {error.strerror}") from error
    except RecursionError as error:
        raise PolicyError(f"{path}: nested too deeply for a policy") from error
    except ValueError as error:
        raise PolicyError(f"{path}: not TOML: {str(error)[:200]}") from error


def _table(key: str, value: object, known: Any) -> list[tuple[str, object]]:
    if not isinstance(value, Mapping):
        example = " = 1, ".join(get_args(known)[:2])
        raise PolicyError(f"{key}: give a table such as {{ {example} = 1 }}")
    for name in value:
        _require_known(key, name, known)
    return list(value.items())


def _names(key: str, value: object, example: str) -> tuple[str, ...]:
    if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
        raise PolicyError(f"{key}: give a list of names such as {example}")
    return value


def _require_known(key: str, name: object, known: Any) -> None:
    if name not in get_args(known):
        raise PolicyError(f"{key}: {brief(name)} is unknown, use {', '.join(get_args(known))}")


def _require_count(key: str, value: object, *, least: int) -> None:
    if type(value) is not int or not least <= value <= _MOST:
        raise PolicyError(f"{key}: {brief(value)} is not a whole number from {least} to {_MOST}")


def _require_number(key: str, value: object, least: float, most: float) -> None:
    if type(value) not in (int, float) or not least <= value <= most:  # type: ignore[operator]
        raise PolicyError(f"{key}: {brief(value)} is not a number from {least:g} to {most:g}")
