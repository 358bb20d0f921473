from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from daemon.wire import (
    CancelledEvent,
    DeltaEvent,
    EditsRequest,
    ErrorEvent,
    OpenEvent,
    OpenRequest,
    RefreshRequest,
    SpanEvent,
    SseDecoder,
    encode_event,
    parse_event,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
EVENTS = st.one_of(
    st.builds(DeltaEvent, text=TEXTS, kind=st.sampled_from(["held", "new"])),
    st.builds(SpanEvent, kind=st.just("replaced"), old=st.just((0, 1)), new=st.just((2, 3)), text=TEXTS),
    st.builds(CancelledEvent, revision=st.integers(0, 9)),
    st.builds(ErrorEvent, code=st.sampled_from(["engine_failed", "recorder_unavailable"]), detail=TEXTS),
)


def decode(chunks: list[bytes]) -> list[tuple[str, str]]:
    decoder = SseDecoder()
    return [block for chunk in chunks for block in decoder.feed(chunk)]


@given(st.lists(EVENTS), st.lists(st.integers(0, 2000)), st.booleans())
def test_events_survive_any_cut_of_the_stream(events, cuts, crlf) -> None:
    stream = b"".join(map(encode_event, events))
    if crlf:
        stream = stream.replace(b"\n", b"\r\n")
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]
    assert [parse_event(*block) for block in decode(chunks)] == events


@pytest.mark.parametrize(
    "text", ["one\u2028two", "a\u0085b", "x\ry", "p\r\nq", "\x0b\x0c\x1c", "data: 1\n\n"]
)
def test_exotic_line_separators_are_text(text: str) -> None:
    event = DeltaEvent(text=text, kind="new")
    assert [parse_event(*block) for block in decode([encode_event(event)])] == [event]


def test_comments_ids_and_unfinished_blocks_are_no_events() -> None:
    stream = b": ping\n\nid: 7\nretry: 5\n\nevent: delta\n\ndata: a\n: ping\ndata:b\n\ndata: lost\n"
    assert decode([stream]) == [("message", "a\nb")]


@pytest.mark.parametrize(("name", "data"), [("surprise", "{}"), ("delta", "{"), ("delta", '{"text": 1}')])
def test_what_is_no_event_is_a_value_error(name: str, data: str) -> None:
    with pytest.raises(ValueError):
        parse_event(name, data)


def test_unknown_fields_of_a_newer_daemon_are_ignored() -> None:
    assert parse_event("cancelled", '{"revision": 3, "later": true}') == CancelledEvent(revision=3)


def test_absent_fields_are_left_out_of_the_stream() -> None:
    assert b"text" not in encode_event(SpanEvent(kind="held", old=(0, 1), new=(0, 1)))


def test_open_event_carries_the_contracts_names() -> None:
    event = OpenEvent(
        session_id="t/d/s", revision=1, kind="rederive", slot=0, slot_reused=False, queued_ms=0.0
    )
    assert encode_event(event).startswith(b'event: open\ndata: {"session_id":"t/d/s","revision":1,')


def test_a_floor_above_tau_is_refused_in_tolerant_mode_only() -> None:
    assert RefreshRequest(tau=0.5, floor=1).mode == "exact"
    assert RefreshRequest(mode="tolerant", tau=0.5).floor == 0.5
    with pytest.raises(ValidationError, match=r"floor 1\.0 is above tau 0\.5"):
        RefreshRequest(mode="tolerant", tau=0.5, floor=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"pinned": [1] * 9},
        {"sources": [1] * 9},
        {"edits": [{}] * 9},
        {"edits": [{"target": "derived", "start": 0, "end": 0, "lines": [1] * 9}]},
        dict.fromkeys("unknown", 1),
    ],
)
@pytest.mark.parametrize("body", [OpenRequest, EditsRequest, RefreshRequest])
def test_of_many_wrong_items_the_first_is_reported(body: type[BaseModel], wrong: dict[str, object]) -> None:
    good = {OpenRequest: {"instruction": "x", "sources": []}, EditsRequest: {"edits": []}, RefreshRequest: {}}
    with pytest.raises(ValidationError) as caught:
        body.model_validate(good[body] | wrong)
    assert caught.value.error_count() <= 5  # an empty edit lacks 4 fields
