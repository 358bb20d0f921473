"""Bundles that may be exported: all of Unicode, every kind of fact, units of both kinds."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from bundles import Bundle, Condition, Fact, Reference, Session, Source, Unit, bundle_of


def _conditions() -> st.SearchStrategy[Condition]:
    values = st.lists(st.text(max_size=8).map("x".__add__), min_size=1, max_size=2).map(tuple)
    simple = st.builds(Condition, st.sampled_from(["text", "date"]), values) | st.builds(
        Condition, st.just("number"), values, fraction=st.booleans()
    )
    simple |= st.just(Condition("pattern", (r"\bv\d+(?=\.)", "é|\\u00df")))

    def composed(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        of = st.lists(parts, min_size=1, max_size=2).map(tuple)
        return (
            st.builds(Condition, st.sampled_from(["all", "any", "near"]), values, of)
            | st.builds(Condition, st.just("any"), st.just(()), of)
            | st.builds(
                Condition, st.just("count"), values, of, st.integers(1, 3), st.none() | st.integers(3, 9)
            )
        )

    return simple | composed(simple) | composed(composed(simple))


def _fact(
    number: int, condition: Condition, polarity: str, severity: str, origin: str, current: bool
) -> Fact:
    return Fact(
        f"f{number}",
        polarity,  # type: ignore[arg-type]
        condition.values,
        condition.matcher,
        severity,  # type: ignore[arg-type]
        origin,  # type: ignore[arg-type]
        current and polarity == "forbid",
        condition.of,
        condition.at_least,
        condition.at_most,
        condition.fraction,
    )


@pytest.fixture(scope="session")
def full_bundle(any_bundle: st.SearchStrategy[Bundle]) -> st.SearchStrategy[Bundle]:
    """Bundles that pass every check, with at least one unit, and with events."""
    facts = st.lists(
        st.builds(
            _fact,
            st.integers(1, 9),
            _conditions(),
            st.sampled_from(["expect", "forbid"]),
            st.sampled_from(["critical", "supporting", "advisory"]),
            st.sampled_from(["annotated", "edit"]),
            st.booleans(),
        ),
        max_size=3,
        unique_by=lambda fact: fact.fact_id,
    ).map(tuple)

    @st.composite
    def bundles(draw: st.DrawFn) -> Bundle:
        found = draw(any_bundle.filter(lambda bundle: bundle.units))
        names = {session.session_id: f"s{session.session_id}" for session in found.sessions}

        def right(unit: Unit) -> Unit:
            revise = draw(st.booleans())
            given = draw(facts)
            reference = unit.reference
            return replace(
                unit,
                unit_id=f"u{unit.unit_id}",
                session_id=names[unit.session_id],
                instruction=f"I{unit.instruction}",
                sources_before=tuple(
                    Source(f"n{source.name}", source.text) for source in unit.sources_before
                ),
                sources_after=tuple(Source(f"n{source.name}", source.text) for source in unit.sources_after),
                kind="revise" if revise else "rederive",
                edited=unit.edited if revise else None,
                facts=given,
                canary=bool(given) and draw(st.booleans()),
                reference=reference
                and Reference(reference.text, reference.mode, abs(reference.wall_ms), 0.25),
            )

        return bundle_of(
            f"b{found.name}",
            [replace(session, session_id=names[session.session_id]) for session in found.sessions],
            [right(unit) for unit in found.units],
            [replace(event, session_id=names[event.session_id]) for event in found.events],
        )

    return bundles()


@pytest.fixture(scope="session")
def large_bundle() -> Bundle:
    """10,000 units of 500 sessions, one of them of a source of 1 MB; the same every time."""
    sessions = [
        Session(f"s{number}", "git", "acme", f"d{number % 40}", f"#{number}") for number in range(500)
    ]
    units = [
        Unit(
            unit_id=f"u{number}",
            session_id=f"s{number % 500}",
            instruction=f"Summarise part {number % 7}.",
            sources_before=(Source("document", f"Limit {number} of it. " * 10),),
            sources_after=(Source("document", f"Limit {number + 1} of it. " * 10),),
            facts=(Fact("expect-1", "expect", (f"Limit {number + 1}",)),),
        )
        for number in range(9_999)
    ]
    text = "Zeile\u2028 ü\0 😀 " * 100_000
    units.append(Unit("big", "s0", "Say.", (Source("document", text[:1000]),), (Source("document", text),)))
    return bundle_of("large", sessions, units)
