import pytest
from pydantic import ValidationError

from engine.openai_wire import ChatRequest, TextRequest

CHAT = {"messages": [{"role": "user", "content": "a"}]}


def test_defaults_are_those_of_openais_clients() -> None:
    chat = ChatRequest.model_validate(CHAT).to_native("prompt")
    assert (chat.temperature, chat.top_p, chat.top_k, chat.min_p, chat.seed) == (1.0, 1.0, 0, 0.0, -1)
    assert (chat.n_predict, chat.stream, chat.stop, chat.n_probs, chat.json_schema) == (
        -1,
        False,
        [],
        0,
        None,
    )
    assert TextRequest(prompt="a").to_native().n_predict == 16


@pytest.mark.parametrize(
    ("body", "name", "value"),
    [
        ({"max_tokens": 5}, "n_predict", 5),
        ({"max_completion_tokens": 6, "max_tokens": 5}, "n_predict", 6),
        ({"stop": "x"}, "stop", ["x"]),
        ({"stop": ["x", "y"]}, "stop", ["x", "y"]),
        ({"stop": None, "n": 1, "seed": None, "response_format": None}, "stop", []),
        ({"temperature": 0}, "temperature", 0),
        ({"seed": -3}, "seed", 3),
        ({"frequency_penalty": 0.5}, "repeat_last_n", -1),
        ({"logprobs": True}, "n_probs", 1),
        ({"logprobs": True, "top_logprobs": 4}, "n_probs", 4),
        ({"top_logprobs": 4}, "n_probs", 0),
        ({"response_format": {"type": "text"}}, "json_schema", None),
        ({"response_format": {"type": "json_object"}}, "json_schema", {"type": "object"}),
        ({"response_format": {"type": "json_object", "schema": {"const": 1}}}, "json_schema", {"const": 1}),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "a", "schema": {"const": 1}},
                }
            },
            "json_schema",
            {"const": 1},
        ),
        ({"repeat_penalty": 1.5, "tools": [], "logit_bias": {}}, "repeat_penalty", 1.5),
    ],
)
def test_a_chat_asks_the_engine_for_what_it_says(body: dict, name: str, value: object) -> None:
    assert getattr(ChatRequest.model_validate({**CHAT, **body}).to_native("prompt"), name) == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"n": 2}, "only one answer"),
        ({"tools": [{"type": "function"}]}, "tools is not supported"),
        ({"logit_bias": {"5": 1}}, "logit_bias is not supported"),
        ({"temperature": 2.5}, "temperature"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "json_schema is missing"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": None}]}, "content is missing"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "image_url"),
    ],
)
def test_what_cannot_be_honoured_is_refused(body: dict, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ChatRequest.model_validate({**CHAT, **body})


@pytest.mark.parametrize("prompt", ["a", ["a"], [5, 6]])
def test_a_prompt_is_a_text_or_tokens(prompt: object) -> None:
    expected = "a" if prompt == ["a"] else prompt
    assert TextRequest.model_validate({"prompt": prompt}).to_native().prompt == expected


@pytest.mark.parametrize("prompt", [["a", "b"], None, [[5]]])
def test_several_prompts_are_refused(prompt: object) -> None:
    with pytest.raises(ValidationError, match="prompt"):
        TextRequest.model_validate({"prompt": prompt})
