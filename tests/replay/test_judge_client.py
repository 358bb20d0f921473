import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from bundles import Source
from judge import Asker, Prompt, Reply, ReplyCache, calibration_cases
from judge.claims import PairJudgement, judge_pair
from replay.errors import ServiceDown, SettingsError
from replay.judge_client import (
    BACK_OFF_S,
    LONGEST_WAIT_S,
    MOST_FAILURES,
    JudgeClient,
    JudgeIdentity,
    JudgeSettings,
    Usage,
    base_url,
)

KEY = "sk-not-to-be-seen"
PROMPT = Prompt("system", "SOURCES\n[1] a\n\nTEXT\n[1] a", "extraction", {"type": "object"}, 99)
CASE = next(case for case in calibration_cases() if case.case_id == "stale-owner-kept")
Pauses = list[float]


def using(
    url: str,
    work: Callable[[JudgeClient], Coroutine[Any, Any, Any]],
    pauses: Pauses | None = None,
    **given: Any,
) -> Any:
    """The result of `work` with a client that notes its pauses instead of making them."""

    async def pause(seconds: float) -> None:
        if pauses is not None:
            pauses.append(seconds)

    async def run() -> Any:
        settings = JudgeSettings(**({"url": url, "model": "big", "key": KEY} | given))
        async with JudgeClient(settings, pause=pause) as client:
            return await work(client)

    return asyncio.run(run())


def test_a_question_becomes_one_chat_completion(judge_server: Any, make: Any) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat("yes")

    async def ask(client: JudgeClient) -> tuple[Reply, Usage]:
        return await client(PROMPT), client.usage

    reply, usage = using(judge_server.url, ask)
    assert reply == Reply("yes")
    assert usage == Usage(requests=1, prompt_tokens=100, reply_tokens=10)
    assert usage.cost(2.0, 5.0) == pytest.approx(0.00025)
    ((headers, body),) = judge_server.requests
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("big", 0, 99)
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "extraction", "strict": True, "schema": {"type": "object"}},
    }


def test_no_key_is_no_header(judge_server: Any) -> None:
    using(judge_server.url, lambda client: client(PROMPT), key="")
    assert "authorization" not in judge_server.requests[0][0]


def faults(make: Any) -> dict[str, Any]:
    """Ways in which a server's answer is none, by what is done with it."""
    return {
        "truncated": lambda reply: make.chat(reply[:-20], finish_reason="length"),
        "truncated, but whole": lambda reply: make.chat(reply, finish_reason="length"),
        "refusing": lambda reply: make.chat("", refusal="I cannot help with that"),
        "filtered": lambda reply: make.chat(reply, finish_reason="content_filter"),
        "mislabelled": lambda reply: make.chat(reply.replace('ed"}', '"}')),
        "wrong index sets": lambda reply: make.chat(reply.replace('"index": 1', '"index": 2')),
        "prose around JSON": lambda reply: make.chat(f"Sure! {reply}"),
        "half an object": lambda reply: make.chat("{"),
        "a reason only": lambda reply: make.chat('{"reason": "bad"}'),
        "a verdict in prose": lambda reply: make.chat("PASS. No cause to downgrade: fine"),
        "no content": lambda reply: make.chat(
            body=b'{"choices": [{"message": {}, "finish_reason": "stop"}]}'
        ),
        "slow": lambda reply: make.chat(hangs=True),
        "429": lambda reply: make.chat(status=429, headers={"retry-after": "3"}),
        "500": lambda reply: make.chat(status=500, body=b"<html>oops</html>"),
        "503": lambda reply: make.chat(status=503, body=b""),
        "cut in the middle": lambda reply: make.chat(
            headers={"content-length": "99", "connection": "close"}, body=b"{"
        ),
    }


FAULTS = list(faults(None))
FINAL = {
    "no choices": b'{"choices": []}',
    "no completion": b'{"error": {"message": "no"}}',
    "no JSON": b"hello",
}


async def _judged(client: JudgeClient, cache: ReplyCache) -> tuple[PairJudgement, Asker]:
    asker = Asker(client, "big", 1, cache)
    return await judge_pair(asker, [Source("document", CASE.sources)], CASE.plain, CASE.text), asker


def replies(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_passes_leaves_no_trace(name: str, judge_server: Any, make: Any, tmp_path: Path) -> None:
    fault = faults(make)[name]
    judge_server.script = lambda prompt, reply, before: fault(reply) if before < 2 else None
    timeout_s = 0.2 if name == "slow" else 20.0
    said, _ = using(
        judge_server.url,
        lambda client: _judged(client, ReplyCache(tmp_path)),
        timeout_s=timeout_s,
        concurrency=1,
    )
    assert (said.lost_facts.outcome, said.new_errors.outcome) == ("fail", "fail")
    assert all(json.loads(reply) for reply in replies(tmp_path))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_stays_leaves_the_pair_unscored_and_nothing_kept(
    name: str, judge_server: Any, make: Any, tmp_path: Path
) -> None:
    fault = faults(make)[name]
    judge_server.script = lambda prompt, reply, before: fault(reply)
    timeout_s = 0.1 if name == "slow" else 20.0
    said, asker = using(
        judge_server.url, lambda client: _judged(client, ReplyCache(tmp_path)), timeout_s=timeout_s
    )
    assert (said.lost_facts.outcome, said.new_errors.outcome) == ("unscored", "unscored")
    assert replies(tmp_path) == []
    assert asker.given_up == 2


@pytest.mark.parametrize("name", FINAL)
def test_an_answer_that_is_no_completion_is_a_failure_at_once(
    name: str, judge_server: Any, make: Any
) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat(body=FINAL[name])
    reply = using(judge_server.url, lambda client: client(PROMPT))
    assert "no chat completion" in reply.failure
    assert len(judge_server.requests) == 1


def test_a_refused_request_fails_at_once_and_says_why(judge_server: Any, make: Any) -> None:
    too_long = make.chat(status=400, body=b'{"error": {"message": "9000 tokens are above 4096"}}')
    judge_server.script = lambda prompt, reply, before: too_long
    reply = using(judge_server.url, lambda client: client(PROMPT))
    assert "400" in reply.failure
    assert "above 4096" in reply.failure
    assert len(judge_server.requests) == 1


def test_tries_back_off_and_end(judge_server: Any, make: Any) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat(status=500)
    pauses: Pauses = []
    reply = using(judge_server.url, lambda client: client(PROMPT), pauses)
    assert "500" in reply.failure
    assert pauses == list(BACK_OFF_S)
    assert len(judge_server.requests) == len(BACK_OFF_S) + 1


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_no_try_comes_sooner_than_the_server_asks(form: str, judge_server: Any, make: Any) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    wait = make.chat(status=429, headers={"retry-after": "17" if form == "seconds" else later})
    judge_server.script = lambda prompt, reply, before: wait if before == 0 else None
    pauses: Pauses = []
    assert not using(judge_server.url, lambda client: client(PROMPT), pauses).failure
    assert len(pauses) == 1
    assert pauses[0] == 17 if form == "seconds" else 17 < pauses[0] <= 40


@pytest.mark.parametrize("wait", ["86400", "Fri, 31 Dec 2399 23:59:59 GMT"])
def test_a_wait_that_is_too_long_is_not_waited(wait: str, judge_server: Any, make: Any) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat(status=429, headers={"retry-after": wait})
    pauses: Pauses = []
    assert "429" in using(judge_server.url, lambda client: client(PROMPT), pauses).failure
    assert pauses == []


@pytest.mark.parametrize("wait", ["", "soon", "-5", "Fri, 31 Dec 1999 23:59:59 GMT"])
def test_a_wait_that_says_nothing_is_our_own(wait: str, judge_server: Any, make: Any) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat(status=429, headers={"retry-after": wait})
    pauses: Pauses = []
    using(judge_server.url, lambda client: client(PROMPT), pauses)
    assert pauses == list(BACK_OFF_S)
    assert max(pauses) < LONGEST_WAIT_S


def test_no_more_requests_run_at_once_than_asked_for() -> None:
    running, most = 0, 0

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running -= 1
        return httpx.Response(200, json={"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})

    async def ask() -> None:
        settings = JudgeSettings("http://judge", "big", concurrency=3)
        async with JudgeClient(settings, transport=httpx.MockTransport(answer)) as client:
            await asyncio.gather(*(client(PROMPT) for _ in range(20)))

    asyncio.run(ask())
    assert most == 3


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_cannot_pass_ends_everything_without_the_key(status: int, judge_server: Any, make: Any) -> None:
    body = f"no access with {KEY}".encode()
    judge_server.script = lambda prompt, reply, before: make.chat(status=status, body=body)
    with pytest.raises(ServiceDown, match=f"{status} no access with") as raised:
        using(judge_server.url, lambda client: client(PROMPT))
    assert KEY not in str(raised.value)
    assert len(judge_server.requests) == 1


def test_a_judge_that_fails_again_and_again_counts_as_gone(judge_server: Any, make: Any) -> None:
    judge_server.script = lambda prompt, reply, before: make.chat(status=500)

    async def ask(client: JudgeClient) -> None:
        for _ in range(MOST_FAILURES - 1):
            assert (await client(PROMPT)).failure
        await client(PROMPT)

    with pytest.raises(ServiceDown, match=f"no reply {MOST_FAILURES} times in a row"):
        using(judge_server.url, ask)


@pytest.mark.parametrize(
    ("param", "code", "gone", "there"),
    [
        ("max_tokens", "unsupported_parameter", "max_tokens", "max_completion_tokens"),
        ("temperature", "unsupported_value", "temperature", "max_tokens"),
        ("response_format.type", "unsupported_parameter", "response_format", "temperature"),
    ],
)
def test_a_parameter_that_the_server_does_not_know_is_left_out(
    param: str, code: str, gone: str, there: str, judge_server: Any, make: Any
) -> None:
    body = json.dumps({"error": {"code": code, "param": param, "message": "unknown"}}).encode()
    judge_server.script = lambda prompt, reply, before: (
        make.chat("yes") if before else make.chat(status=400, body=body)
    )

    async def ask(client: JudgeClient) -> list[Reply]:
        return [await client(PROMPT), await client(PROMPT)]

    assert using(judge_server.url, ask) == [Reply("yes"), Reply("yes")]
    assert len(judge_server.requests) == 3
    assert all(gone not in body and there in body for _, body in judge_server.requests[1:])


def test_a_server_says_who_it_is(judge_server: Any) -> None:
    judge_server.get = {
        "/v1/models": {"data": [{"id": "SmolLM2.Q8_0.gguf"}]},
        "/props": {"model_alias": "smol", "redraft": {"model_fingerprint": "abc"}},
    }
    found = using(judge_server.url, lambda client: client.identity())
    assert found == JudgeIdentity(frozenset({"big", "smol", "SmolLM2.Q8_0.gguf"}), "abc")


@pytest.mark.parametrize("told", [{}, {"/v1/models": [1], "/props": "x"}, {"/v1/models": {"data": None}}])
def test_a_server_may_say_nothing_of_itself(told: dict[str, object], judge_server: Any) -> None:
    judge_server.get = told
    found = using(judge_server.url, lambda client: client.identity())
    assert found == JudgeIdentity(frozenset({"big"}), None)


def test_of_many_models_only_the_one_asked_for_counts(judge_server: Any) -> None:
    judge_server.get = {"/v1/models": {"data": [{"id": "small"}, {"id": "big"}]}}
    assert using(judge_server.url, lambda client: client.identity()).names == {"big"}


def test_nobody_there_is_found_out_at_once() -> None:
    with pytest.raises(ServiceDown, match=r"no judge answers at http://127\.0\.0\.1:1/v1/models"):
        using("http://127.0.0.1:1", lambda client: client.identity())


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:1", "http://h:1/v1"),
        ("http://h:1/", "http://h:1/v1"),
        (" https://h/v1/ ", "https://h/v1"),
        ("https://h/openai/v1/chat/completions", "https://h/openai/v1"),
    ],
)
def test_a_url_is_given_with_or_without_what_follows(url: str, base: str) -> None:
    assert base_url(url) == base


@pytest.mark.parametrize(
    "url", ["", "h:1", "ftp://h", "http://", "http://u:p@h", "http://h?key=1", "http://h:x", "http://[::"]
)
def test_what_is_no_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(SettingsError, match="--judge-url") as raised:
        JudgeSettings(url, "m")
    assert "u:p" not in str(raised.value)


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "\0"])
def test_a_key_that_no_header_takes_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(SettingsError, match="REDRAFT_JUDGE_KEY") as raised:
        JudgeSettings("http://h", "m", key)
    assert key not in str(raised.value)
    assert KEY not in repr(replace(JudgeSettings("http://h", "m"), key=KEY))
