"""Whether a language model can judge at all: pairs of texts labelled by hand, which it must get right.

Invariant: a model that gets any case wrong, or leaves one unscored, judges nothing. The cases are the same
for every model, and their canaries are asked anew in each run.
"""

import asyncio
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bundles import Outcome, Source
from judge.asking import Asker
from judge.claims import PairJudgement, judge_pair
from judge.facts import Finding


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled pair: the sources, plain generation's text, another text, and what is true of it.

    `omits` says whether the other text is silent on a supported claim of plain's. `canary` cases are asked
    again in each run.
    """

    case_id: str
    sources: str
    plain: str
    text: str
    loses_facts: bool
    makes_errors: bool
    omits: bool
    canary: bool


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What a model said of a case; `flaws` are the ways in which that is not right."""

    case: Case
    judgement: PairJudgement

    @property
    def flaws(self) -> tuple[str, ...]:
        """One line each, none where the model is right."""
        case, said = self.case, self.judgement
        flaws = [
            *_flaw("lost_facts", case.loses_facts, said.lost_facts),
            *_flaw("new_errors", case.makes_errors, said.new_errors),
        ]
        if said.lost_facts.outcome != "unscored" and case.omits != bool(said.omitted):
            flaws.append(f"omissions are {len(said.omitted)}, not {'some' if case.omits else '0'}")
        return tuple(flaws)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a model did on some cases."""

    results: tuple[CaseResult, ...]

    @property
    def failures(self) -> tuple[CaseResult, ...]:
        """The cases that it got wrong or left unscored."""
        return tuple(result for result in self.results if result.flaws)

    @property
    def passed(self) -> bool:
        """Whether the model may judge."""
        return bool(self.results) and not self.failures


async def calibrate(asker: Asker, cases: Sequence[Case]) -> Calibration:
    """Puts the cases to a model, with the questions that a run's attempts are judged by."""
    return Calibration(tuple(await asyncio.gather(*(_result(asker, case) for case in cases))))


async def first_failure(asker: Asker, cases: Sequence[Case]) -> CaseResult | None:
    """The first case that turns out wrong, where there is one; the others are then not waited for."""
    tasks = [asyncio.ensure_future(_result(asker, case)) for case in cases]
    try:
        for task in asyncio.as_completed(tasks):
            result = await task
            if result.flaws:
                return result
    finally:
        for other in tasks:
            other.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return None


async def _result(asker: Asker, case: Case) -> CaseResult:
    sources = [Source("document", case.sources)]
    return CaseResult(case, await judge_pair(asker, sources, case.plain, case.text))


def calibration_cases() -> tuple[Case, ...]:
    """All cases."""
    return _read()[1]


def calibration_version() -> int:
    """Goes up with every change of the cases."""
    return _read()[0]


def canary_cases(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Those that are asked anew in each run."""
    return tuple(case for case in cases if case.canary)


@cache
def _read() -> tuple[int, tuple[Case, ...]]:
    document = tomllib.loads((files("judge") / "calibration.toml").read_text(encoding="utf-8"))
    return document["version"], tuple(map(_case, document["cases"]))


def _case(entry: dict[str, Any]) -> Case:
    truth = set(entry["truth"])
    return Case(
        case_id=entry["id"],
        sources=entry["sources"],
        plain=entry["plain"],
        text=entry["text"],
        loses_facts="lost_facts" in truth,
        makes_errors="new_errors" in truth,
        omits="omits" in truth,
        canary=entry.get("canary", False),
    )


def _flaw(name: str, fails: bool, finding: Finding) -> list[str]:
    wanted: Outcome = "fail" if fails else "pass"
    return (
        [] if finding.outcome == wanted else [f"{name} is {finding.outcome}, not {wanted}: {finding.reason}"]
    )
