import asyncio
from collections import Counter
from contextlib import aclosing

import httpx
import pytest

from daemon.wire import OpenRequest
from replay.stack import Stack, StackOptions
from replay.view.race import Racer
from replay.view.race_values import RaceRequest
from replay.view.sections import Sections
from replay.view.service import Service

pytestmark = pytest.mark.anyio
OLD = "The budget is 800 euros, and the party is on Friday. "


def request(**changes: object) -> RaceRequest:
    new = OLD.replace("800", "1,250")
    values = {"instruction": "Say it.", "sources": [{"name": "plan", "before": OLD * 3, "after": new * 3}]}
    return RaceRequest.model_validate(values | changes)


async def raced(racer: Racer, asked: RaceRequest) -> list[tuple[str, dict]]:
    async with aclosing(racer.race(asked)) as events:
        brought = [(name, dict(data)) async for name, data in events]
    await racer.close()
    return brought


def only(events: list[tuple[str, dict]], name: str, **where: object) -> list[dict]:
    return [data for kind, data in events if kind == name and where.items() <= data.items()]


async def test_both_lanes_stream_their_text_and_are_compared(live: Stack, service_to) -> None:
    racer = Racer(service_to(live))
    events = await raced(racer, request())
    texts = {
        lane: "".join(piece["text"] for data in only(events, "deltas", lane=lane) for piece in data["pieces"])
        for lane in ("plain", "redraft")
    }
    assert texts["plain"] == texts["redraft"]
    assert "1,250 euros" in texts["plain"]
    (stale,) = only(events, "stale")
    assert "800 euros" in stale["text"]
    (found,) = only(events, "outcome")
    assert found["identical"]
    plain, redraft = only(events, "result")
    assert (plain["lane"], plain["held"], redraft["lane"]) == ("plain", 0.0, "redraft")
    assert redraft["held"] > 0.5
    assert redraft["passes"] < redraft["tokens"] == plain["tokens"]
    assert 0 < plain["first_ms"] <= plain["wall_ms"]
    assert found["speedup"] == plain["wall_ms"] / redraft["wall_ms"]


async def test_the_spans_tile_the_old_answer(live: Stack, service_to) -> None:
    events = await raced(Racer(service_to(live)), request(stale=OLD * 2 + "\N{GRINNING FACE} end"))
    (spans,) = only(events, "spans", lane="redraft")
    edges = [span["old"] for span in spans["spans"]]
    units = len((OLD * 2 + "\N{GRINNING FACE} end").encode("utf-16-le")) // 2
    assert [edges[0][0], *(end for _, end in edges)] == [*(start for start, _ in edges), units]


async def test_only_the_first_race_on_an_engine_warms_it_up(live: Stack, service_to) -> None:
    racer = Racer(service_to(live))
    said = [[data["text"] for data in only(await raced(racer, request()), "status")] for _ in range(2)]
    assert ["a warm-up that does not count" in " ".join(lines) for lines in said] == [True, False]


async def test_the_order_and_the_mode_are_what_was_asked_for(live: Stack, service_to) -> None:
    events = await raced(Racer(service_to(live)), request(first="redraft", mode="tolerant"))
    assert [data["arm"] for data in only(events, "lane")] == ["redraft:tau=3,floor=1", "plain"]


async def test_a_race_that_is_left_frees_the_slot_and_drops_its_section(slow: Stack, service_to) -> None:
    racer = Racer(service_to(slow))
    async with aclosing(racer.race(request())) as events:
        async for name, _ in events:
            if name == "deltas":
                break
    await racer.close()
    async with httpx.AsyncClient() as client:
        while (health := (await client.get(f"{slow.url}/healthz")).json())["slots"]["busy"]:
            await asyncio.sleep(0)
    assert health["sessions"] == 0
    assert only(await raced(racer, request(max_tokens=4)), "outcome")


async def test_every_lane_is_a_tenant_of_its_own_unless_one_is_given(
    service_to, live: Stack, monkeypatch
) -> None:
    opened: list[str] = []
    real = Sections.open

    async def noted(self: Sections, section: str, body: OpenRequest) -> None:
        opened.append(section.partition("/")[0])
        await real(self, section, body)

    monkeypatch.setattr(Sections, "open", noted)
    await raced(Racer(service_to(live)), request(stale=OLD))
    assert len(opened) == 6
    assert len(set(opened)) == 3
    await raced(Racer(service_to(live), tenant="acme"), request(stale=OLD))
    assert set(opened[6:]) == {"acme"}


async def test_neither_lane_finds_what_the_other_left(live: Stack, service_to) -> None:
    """The edited prompt is computed by both."""
    events = await raced(Racer(service_to(live)), request())
    plain, redraft = only(events, "result")
    assert plain["prompt_tokens"] == redraft["prompt_tokens"] > 0


async def test_races_wait_for_one_another(live: Stack, service_to) -> None:
    racer = Racer(service_to(live))
    both = await asyncio.gather(raced(racer, request()), raced(racer, request()))
    assert [len(only(events, "outcome")) for events in both] == [1, 1]
    waits = Counter(data["text"] for events in both for data in only(events, "status"))
    assert waits["another race is on, waiting for it"] == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param({"instruction": "x " * 50_000}, "too_large", id="too large"),
        pytest.param({"instruction": "\ud800"}, "the daemon cannot take this", id="no Unicode"),
    ],
)
async def test_what_the_daemon_refuses_is_said(live: Stack, service_to, asked: dict, said: str) -> None:
    values = request().model_dump() | asked
    asked_for = RaceRequest.model_construct(**values | {"sources": request().sources})
    (failed,) = only(await raced(Racer(service_to(live)), asked_for), "failed")
    assert said in failed["text"]
    assert "\n" not in failed["text"]


async def test_no_daemon_is_said() -> None:
    service = Service("http://127.0.0.1:1", StackOptions(), lambda line: None, lambda line: None)
    (failed,) = only(await raced(Racer(service), request()), "failed")
    assert failed["text"].startswith("http://127.0.0.1:1/healthz: ")


async def test_a_start_is_followed_line_by_line(
    live: Stack, service_to, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_to(live)
    polls = iter([("starting", None), ("starting", None), ("loading", None), ("loading", live.url)])

    def poll(self: Service) -> str | None:
        said, url = next(polls)
        monkeypatch.setattr(Service, "said", said)
        return url

    monkeypatch.setattr(Service, "poll", poll)
    events = await raced(Racer(service), request(stale=OLD))
    assert [data["text"] for data in only(events, "status")][:2] == ["starting", "loading"]
    assert only(events, "outcome")
