"""Runs that a report must show well, as summaries."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bundles import Session, bundle_of
from judge import GatePolicy
from replay.report.html import write_html
from replay.results import summarise
from replay.summary import ClaimArm, ClaimFlip, ClaimSummary, Summary

HOSTILE = "</script><b>|`*_@me #1 http://a.b www.a.b [x](y)\u202e::error::x%0A]]>&amp;"
LONG = f"{HOSTILE}\n\x1b[2J\x00{'x' * 1_000_000}"
STALE = {"text": "Bo owns it.", "token_ids": (1, 2), "token_src": (0, -1)}
Case = Callable[[Any], Summary]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-golden", action="store_true", help="Write golden reports anew.")


def all_identical(make: Any) -> Summary:
    return make.evaluated(6).summary()


def one_regression(make: Any) -> Summary:
    evaluated = make.evaluated(6).changed("u1", "redraft", **STALE)
    units = tuple(
        replace(unit, category="rename") if unit.unit_id == "u1" else unit for unit in evaluated.units
    )
    return replace(evaluated, units=units, run=make.run(units)).summary()


def blind_canaries(make: Any) -> Summary:
    evaluated = make.evaluated(3)
    for arm in evaluated.run.arms:
        for unit_id in ("u1", "u2"):
            evaluated = evaluated.changed(unit_id, arm, text="Nobody knows.")
    return evaluated.summary()


def unscored_verdicts(make: Any) -> Summary:
    evaluated = make.evaluated(3)
    verdicts = [
        replace(v, outcome="unscored") if (v.unit_id, v.arm) == ("u1", "redraft") else v
        for v in evaluated.verdicts()
    ]
    bundle = make.bundle(evaluated.units)
    return summarise(evaluated.run, bundle, evaluated.attempts, verdicts, GatePolicy())


def engine_errors(make: Any) -> Summary:
    evaluated = make.evaluated(3).changed("u0", "redraft", status="error", error="slot busy", text="")
    evaluated = evaluated.changed("u1", "plain", status="timeout", error="no answer in 60 s", text="")
    return replace(evaluated, attempts=evaluated.attempts[:-1]).summary()


def empty_run(make: Any) -> Summary:
    return replace(make.evaluated(2), attempts=()).summary()


def hostile_text(make: Any) -> Summary:
    evaluated = make.evaluated(2)
    facts = (replace(evaluated.units[0].facts[0], fact_id=HOSTILE, values=("Ava", f"never {LONG}")),)
    first = replace(
        evaluated.units[0],
        unit_id=HOSTILE,
        instruction=LONG,
        category=f"\x1b[2J\n{HOSTILE}",
        facts=facts,
        canary=True,
    )
    units = (first, evaluated.units[1])
    attempts = tuple(replace(a, unit_id=HOSTILE) if a.unit_id == "u0" else a for a in evaluated.attempts)
    run = make.run(units, provenance={"model": HOSTILE, "model_fingerprint": HOSTILE})
    changed = replace(evaluated, units=units, run=run, attempts=attempts)
    failed = changed.changed("u1", "redraft:tau=3,floor=1", status="error", error=LONG, text="")
    return failed.changed(HOSTILE, "redraft", text=LONG, token_ids=(1,), token_src=(-1,)).summary()


CASES: Mapping[str, Case] = {
    case.__name__: case
    for case in (
        all_identical,
        one_regression,
        blind_canaries,
        unscored_verdicts,
        engine_errors,
        empty_run,
        hostile_text,
    )
}


@pytest.fixture(params=CASES)
def case_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def summaries(make: Any) -> Mapping[str, Summary]:
    """Each case, with what depends on other packages' versions fixed."""
    return {name: fixed(case(make)) for name, case in CASES.items()}


def fixed(summary: Summary) -> Summary:
    known = {"bundle_id": "b" * 64, "judge": "fact-matcher/1"}
    return summary.model_copy(
        update={"bundle_id": "b" * 64, "comparability": {**summary.comparability, **known}}
    )


@pytest.fixture(scope="session")
def large(make: Any) -> Summary:
    """A run of 10,000 units in which every tenth lost two facts, made of a run of ten."""
    small = make.evaluated(10).changed("u1", "redraft", **STALE).summary()
    times = range(1000)

    def renamed(part: Any) -> list[Any]:
        return [part.model_copy(update={"unit_id": f"{part.unit_id}-{n}"}) for n in times]

    return fixed(small).model_copy(
        update={
            "units": 10_000,
            "attempts": 40_000,
            "regressions": 2_000,
            "reasons": tuple(f"{reason}-{n}" for n in times for reason in small.reasons),
            "flips": tuple(flip for part in small.flips for flip in renamed(part)),
            "comparisons": tuple(found for part in small.comparisons for found in renamed(part)),
            "unit_results": tuple(unit for part in small.unit_results for unit in renamed(part)),
        }
    )


MISCHIEF = (
    "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}\u202e"
    "<!--]]>&lt;&#x202e;"
)
CONTROLS = "\x00\x1b[2J\r\u2028"


def mixed(make: Any, count: int) -> Any:
    """Units of several categories and both kinds, some with pinned lines, whose arms take various times."""
    evaluated = make.evaluated(count)
    units = tuple(
        replace(
            unit,
            category=("value", "rename", "append")[at % 3],
            kind="revise" if at % 4 == 3 else "rederive",
            edited="Ava owned it." if at % 4 == 3 else None,
            pinned=("Ava owns it.",) if at % 5 == 0 else (),
        )
        for at, unit in enumerate(evaluated.units)
    )
    attempts = tuple(
        replace(a, wall_ms=a.wall_ms * (0.7 + (at % 11) / 10), prompt_ms=a.wall_ms / 5, passes=4, rows=12)
        for at, a in enumerate(evaluated.attempts)
    )
    return replace(evaluated, units=units, attempts=attempts, run=make.run(units))


def various(make: Any) -> Any:
    """A regression, a gain, and a loss that the control shares, among units that differ in all else."""
    evaluated = mixed(make, 12).changed("u3", "redraft", **STALE)
    for arm in ("plain", "control"):
        evaluated = evaluated.changed("u5", arm, text="Ada owns it.", token_ids=(3,), token_src=(-1,))
    for arm in ("control", "redraft:tau=3,floor=1"):
        evaluated = evaluated.changed("u7", arm, **STALE)
    return evaluated


def mischief(make: Any) -> Any:
    """Everything that can come from outside tries to be something else, and flips."""
    evaluated = mixed(make, 6)
    fact = replace(evaluated.units[0].facts[0], fact_id=MISCHIEF, values=("Ava", MISCHIEF))
    changes = {"unit_id": MISCHIEF, "instruction": MISCHIEF + CONTROLS, "category": MISCHIEF + CONTROLS}
    units = (replace(evaluated.units[0], facts=(fact,), **changes), *evaluated.units[1:])
    attempts = tuple(replace(a, unit_id=MISCHIEF) if a.unit_id == "u0" else a for a in evaluated.attempts)
    run = make.run(units, provenance={"model": MISCHIEF, MISCHIEF: MISCHIEF})
    changed = replace(evaluated, units=units, run=run, attempts=attempts)
    changed = changed.changed(
        MISCHIEF, "redraft", text=f"x {MISCHIEF[1:]}{CONTROLS}\ud800", token_ids=(1,), token_src=(-1,)
    )
    return changed.changed("u1", "redraft", status="error", error=MISCHIEF + CONTROLS, text="")


def long_line(make: Any) -> Any:
    """An answer of a million characters on one line, which is not plain's."""
    return mixed(make, 6).changed("u1", "redraft", **{**STALE, "text": "Bo owns it. " + "and it " * 142_857})


@pytest.fixture(scope="session")
def case(make: Any) -> Callable[[str], Summary]:
    """A summary by name: those of CASES, and runs of sessions of two kinds of document under a margin."""
    runs = {run.__name__: run for run in (various, mischief, long_line)}

    @cache
    def summary(name: str) -> Summary:
        if name in CASES:
            return CASES[name](make)
        evaluated = runs[name](make)
        sessions = [
            Session(unit.session_id, "git", document_kind=("guide", "changelog")[at % 2])
            for at, unit in enumerate(evaluated.units)
        ]
        bundle = bundle_of("suite", sessions, evaluated.units)
        policy = GatePolicy(margin=0.05)
        return summarise(evaluated.run, bundle, evaluated.attempts, evaluated.verdicts(), policy)

    return summary


@pytest.fixture
def claimed(summaries: Mapping[str, Summary]) -> Summary:
    """A run without a fact lost, in one unit of which a claim judge finds a regression."""
    flip = ClaimFlip(
        unit_id="u1", arm="redraft", repeat=0, check="claims/new_errors", before="pass", after="fail",
        attribution="held", regression=True, reason="says *against* the sources", said="Bo", evidence=(0, 2),
    )  # fmt: skip
    arms = {"redraft": ClaimArm(passed=11, failed=1, unscored=0)}
    claims = ClaimSummary(judge="claims:big", arms=arms, regressions=1, flips=(flip,))
    return summaries["all_identical"].model_copy(update={"claims": claims, "verdict": "regression"})


@pytest.fixture(scope="session")
def written(
    case: Callable[[str], Summary], large: Summary, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The HTML report of a case, or of the `large` run, as a file."""
    folder = tmp_path_factory.mktemp("reports")

    def write(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            write_html(large if name == "large" else case(name), path)
        return path

    return write
