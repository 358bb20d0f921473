"""What is in a bundle, for somebody who asks before anything is generated.

Invariant: each unit is listed with all its facts, and takes as many lines as it has things to say.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tabulate import tabulate

from bundles import Bundle, Fact, Unit
from judge.facts import describe
from replay.report.table import one_line


def contents_of(bundle: Bundle, runs: Sequence[str]) -> dict[str, object]:
    """The bundle's counts, and the ids of its runs."""
    facts = [fact for unit in bundle.units for fact in unit.facts]
    return {
        "bundle_id": bundle.bundle_id,
        "name": bundle.name,
        "sessions": len(bundle.sessions),
        "units": len(bundle.units),
        "events": len(bundle.events),
        "canaries": sum(unit.canary for unit in bundle.units),
        "facts": len(facts),
        "origins": dict(Counter(session.origin for session in bundle.sessions)),
        "tenants": len({session.tenant for session in bundle.sessions if session.tenant}),
        "documents": len({session.document_id for session in bundle.sessions if session.document_id}),
        "kinds": dict(Counter(unit.kind for unit in bundle.units)),
        "categories": dict(Counter(unit.category or "none" for unit in bundle.units)),
        "severities": dict(Counter(fact.severity for fact in facts)),
        "matchers": dict(Counter(fact.matcher for fact in facts)),
        "runs": list(runs),
    }


def render_contents(contents: Mapping[str, object]) -> str:
    """One line for each count, without what there is none of."""
    rows = [
        (what.replace("_", " "), _shown(value)) for what, value in contents.items() if value or value == 0
    ]
    return tabulate(rows, tablefmt="plain", disable_numparse=True)


def render_units(units: Sequence[Unit]) -> str:
    """A paragraph for each unit: its id, what is asked, and what the answer must and must not say."""
    return "\n\n".join("\n".join(_lines(unit)) for unit in units) or "no units"


def _lines(unit: Unit) -> Iterator[str]:
    yield one_line(unit.unit_id)
    kinds = [unit.category or "no category", *(["canary"] if unit.canary else [])]
    yield f"  {one_line(', '.join(kinds))}: {one_line(unit.instruction)}"
    for fact in unit.facts:
        yield f"  {_fact(fact)}"
    if not unit.facts:
        yield "  no facts: tells only how fast, and whether the text is plain's"


def _fact(fact: Fact) -> str:
    verb = {"expect": "expects", "forbid": "forbids"}[fact.polarity]
    return one_line(f"{verb} {describe(fact.condition)} ({fact.severity})")


def _shown(value: object) -> str:
    match value:
        case dict():
            return one_line(", ".join(f"{number} {name}" for name, number in sorted(value.items())))
        case list():
            return ", ".join(value)
        case _:
            return one_line(str(value))
