from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import (
    Bundle,
    Change,
    EmptySuite,
    Journal,
    Recording,
    Reference,
    Run,
    SectionState,
    Source,
    Store,
    StoreError,
    Unit,
    UnknownRef,
)


class TestBundles:
    @settings(max_examples=10)
    @given(data=st.data())
    def test_comes_back_equal_and_once(
        self, any_bundle: st.SearchStrategy[Bundle], data: st.DataObject
    ) -> None:
        bundles = data.draw(st.lists(any_bundle, max_size=5, unique_by=lambda bundle: bundle.bundle_id))
        with TemporaryDirectory() as folder:
            path = Path(folder, "store.duckdb")
            with Store.open(path) as store:
                assert [store.add_bundle(bundle) for bundle in bundles] == [True] * len(bundles)
            with Store.open(path) as store:
                for bundle in bundles:
                    assert store.bundle(bundle.bundle_id) == bundle
                    assert not store.add_bundle(replace(bundle, name="again", units=bundle.units[::-1]))
                assert len(store.bundles()) == len(bundles)

    def test_texts_of_several_bundles_are_stored_once(
        self, path: Path, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]
    ) -> None:
        again = make_unit("u2", sources_after=(Source("plan", "Launch on Sunday."),))
        with Store.open(path) as store:
            store.add_bundle(make_bundle(name="one"))
            store.add_bundle(make_bundle(make_unit(), again, name="two"))
            store.add_bundle(make_bundle(name="three"))
            assert [(info.name, info.sessions, info.units) for info in store.bundles()] == [
                ("one", 1, 1),
                ("two", 1, 2),
            ]
        with duckdb.connect(path) as connection:
            texts = connection.execute("SELECT text FROM revisions ORDER BY text").fetchall()
        assert texts == [
            ("Launch on Friday.",),
            ("Launch on Monday.",),
            ("Launch on Sunday.",),
            ("Summarise.",),
        ]

    def test_found_by_name_or_beginning_of_id(self, store: Store, bundle: Bundle) -> None:
        store.add_bundle(bundle)
        assert store.bundle("plans") == store.bundle(bundle.bundle_id[:6]) == bundle

    def test_unknown_or_ambiguous_names_are_told(
        self, store: Store, bundle: Bundle, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]
    ) -> None:
        with pytest.raises(UnknownRef, match="no bundle 'plans' in the store, there are: none"):
            store.bundle("plans")
        store.add_bundle(bundle)
        for ref in ("", "plan", "'; DROP TABLE bundles"):
            with pytest.raises(UnknownRef, match="in the store, there are: plans"):
                store.bundle(ref)
        other = make_bundle(make_unit(canary=True))
        store.add_bundle(other)
        with pytest.raises(UnknownRef, match=f"bundle 'plans' is ambiguous.*{other.bundle_id}"):
            store.bundle("plans")

    def test_whole_id_wins_over_a_name(
        self, store: Store, bundle: Bundle, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]
    ) -> None:
        store.add_bundle(bundle)
        store.add_bundle(make_bundle(make_unit("u2"), name=bundle.bundle_id))
        assert store.bundle(bundle.bundle_id) == bundle

    def test_a_removed_one_takes_its_own_texts_along_and_no_others(
        self, path: Path, make_bundle: Callable[..., Bundle], make_unit: Callable[..., Unit]
    ) -> None:
        with Store.open(path) as store:
            store.add_bundle(make_bundle(name="one"))
            again = make_unit("u2", reference=Reference("Served."), stale="Stale.")
            store.add_bundle(make_bundle(make_unit(), again, name="two"))
            assert store.remove_bundle("two").name == "two"
            assert [info.name for info in store.bundles()] == ["one"]
            with pytest.raises(UnknownRef):
                store.remove_bundle("two")
        with duckdb.connect(path) as connection:
            for count in ("count(*) FROM units", "count(*) FROM sessions", "count(*) // 2 FROM facts"):
                assert connection.execute(f"SELECT {count}").fetchall() == [(1,)]
            texts = connection.execute("SELECT text FROM revisions ORDER BY text").fetchall()
        assert texts == [("Launch on Friday.",), ("Launch on Monday.",), ("Summarise.",)]

    def test_one_that_a_run_rests_on_stays(self, store: Store, run: Run) -> None:
        with pytest.raises(StoreError, match="bundle plans: run r1 rests on it"):
            store.remove_bundle("plans")
        assert store.bundle("plans").bundle_id == run.bundle_id


class TestIngest:
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Path:
        return tmp_path / "prod"

    @staticmethod
    def record(journal: Path, *revisions: int) -> None:
        """Record that a section was opened at revision 1, or refreshed after its source had changed."""
        with Journal.open(journal) as opened:
            recording = Recording.of(opened)
            for revision in revisions:
                sources = (Source("plan", f"Launch in week {revision}."),)
                state = SectionState("Summarise.", sources, f"In week {revision}.")
                kind = "opened" if revision == 1 else "refreshed"
                change = Change("acme/plan/intro", kind, revision, "2025-01-02T03:04:05Z", state, sources)
                recording.submit(change).result()

    def test_a_recording_becomes_a_bundle_of_its_name_once(self, store: Store, journal: Path) -> None:
        self.record(journal, 1, 2, 3)
        first = store.ingest(journal)
        assert (first.added, first.skipped) == (True, ())
        assert [unit.stale for unit in store.bundle("prod").units] == ["In week 1.", "In week 2."]
        assert len(store.bundle("prod").events) == 3
        assert store.ingest(journal) == replace(first, added=False)
        assert [info.units for info in store.bundles()] == [2]

    def test_one_that_grew_takes_the_place_of_what_it_was(
        self, path: Path, journal: Path, make_run: Callable[..., Run]
    ) -> None:
        with Store.open(path) as store:
            self.record(journal, 1, 2)
            first = store.ingest(journal)
            self.record(journal, 3)
            second = store.ingest(journal)
            assert [(info.bundle_id, info.name) for info in store.bundles()] == [(second.bundle_id, "prod")]
            store.create_run(make_run(store.bundle("prod")))
            self.record(journal, 4)
            third = store.ingest(journal)
            assert third.added
            assert {info.name: info.bundle_id for info in store.bundles()} == {
                "prod": third.bundle_id,
                f"prod@{second.bundle_id[:8]}": second.bundle_id,
            }
            assert store.bundle(store.run("last").bundle_id).units == store.bundle("prod").units[:2]
            assert first.bundle_id not in (second.bundle_id, third.bundle_id)

    def test_one_is_ingested_while_it_is_recorded(self, store: Store, journal: Path) -> None:
        self.record(journal, 1, 2)
        with Journal.open(journal):
            assert store.ingest(journal).added

    def test_one_that_was_removed_comes_back(self, store: Store, journal: Path) -> None:
        self.record(journal, 1, 2)
        store.ingest(journal)
        store.remove_bundle("prod")
        assert store.ingest(journal).added

    def test_an_empty_or_damaged_one_changes_nothing(self, store: Store, journal: Path) -> None:
        with pytest.raises(StoreError, match="prod: no such journal"):
            store.ingest(journal)
        Journal.open(journal).close()
        with pytest.raises(EmptySuite, match="prod: nothing is recorded yet"):
            store.ingest(journal)
        self.record(journal, 1, 2)
        segment = next(journal.glob("*.seg"))
        segment.write_bytes(segment.read_bytes()[:-1])
        with pytest.raises(StoreError, match="the journal is damaged at record"):
            store.ingest(journal)
        assert store.bundles() == []
