import pytest

from daemon.errors import DaemonError
from daemon.wire import DeltaEvent, DoneEvent, Edit, EditsRequest, OpenEvent, Source, SpanEvent

pytestmark = pytest.mark.anyio

OLD = "It costs 3 euros.\nNet 30 🧂."
NEW = "It costs 4 euros.\nNet 30 🧂."


def text_of(events: list) -> str:
    return "".join(event.text for event in events if isinstance(event, DeltaEvent))


async def test_a_refresh_opens_streams_and_is_done(make_stack) -> None:
    stack = await make_stack(answer=NEW)
    assert await stack.open(derived=OLD) == 1
    events = await stack.refresh(return_tokens=True)
    opened, done = events[0], events[-1]
    assert isinstance(opened, OpenEvent)
    assert (opened.revision, opened.kind, opened.slot_reused) == (1, "rederive", False)
    assert text_of(events) == NEW
    spans = [(event.kind, event.old, event.new) for event in events if isinstance(event, SpanEvent)]
    assert spans == [
        ("held", (0, 8), (0, 8)),
        ("replaced", (8, 10), (8, 10)),
        ("held", (10, 28), (10, 28)),
    ]
    assert isinstance(done, DoneEvent)
    assert (done.revision, done.kind, done.mode, done.exact) == (2, "rederive", "redraft", True)
    assert (done.reused_chars, done.divergences, done.passes, done.rows) == (26, 1, 2, 9)
    assert done.reused == sum(src >= 0 for src in done.token_src) / len(done.token_ids)
    assert (done.tokens, len(done.token_src)) == (len(done.token_ids), len(done.token_ids))
    assert done.total_tokens == done.prompt_tokens + done.tokens
    assert done.stop_type == "eos"
    assert done.wall_ms >= done.queued_ms


async def test_the_new_text_is_the_next_draft(make_stack) -> None:
    stack = await make_stack(answer=NEW)
    await stack.open(derived=OLD)
    await stack.refresh()
    state = await stack.client.state("t/d/s")
    assert (state.derived, state.revision) == (NEW, 2)
    events = await stack.refresh(base_revision=2)
    assert [event.kind for event in events if isinstance(event, SpanEvent)] == ["held"]
    assert (events[0].slot_reused, events[-1].reused, events[-1].revision) == (True, 1.0, 3)
    assert events[-1].token_ids is None
    old_output = stack.engine.requests[1]["redraft_stabilize"]["old_output"]
    assert old_output == stack.engine.tokenize(NEW)


async def test_a_baseline_is_plain_generation_over_one_replaced_span(make_stack) -> None:
    stack = await make_stack(answer=NEW)
    await stack.open(derived=OLD)
    events = await stack.refresh(baseline=True, return_tokens=True)
    assert "redraft_stabilize" not in stack.engine.requests[0]
    spans = [event for event in events if isinstance(event, SpanEvent)]
    assert [(span.kind, span.old, span.new, span.text) for span in spans] == [
        ("replaced", (0, 28), (0, 28), NEW)
    ]
    done = events[-1]
    assert (done.mode, done.exact, done.algorithm, done.reused, done.reused_chars) == (
        "baseline",
        None,
        None,
        0.0,
        0,
    )
    assert done.token_src == [-1] * len(done.token_ids)
    assert done.token_ids == stack.engine.tokenize(NEW)


@pytest.mark.parametrize(
    ("fields", "tau", "floor"),
    [
        ({}, 0.0, 0.0),
        ({"mode": "exact", "tau": 2.0}, 0.0, 0.0),
        ({"mode": "tolerant"}, 3.0, 1.0),
        ({"mode": "tolerant", "tau": 0.5}, 0.5, 0.5),
        ({"mode": "tolerant", "tau": 2.0, "floor": 0.5}, 2.0, 0.5),
    ],
)
async def test_the_mode_sets_the_tolerance(make_stack, fields: dict, tau: float, floor: float) -> None:
    stack = await make_stack()
    await stack.open(derived=OLD, max_tokens=33)
    done = (await stack.refresh(**fields))[-1]
    (request,) = stack.engine.requests
    stabilize = request["redraft_stabilize"]
    assert (stabilize["tau"], stabilize["floor"], stabilize["max_tokens"]) == (tau, floor, 33)
    assert (request["n_predict"], request["temperature"], request["id_slot"]) == (33, 0.0, 0)
    assert done.exact is (tau == 0)


async def test_without_a_draft_everything_is_new(make_stack) -> None:
    stack = await make_stack(answer="New.")
    await stack.open()
    events = await stack.refresh()
    assert stack.engine.requests[0]["redraft_stabilize"]["old_output"] == []
    assert [(event.kind, event.old, event.new) for event in events if isinstance(event, SpanEvent)] == [
        ("replaced", (0, 0), (0, 4))
    ]


async def test_an_empty_answer_replaces_the_draft_by_nothing(make_stack) -> None:
    stack = await make_stack(answer="")
    await stack.open(derived="old")
    events = await stack.refresh()
    assert [(event.old, event.new) for event in events if isinstance(event, SpanEvent)] == [((0, 3), (0, 0))]
    assert (events[-1].reused, events[-1].tokens) == (0.0, 0)
    assert (await stack.client.state("t/d/s")).derived == ""


async def test_a_hand_edited_draft_is_revised_once(make_stack) -> None:
    stack = await make_stack(answer=NEW)
    await stack.open(derived=OLD)
    edit = Edit(target="derived", start=0, end=1, lines=["It costs 5 euros."])
    events = await stack.refresh(edits=[edit])
    assert (events[0].kind, events[-1].kind) == ("revise", "revise")
    assert "## Current draft\nIt costs 5 euros.\nNet 30" in stack.engine.prompts[-1]
    assert (await stack.refresh())[0].kind == "rederive"
    assert "Current draft" not in stack.engine.prompts[-1]


async def test_done_names_pinned_lines_that_are_missing(make_stack) -> None:
    stack = await make_stack(answer=NEW)
    await stack.open(pinned=["Net 30 🧂.", "Signed."])
    assert (await stack.refresh())[-1].pinned_missing == ["Signed."]


async def test_the_requests_changes_are_kept_with_the_new_text(make_stack) -> None:
    stack = await make_stack(answer=NEW)
    await stack.open(derived=OLD)
    await stack.refresh(sources=[Source(name="b", text="B")], instruction="Say it.", pinned=["P"])
    state = await stack.client.state("t/d/s")
    assert (state.sources, state.instruction, state.pinned) == (
        [Source(name="b", text="B")],
        "Say it.",
        ["P"],
    )
    assert stack.engine.prompts == [
        "<user>## b\nB\n\n## Keep these lines exactly as they are\nP\n\nSay it.<assistant>"
    ]


async def test_a_prompt_that_leaves_no_room_is_refused_before_the_stream(make_stack) -> None:
    stack = await make_stack(context=600)
    await stack.open(sources=[Source(name="doc", text="word " * 200)], derived=OLD)
    with pytest.raises(DaemonError, match="too_large") as caught:
        await stack.refresh()
    prompt_tokens = len(stack.engine.tokenize(stack.engine.prompts[0]))
    assert caught.value.fields == {"prompt_tokens": prompt_tokens, "limit": 88}
    assert stack.engine.requests == []
    assert (await stack.client.state("t/d/s")).revision == 1
    await stack.open(sources=[Source(name="doc", text="word " * 200)], max_tokens=600 - prompt_tokens)
    assert isinstance((await stack.refresh())[-1], DoneEvent)


@pytest.mark.parametrize("engine", ["fake_engine", "real_engine"])
async def test_an_exact_refresh_says_what_plain_generation_says(make_daemon, request, engine: str) -> None:
    daemon = await make_daemon(request.getfixturevalue(engine), slots=2)
    before, after = [
        [Source(name="ferry", text=f"The Åland ferry 🚢 leaves at {hour}.\nA ticket costs 9 euros.")]
        for hour in ("seven", "eight")
    ]
    section = {"instruction": "Repeat both sentences.", "max_tokens": 40}
    await daemon.open(sources=before, **section)
    stale = text_of(await daemon.refresh(baseline=True))
    assert stale
    plain = await daemon.refresh(sources=after, baseline=True, return_tokens=True)
    await daemon.open(sources=after, derived=stale, **section)
    exact = await daemon.refresh(return_tokens=True)
    assert text_of(exact) == text_of(plain) == (await daemon.client.state("t/d/s")).derived
    assert exact[-1].token_ids == plain[-1].token_ids
    spans = [event for event in exact if isinstance(event, SpanEvent)]
    units, old_units = text_of(exact).encode("utf-16-le"), stale.encode("utf-16-le")
    for span in spans:
        if span.kind == "held":
            assert units[2 * span.new[0] : 2 * span.new[1]] == old_units[2 * span.old[0] : 2 * span.old[1]]
    assert (2 * spans[-1].old[1], 2 * spans[-1].new[1]) == (len(old_units), len(units))
    assert exact[-1].slot_reused
    assert (await daemon.client.delete("t/d/s")).slots_erased == [exact[-1].slot]
    assert (await daemon.client.health()).status == "ok"


OFFER, CHANGED = [[Source(name="offer", text=f"costs {price} euros")] for price in (3, 4)]


@pytest.mark.parametrize(
    ("mode", "switches", "draft", "strict"),
    [
        pytest.param(
            "tolerant", {}, "It is 4, not three.", ["It is 4, not", " 4,", " three."], id="patch and guard"
        ),
        pytest.param(
            "tolerant",
            {"patch": False},
            "It is 3, not three.",
            ["It is 3, not", " 3,", " three."],
            id="guard",
        ),
        pytest.param("tolerant", {"guard": False}, "It is 4, not three.", [" 4,"], id="patch"),
        pytest.param("tolerant", {"patch": False, "guard": False}, "It is 3, not three.", [], id="neither"),
        pytest.param("exact", {}, "It is 4, not three.", [], id="exact"),
        pytest.param("exact", {"patch": False}, "It is 3, not three.", [], id="exact, no patch"),
    ],
)
async def test_the_edit_is_put_into_the_draft_and_kept_off_tolerance(
    make_stack, mode: str, switches: dict, draft: str, strict: list
) -> None:
    stack = await make_stack(answer="It is 4.")
    await stack.open(sources=OFFER, derived="It is 3, not three.")
    done = (await stack.refresh(sources=CHANGED, mode=mode, **switches))[-1]
    sent = stack.engine.requests[0]["redraft_stabilize"]
    assert sent["old_output"] == stack.engine.tokenize(draft)
    pieces = [stack.engine.pieces[token] for token in sent["old_output"]]
    assert [b"".join(pieces[a:b]).decode() for a, b in sent.get("strict", [])] == strict
    tokens = {index for a, b in sent.get("strict", []) for index in range(a, b)}
    assert (done.patched_tokens, done.strict_tokens) == (int("4" in draft), len(tokens))


@pytest.mark.parametrize("guard", [True, False])
async def test_what_has_no_place_in_the_draft_keeps_tolerance_off_all_of_it(make_stack, guard: bool) -> None:
    stack = await make_stack(answer="It is 4.")
    await stack.open(sources=OFFER, derived="It is cheap, all who were there say.")
    done = (await stack.refresh(sources=CHANGED, mode="tolerant", guard=guard))[-1]
    sent = stack.engine.requests[0]["redraft_stabilize"]
    tokens = len(sent["old_output"])
    assert sent["strict"] == ([[0, tokens]] if guard else [])
    assert done.strict_tokens == (tokens if guard else 0)


async def test_an_edit_applied_before_the_refresh_counts_too(make_stack) -> None:
    stack = await make_stack(answer="The price is 4.")
    await stack.open(sources=OFFER, derived="The price is 3.")
    edit = Edit(target="source", source="offer", start=0, end=1, lines=["costs 4 euros"])
    await stack.client.edit("t/d/s", EditsRequest(edits=[edit]))
    first, second = [(await stack.refresh(mode="tolerant"))[-1] for _ in range(2)]
    assert (first.patched_tokens, second.patched_tokens) == (1, 0)


async def test_spans_speak_of_the_text_that_the_person_saw(make_stack) -> None:
    stack = await make_stack(answer="It costs 4 euros.")
    await stack.open(sources=OFFER, derived="It costs 3 euros.")
    events = await stack.refresh(sources=CHANGED, return_tokens=True)
    assert [(it.kind, it.old, it.new, it.text) for it in events if isinstance(it, SpanEvent)] == [
        ("held", (0, 9), (0, 9), None),
        ("replaced", (9, 10), (9, 10), "4"),
        ("held", (10, 17), (10, 17), None),
    ]
    assert (events[-1].token_src, events[-1].reused, events[-1].reused_chars) == ([0, 1, 2, 3], 1.0, 16)
