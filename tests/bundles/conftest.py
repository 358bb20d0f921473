"""Values for the tests of bundles: small factories, and strategies for whole bundles."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from bundles import (
    Attempt,
    Bundle,
    Condition,
    Event,
    Fact,
    HeldSpan,
    LineEdit,
    Reference,
    Run,
    SectionState,
    Session,
    Source,
    Store,
    Unit,
    bundle_of,
)
from bundles.identity import bundle_id


@pytest.fixture(scope="session")
def make_unit() -> Callable[..., Unit]:
    def make(unit_id: str = "u1", **changes: Any) -> Unit:
        values: dict[str, Any] = {
            "unit_id": unit_id,
            "session_id": "s1",
            "instruction": "Summarise.",
            "sources_before": (Source("plan", "Launch on Friday."),),
            "sources_after": (Source("plan", "Launch on Monday."),),
            "facts": (Fact("expect-1", "expect", ("Monday",)), Fact("forbid-1", "forbid", ("Friday",))),
        }
        return Unit(**values | changes)

    return make


@pytest.fixture(scope="session")
def make_bundle(make_unit: Callable[..., Unit]) -> Callable[..., Bundle]:
    def make(*units: Unit, name: str = "plans") -> Bundle:
        return bundle_of(name, [Session("s1", "suite")], units or (make_unit(),))

    return make


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Run]:
    def make(bundle: Bundle, run_id: str = "r1", **changes: Any) -> Run:
        values: dict[str, Any] = {
            "run_id": run_id,
            "bundle_id": bundle.bundle_id,
            "unit_ids": tuple(unit.unit_id for unit in bundle.units),
            "arms": ("plain", "control", "redraft:tau=3,floor=1"),
            "repeats": 1,
            "seed": 2**40,
            "max_tokens": 160,
            "started": "2025-01-02T03:04:05Z",
            "provenance": {"model": "m", "slots": 1, "tau": 0.1, "flash": True, "host": None},
        }
        return Run(**values | changes)

    return make


@pytest.fixture(scope="session")
def make_attempt() -> Callable[..., Attempt]:
    def make(run_id: str = "r1", unit_id: str = "u1", arm: str = "plain", **changes: Any) -> Attempt:
        values: dict[str, Any] = {
            "run_id": run_id,
            "unit_id": unit_id,
            "arm": arm,
            "repeat": 0,
            "order": 1,
            "status": "ok",
            "text": "Launch on Monday\0.",
            "token_ids": (5, 6, 7),
            "token_src": (0, -1, 2),
            "spans": (HeldSpan(0, 4, 1, 5),),
            "wall_ms": 12.5,
            "queued_ms": 0.1,
            "prompt_ms": 3.3,
            "prompt_tokens": 40,
            "divergences": 1,
            "passes": 2,
            "rows": 9,
        }
        return Attempt(**values | changes)

    return make


@pytest.fixture(scope="session")
def any_bundle() -> st.SearchStrategy[Bundle]:
    """Bundles of few units with all of Unicode in their texts, also such as no suite may give."""
    texts = st.text(max_size=12)
    labels = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=4)
    labels = labels.filter(lambda label: label.strip() != "")
    filled = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() != "")
    numbers = st.none() | st.integers(-(2**63), 2**63 - 1)
    conditions = st.recursive(
        st.builds(Condition, matcher=st.sampled_from(["text", "date"]), values=st.lists(filled).map(tuple)),
        lambda parts: st.builds(
            Condition,
            matcher=st.sampled_from(["near", "count"]),
            of=st.lists(parts, min_size=1, max_size=2).map(tuple),
            at_least=numbers,
            at_most=numbers,
            fraction=st.booleans(),
        ),
        max_leaves=4,
    )
    facts = st.builds(
        Fact,
        fact_id=labels,
        polarity=st.sampled_from(["expect", "forbid"]),
        values=st.lists(filled, min_size=1, max_size=2).map(tuple),
        matcher=st.sampled_from(["text", "number", "near"]),
        severity=st.sampled_from(["critical", "supporting", "advisory"]),
        origin=st.sampled_from(["annotated", "edit"]),
        as_current=st.booleans(),
        of=st.lists(conditions, max_size=1).map(tuple),
        at_least=numbers,
        at_most=numbers,
        fraction=st.booleans(),
    )
    sources = st.lists(
        st.builds(Source, labels, texts), min_size=1, max_size=2, unique_by=lambda source: source.name
    ).map(tuple)

    times = st.floats(allow_nan=False, allow_infinity=False)
    states = st.none() | st.builds(
        SectionState,
        instruction=texts,
        sources=st.just(()) | sources,
        derived=st.none() | texts,
        pinned=st.lists(texts, max_size=2).map(tuple),
        max_tokens=st.none() | st.integers(1, 2**31 - 1),
    )
    edits = st.builds(
        LineEdit,
        target=st.sampled_from(["source", "derived"]),
        start=st.integers(0, 9),
        end=st.integers(0, 9),
        lines=st.lists(texts, max_size=2).map(tuple),
        source=st.none() | texts,
    )

    def events(session_ids: list[str]) -> st.SearchStrategy[list[Event]]:
        event = st.builds(
            Event,
            session_id=st.sampled_from(session_ids),
            seq=st.integers(0, 9),
            ts=texts,
            type=st.sampled_from(["opened", "edited", "refreshed", "deleted", "evicted"]),
            revision=st.integers(1, 99),
            before=states,
            after=states,
            edits=st.lists(edits, max_size=1).map(tuple),
            numbers=st.dictionaries(texts, st.none() | texts | times | st.booleans(), max_size=2),
            engine=texts,
        )
        return st.lists(event, max_size=2, unique_by=lambda event: (event.session_id, event.seq))

    def units(session_ids: list[str]) -> st.SearchStrategy[list[Unit]]:
        unit = st.builds(
            Unit,
            unit_id=labels,
            session_id=st.sampled_from(session_ids),
            instruction=filled,
            sources_before=sources,
            sources_after=sources,
            kind=st.just("revise"),
            category=texts,
            stale=st.none() | texts,
            edited=texts,
            pinned=st.lists(texts, max_size=2).map(tuple),
            tags=st.lists(texts, max_size=2).map(tuple),
            max_tokens=st.none() | st.integers(1, 2**31 - 1),
            facts=st.lists(facts, max_size=2, unique_by=lambda fact: fact.fact_id).map(tuple),
            attribution=st.dictionaries(texts, texts, max_size=2),
            reference=st.none() | st.builds(Reference, text=texts, mode=texts, wall_ms=times),
        )
        return st.lists(unit, max_size=3, unique_by=lambda unit: unit.unit_id)

    def bundle(name: str, found: list[Session], members: list[Unit], seen: list[Event]) -> Bundle:
        return Bundle(bundle_id(found, members, seen), name, tuple(found), tuple(members), tuple(seen))

    sessions = st.lists(
        st.builds(
            Session,
            session_id=labels,
            origin=st.sampled_from(["recorder", "suite", "git", "loom", "chat"]),
            tenant=texts,
            document_id=texts,
            section_id=texts,
            document_kind=texts,
            opened_at=texts,
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda session: session.session_id,
    )

    def bundles(found: list[Session]) -> st.SearchStrategy[Bundle]:
        ids = [session.session_id for session in found]
        return st.builds(bundle, labels, st.just(found), units(ids), events(ids))

    return sessions.flatmap(bundles)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "évals.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as store:
        yield store


@pytest.fixture
def bundle(make_bundle: Callable[..., Bundle]) -> Bundle:
    return make_bundle()


@pytest.fixture
def run(store: Store, bundle: Bundle, make_run: Callable[..., Run]) -> Run:
    store.add_bundle(bundle)
    run = make_run(bundle)
    store.create_run(run)
    return run


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB, where this machine lets a test have one."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(mounted)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"mounting is not possible here: {done.stderr.strip()}")
    yield mounted
    subprocess.run(["umount", str(mounted)], check=True)
