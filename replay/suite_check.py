"""What a suite can tell, and what is wrong with it, before anything is generated.

Invariant: a problem is only what the suite's own texts prove, in the order of its units; the same suite
gives the same report on every machine.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bundles import Condition, Fact, Imported, Source, Unit
from judge import FactProblem, check_facts
from judge.facts import check_fact, describe
from judge.intervals import rate_limits

CONFIDENCE = 0.95
_BETWEEN_TEXTS = "\n\n"


@dataclass(frozen=True, slots=True)
class Power:
    """How little `sessions` could show, edits of one session being one piece of evidence.

    A regression that loses facts in `smallest_rate` of all sessions shows in at least one of these with a
    probability of CONFIDENCE; None where there is no session.
    """

    sessions: int
    smallest_rate: float | None


@dataclass(frozen=True, slots=True)
class Kind:
    """Units of one category."""

    units: int
    canaries: int


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """A suite's sizes, its power and its problems.

    `source_chars` and `answer_limits` are the least and the most of a unit; a unit without a limit has
    that of the run. `by_facts` is the power of all sessions with a fact that weighs, `by_canaries` that of
    those with a canary. `unreadable` names the entries that are none of its units, and why.
    """

    name: str
    units: int
    sessions: int
    canaries: int
    facts: int
    without_facts: int
    kinds: Mapping[str, Kind]
    source_chars: tuple[int, int]
    answer_limits: tuple[int, int] | None
    by_facts: Power
    by_canaries: Power
    unreadable: tuple[str, ...] = ()
    problems: tuple[FactProblem, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing to mend."""
        return not self.unreadable and not self.problems


def check_suite(imported: Imported) -> SuiteReport:
    """Everything that can be told of a suite from its file alone."""
    bundle = imported.bundle
    units = bundle.units
    chars = [sum(len(source.text) for source in unit.sources_after) for unit in units]
    limits = [unit.max_tokens for unit in units if unit.max_tokens is not None]
    canaries = Counter(unit.category for unit in units if unit.canary)
    return SuiteReport(
        name=bundle.name,
        units=len(units),
        sessions=len({unit.session_id for unit in units}),
        canaries=canaries.total(),
        facts=sum(len(unit.facts) for unit in units),
        without_facts=sum(not unit.facts for unit in units),
        kinds={
            category: Kind(number, canaries[category])
            for category, number in sorted(Counter(unit.category for unit in units).items())
        },
        source_chars=(min(chars), max(chars)),
        answer_limits=(min(limits), max(limits)) if limits else None,
        by_facts=power([unit for unit in units if any(map(weighs, unit.facts))]),
        by_canaries=power([unit for unit in units if unit.canary]),
        unreadable=imported.skipped,
        problems=(*_problems(units),),
    )


def power(units: Sequence[Unit]) -> Power:
    """How little the sessions of these units could show."""
    sessions = len({unit.session_id for unit in units})
    return Power(sessions, float(rate_limits(0, sessions, CONFIDENCE)[1]) if sessions else None)


def weighs(fact: Fact) -> bool:
    """Whether a gate may fail on the fact."""
    return fact.severity != "advisory"


def _problems(units: Sequence[Unit]) -> Iterator[FactProblem]:
    first: dict[object, str] = {}
    for unit in units:
        yield from check_facts(unit)
        yield from _unable(unit)
        yield from _without_pair(unit)
        if (twin := first.setdefault(_asked(unit), unit.unit_id)) != unit.unit_id:
            yield FactProblem(unit.unit_id, None, f"asks the same of the same edit as unit {twin!r}")
        if unit.edited is None and _texts(unit.sources_before) == _texts(unit.sources_after):
            yield FactProblem(unit.unit_id, None, "the edit changes nothing")


def _unable(unit: Unit) -> Iterator[FactProblem]:
    """Facts that no answer can pass, and those that a stale answer passes like any other."""
    texts = (*(source.text for source in unit.sources_before), unit.stale or "", unit.instruction)
    old = _BETWEEN_TEXTS.join(texts)
    for fact in unit.facts:
        message = None
        if fact.polarity == "expect":
            needed = least_tokens(fact.condition)
            if unit.max_tokens is not None and needed > unit.max_tokens:
                message = f"needs {needed} words, {unit.max_tokens} tokens are the limit of the answer"
        elif fact.matcher not in ("pattern", "count"):
            apart = _apart(fact.condition)
            finding = check_fact(replace(fact, matcher=apart.matcher, of=apart.of), old)
            if finding.outcome == "pass":
                wrong = describe(fact.condition)
                message = f"forbids {wrong}, which nothing before the edit states: {finding.reason}"
        if message:
            yield FactProblem(unit.unit_id, fact.fact_id, message)


def _without_pair(unit: Unit) -> Iterator[FactProblem]:
    forbids = any(fact.polarity == "forbid" and weighs(fact) for fact in unit.facts)
    if unit.canary and not forbids:
        yield FactProblem(unit.unit_id, None, "a canary needs a fact that forbids the stale value")


def least_tokens(condition: Condition) -> int:
    """How many tokens a text needs at least to fulfil the condition: one for each word that is wanted."""
    lengths = [len(value.split()) for value in condition.values]
    parts = list(map(least_tokens, condition.of))
    match condition.matcher:
        case "near" | "all":
            words = {word for value in condition.values for word in value.casefold().split()}
            return max([len(words), *parts])
        case "text" | "any":
            return min([*lengths, *parts], default=0)
        case "count":
            return min([*lengths, *parts], default=0) * (condition.at_least or 0)
        case _:
            return 1


def _apart(condition: Condition) -> Condition:
    """The condition where what must stand together may stand anywhere."""
    matcher = "all" if condition.matcher == "near" else condition.matcher
    return replace(condition, matcher=matcher, of=tuple(map(_apart, condition.of)))


def _asked(unit: Unit) -> object:
    texts = (_texts(unit.sources_before), _texts(unit.sources_after))
    return (unit.instruction, texts, unit.stale, unit.edited)


def _texts(sources: Sequence[Source]) -> tuple[tuple[str, str], ...]:
    return tuple((source.name, source.text) for source in sources)
