import json
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles import Bundle, Condition, Event, Fact, Reference, Session, Source, Unit
from bundles.identity import bundle_id, revision_content, revision_id


@settings(max_examples=50)
@given(data=st.data())
def test_order_of_sessions_units_and_facts_does_not_count(
    any_bundle: st.SearchStrategy[Bundle], data: st.DataObject
) -> None:
    bundle = data.draw(any_bundle)
    shuffle = Random(data.draw(st.integers())).sample
    units = [
        replace(
            unit,
            facts=tuple(shuffle(unit.facts, len(unit.facts))),
            attribution=dict(reversed(unit.attribution.items())),
        )
        for unit in shuffle(bundle.units, len(bundle.units))
    ]
    sessions = shuffle(bundle.sessions, len(bundle.sessions))
    events = shuffle(bundle.events, len(bundle.events))
    assert bundle_id(sessions, units, events) == bundle.bundle_id


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"unit_id": "u2"}, id="id"),
        pytest.param({"instruction": "Summarise!"}, id="instruction"),
        pytest.param({"sources_after": (Source("plan", "Launch on Monday. "),)}, id="source"),
        pytest.param({"sources_after": (Source("memo", "Launch on Monday."),)}, id="source name"),
        pytest.param({"stale": ""}, id="stale empty rather than absent"),
        pytest.param({"canary": True}, id="canary"),
        pytest.param({"facts": (Fact("expect-1", "expect", ("Monday",)),)}, id="facts"),
        pytest.param({"attribution": {"licence": "MIT"}}, id="attribution"),
        pytest.param({"reference": Reference("Launch.")}, id="reference"),
        pytest.param({"facts": (Fact("f", "expect", ("a",), of=(Condition("date", ("b",)),)),)}, id="of"),
    ],
)
def test_any_change_of_content_changes_the_id(
    changes: dict[str, object], make_unit: Callable[..., Unit]
) -> None:
    sessions = [Session("s1", "suite")]
    assert bundle_id(sessions, [make_unit(**changes)]) != bundle_id(sessions, [make_unit()])


def test_moving_text_between_fields_changes_the_id(make_unit: Callable[..., Unit]) -> None:
    one = make_unit(pinned=("a", "b"), tags=())
    other = make_unit(pinned=("a",), tags=("b",))
    assert bundle_id([], [one]) != bundle_id([], [other])


def test_ids_are_the_same_for_ever(make_unit: Callable[..., Unit]) -> None:
    """Ids are written into reports and baselines: a change here orphans all of them."""
    assert (
        revision_id("source", "plan", "Launch ü")
        == "41b6065197ba65a11f5e26a34f8de12684f72ffddc63a5c6593f24ab7fd2f130"
    )
    assert (
        bundle_id([Session("s1", "suite")], [make_unit()])
        == "734ec950cb2c35270e2138ea64a533ab678f8d249ce6e25e0250066c298cb75c"
    )


def test_events_count_only_where_there_are_any(make_unit: Callable[..., Unit]) -> None:
    sessions, units = [Session("s1", "recorder")], [make_unit()]
    event = Event("s1", 0, "2025-01-02T03:04:05Z", "opened", 1)
    assert bundle_id(sessions, units, []) == bundle_id(sessions, units)
    ids = {bundle_id(sessions, units, events) for events in ([], [event], [replace(event, revision=2)])}
    assert len(ids) == 3


@given(name=st.text(), text=st.text())
def test_content_of_a_revision_is_json_as_the_standard_library_writes_it(name: str, text: str) -> None:
    written = json.dumps(["source", name, text], ensure_ascii=False, separators=(",", ":"))
    assert revision_content("source", name, text) == f"{written}\n".encode()


def test_revision_id_tells_kind_name_and_text_apart() -> None:
    ids = {
        revision_id("source", "ab", "c"),
        revision_id("source", "a", "bc"),
        revision_id("derived", "ab", "c"),
        revision_id("source", "", "abc"),
    }
    assert len(ids) == 4
