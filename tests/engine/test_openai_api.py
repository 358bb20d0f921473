import json
import shutil
import subprocess
from collections.abc import Iterator

import httpx
import openai
import pytest
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    age: int


def connect(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=60)


@pytest.fixture
def api(fake_engine: str) -> Iterator[openai.OpenAI]:
    with connect(fake_engine) as api:
        yield api


def said(text: str) -> list[dict[str, object]]:
    return [{"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": text}]}]


def test_the_model_is_listed(api: openai.OpenAI) -> None:
    (model,) = api.models.list().data
    assert (model.id, model.object) == ("fake", "model")


def test_a_chat_is_answered(api: openai.OpenAI) -> None:
    text = "the plan 🧂 of the team"
    answer = api.chat.completions.create(model="any", messages=said(text), temperature=0)
    assert answer.choices[0].message.content == text
    assert (answer.choices[0].finish_reason, answer.model) == ("stop", "fake")
    assert answer.usage
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    cut = api.chat.completions.create(model="any", messages=said(text), temperature=0, max_tokens=2)
    assert (cut.choices[0].finish_reason, cut.usage.completion_tokens) == ("length", 2)


@pytest.mark.parametrize("usage", [True, False])
def test_a_streamed_chat_is_the_whole_one(usage: bool, api: openai.OpenAI) -> None:
    text = "the plan 🧂 of the team k l m and more"
    options = {"model": "any", "messages": said(text), "temperature": 0, "stop": "k l m"}
    whole = api.chat.completions.create(**options)
    chunks = list(
        api.chat.completions.create(**options, stream=True, stream_options={"include_usage": usage})
    )
    parts = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(part.delta.content or "" for part in parts) == whole.choices[0].message.content
    assert [part.delta.role for part in parts] == ["assistant"] + [None] * (len(parts) - 1)
    assert [part.finish_reason for part in parts] == [None] * (len(parts) - 1) + ["stop"]
    counts = whole.usage.model_dump(exclude={"prompt_tokens_details"})
    told = chunks[-1].usage.model_dump(exclude={"prompt_tokens_details"}) if chunks[-1].usage else None
    assert told == (counts if usage else None)
    assert len({chunk.id for chunk in chunks}) == 1


def test_turns_without_content_and_of_developers_are_taken(api: openai.OpenAI) -> None:
    messages = [
        {"role": "developer", "content": "x"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "two"},
    ]
    answer = api.chat.completions.create(model="any", messages=messages, temperature=0)
    assert answer.choices[0].message.content == "two"


def test_a_seed_makes_a_sampled_answer_reproducible(api: openai.OpenAI) -> None:
    def ask(seed: int) -> str:
        answer = api.completions.create(model="any", prompt="the", seed=seed, max_tokens=20)
        return answer.choices[0].text

    assert ask(5) == ask(5) != ask(6)


def test_an_answer_fits_its_schema(api: openai.OpenAI) -> None:
    answer = api.chat.completions.parse(
        model="any", messages=said("the plan"), response_format=Person, seed=1
    )
    person = answer.choices[0].message.parsed
    assert isinstance(person, Person)
    free = api.chat.completions.create(
        model="any", messages=said("a"), response_format={"type": "json_object"}, seed=2, max_tokens=60
    )
    assert free.choices[0].message.content.startswith("{")


def test_logprobs_are_told(api: openai.OpenAI) -> None:
    options = {"model": "any", "temperature": 0, "max_tokens": 4}
    chat = api.chat.completions.create(**options, messages=said("the plan"), logprobs=True, top_logprobs=2)
    told = chat.choices[0].logprobs.content
    assert "".join(it.token for it in told) == chat.choices[0].message.content
    assert all(it.top_logprobs[0].token == it.token and len(it.top_logprobs) == 2 for it in told)
    parts = api.chat.completions.create(
        **options, messages=said("the plan"), logprobs=True, top_logprobs=2, stream=True
    )
    choices = [chunk.choices[0] for chunk in parts]
    streamed = [it for choice in choices if choice.logprobs for it in choice.logprobs.content]
    assert streamed == told
    text = api.completions.create(**options, prompt="the", logprobs=3).choices[0]
    assert len(text.logprobs.tokens) == len(text.logprobs.token_logprobs) == 4
    assert all(len(top) == 3 for top in text.logprobs.top_logprobs)
    assert text.logprobs.text_offset[0] == 0


def test_streamed_completions_end_with_done(client: httpx.Client) -> None:
    for path, body in (
        ("/v1/completions", {"prompt": "the"}),
        ("/v1/chat/completions", {"messages": said("the"), "max_tokens": 3}),
    ):
        text = client.post(path, json={**body, "stream": True}).text
        assert text.endswith("data: [DONE]\n\n")
        assert text.count("[DONE]") == 1


def test_refusals_have_the_shape_that_clients_know(api: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="n: only one answer") as caught:
        api.chat.completions.create(model="any", messages=said("a"), n=2)
    assert caught.value.body["type"] == "invalid_request_error"
    broken = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "wurst"}}}
    with pytest.raises(openai.BadRequestError, match="json_schema: #: type is not one of"):
        api.chat.completions.create(model="any", messages=said("a"), response_format=broken)
    with pytest.raises(openai.BadRequestError, match="tools is not supported"):
        api.chat.completions.create(model="any", messages=said("a"), tools=[{"type": "function"}])


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_reads_a_stream(fake_engine: str) -> None:
    body = json.dumps({"messages": said("the plan"), "stream": True, "temperature": 0})
    run = subprocess.run(
        ["curl", "-sN", f"{fake_engine}/v1/chat/completions", "--json", body],
        capture_output=True,
        text=True,
        timeout=60,
    )
    events = run.stdout.removesuffix("\n\n").split("\n\n")
    assert events[-1] == "data: [DONE]"
    deltas = [json.loads(event[6:])["choices"][0]["delta"] for event in events[:-1]]
    assert "".join(delta.get("content", "") for delta in deltas) == "the plan"


def test_the_default_model_answers_openais_client(real_engine: str) -> None:
    with connect(real_engine) as api:
        messages = [{"role": "user", "content": "Who is Ada Lovelace, and how old did she get?"}]
        options = {"model": "any", "messages": messages, "max_tokens": 40}
        person = api.chat.completions.parse(**options, response_format=Person, temperature=0)
        assert person.choices[0].message.parsed
        one, same, other = (
            "".join(
                chunk.choices[0].delta.content or ""
                for chunk in api.chat.completions.create(**options, seed=seed, stream=True)
            )
            for seed in (1, 1, 2)
        )
        assert one == same != other
