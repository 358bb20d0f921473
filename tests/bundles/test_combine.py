from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import Bundle, Event, Session, SuiteError, Unit, bundle_of, merge, split_by, split_share


@pytest.fixture
def make(make_unit: Callable[..., Unit]) -> Callable[..., Bundle]:
    def bundle(name: str, *ids: str, events: int = 0) -> Bundle:
        sessions = [Session(f"s-{key}", "suite", tenant=key[0]) for key in ids]
        units = [make_unit(key, session_id=f"s-{key}", category=key[1:] or "") for key in ids]
        seen = [Event(f"s-{ids[0]}", number, "", "opened", 1) for number in range(events)]
        return bundle_of(name, sessions, units, seen)

    return bundle


class TestMerge:
    def test_what_is_in_both_is_in_it_once(self, make: Callable[..., Bundle]) -> None:
        merged = merge("both", [make("x", "a1", "b1", events=2), make("y", "b1", "c1")])
        assert merged.name == "both"
        assert [unit.unit_id for unit in merged.units] == ["a1", "b1", "c1"]
        assert [session.session_id for session in merged.sessions] == ["s-a1", "s-b1", "s-c1"]
        assert len(merged.events) == 2
        assert merge("again", [merged, merged]).bundle_id == merged.bundle_id

    def test_what_differs_under_one_id_is_refused_or_prefixed(self, make: Callable[..., Bundle]) -> None:
        one, other = make("x", "a1"), make("y", "a1")
        other = replace(other, units=(replace(other.units[0], instruction="Else."),))
        with pytest.raises(
            SuiteError, match="unit 'a1' is not the same in 'x' and 'y'; keep both with --prefix"
        ):
            merge("both", [one, other])
        merged = merge("both", [one, other], prefix=True)
        assert [unit.unit_id for unit in merged.units] == ["x/a1", "y/a1"]
        assert {unit.session_id for unit in merged.units} == {"x/s-a1", "y/s-a1"}

    def test_sessions_and_events_may_differ_too(self, make: Callable[..., Bundle]) -> None:
        one = make("x", "a1", events=1)
        session = replace(one, name="y", sessions=(replace(one.sessions[0], tenant="z"),))
        with pytest.raises(SuiteError, match="session 's-a1' is not the same in 'x' and 'y'"):
            merge("both", [one, session])
        event = replace(one, name="y", events=(replace(one.events[0], ts="now"),))
        with pytest.raises(SuiteError, match="event 's-a1 0' is not the same in 'x' and 'y'"):
            merge("both", [one, event])


class TestSplit:
    def test_by_what_units_and_sessions_say(self, make: Callable[..., Bundle]) -> None:
        bundle = make("x", "ax", "by", "bx", "c", events=1)
        parts = split_by(bundle, "category")
        assert {part.name: [unit.unit_id for unit in part.units] for part in parts} == {
            "x none": ["c"],
            "x x": ["ax", "bx"],
            "x y": ["by"],
        }
        assert [len(part.events) for part in parts] == [0, 1, 0]
        assert [part.name for part in split_by(bundle, "tenant")] == ["x a", "x b", "x c"]
        assert split_by(bundle, "kind")[0].bundle_id == bundle.bundle_id
        for criterion in ("document", "document-kind", "origin"):
            assert len(split_by(bundle, criterion)) == 1  # type: ignore[arg-type]

    @given(
        share=st.floats(0.01, 0.99), seed=st.integers(0, 99), sizes=st.lists(st.integers(0, 4), min_size=2)
    )
    def test_a_share_keeps_sessions_whole(
        self, make_unit: Callable[..., Unit], share: float, seed: int, sizes: list[int]
    ) -> None:
        sessions = [Session(f"s{number}", "suite") for number in range(len(sizes))]
        units = [
            make_unit(f"u{number}-{place}", session_id=f"s{number}")
            for number, size in enumerate(sizes)
            for place in range(size)
        ]
        bundle = bundle_of("x", sessions, units)
        if sum(size > 0 for size in sizes) < 2:
            with pytest.raises(SuiteError, match="sessions with units cannot be split in two"):
                split_share(bundle, share, seed)
            return
        first, second = split_share(bundle, share, seed)
        found = [{unit.session_id for unit in part.units} for part in (first, second)]
        assert not found[0] & found[1]
        assert {unit.unit_id for part in (first, second) for unit in part.units} == {u.unit_id for u in units}
        assert len(found[1]) == 1 or share * len(units) <= len(first.units)
        assert len(found[0]) == 1 or len(first.units) < share * len(units) + max(sizes)
        assert split_share(bundle, share, seed) == [first, second]

    def test_one_session_cannot_be_shared_out(self, make: Callable[..., Bundle]) -> None:
        with pytest.raises(SuiteError, match=r"bundle 'x': 1 sessions with units cannot be"):
            split_share(make("x", "a"), 0.5, 0)
