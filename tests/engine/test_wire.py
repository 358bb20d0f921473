import pytest
from pydantic import BaseModel, ValidationError

from engine.wire import ApplyTemplateRequest, CompletionRequest, DetokenizeRequest, Message, Stabilize


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"floor": 2, "tau": 1}, "floor 2.0 is above tau 1.0"),
        ({"strict": [[3, 1]]}, "ends before it starts"),
        ({"strict": [[-1, 1]]}, "greater than or equal to 0"),
        ({"tau": float("nan")}, "finite"),
        ({"tau": -1}, "greater than or equal to 0"),
        ({"old_output": [1, True]}, "valid integer"),
        ({"old_output": [-1]}, "greater than or equal to 0"),
        ({"horizon": 0}, "greater than or equal to 1"),
        ({"algorithm": "magic"}, "anchor"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_draft_that_cannot_be_right_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Stabilize.model_validate(wrong)


def test_tau_zero_is_exact_mode() -> None:
    assert Stabilize(tau=0, floor=0).exact
    assert not Stabilize().exact


def test_a_floor_that_is_not_given_is_at_most_tau() -> None:
    assert (Stabilize().floor, Stabilize(tau=0.5).floor, Stabilize(tau=0).floor) == (1.0, 0.5, 0)


@pytest.mark.parametrize(
    ("model", "field", "item"),
    [
        (CompletionRequest, "prompt", "a"),
        (CompletionRequest, "stop", 1),
        (Stabilize, "old_output", "a"),
        (Stabilize, "eos", "a"),
        (Stabilize, "strict", "a"),
        (DetokenizeRequest, "tokens", "a"),
        (ApplyTemplateRequest, "messages", "a"),
    ],
)
def test_only_the_first_wrong_item_is_reported(model: type[BaseModel], field: str, item: object) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate({field: [item] * 1000})
    assert caught.value.error_count() <= 2


def test_unknown_fields_are_ignored_as_llama_server_does() -> None:
    assert CompletionRequest.model_validate({"prompt": "a", "mirostat": 2}).prompt == "a"


def test_a_request_is_greedy_unless_it_asks_otherwise() -> None:
    assert CompletionRequest(prompt="a").temperature == 0


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([], ""),
        (None, ""),
    ],
)
def test_a_messages_text_is_its_content(content: object, text: str) -> None:
    assert Message.model_validate({"role": "assistant", "content": content}).text == text


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"role": "user", "content": None}, "content is missing"),
        ({"role": "user"}, "content is missing"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "'text'"),
        ({"role": "user", "content": [{"type": "text"}]}, "text"),
        ({"role": "user", "content": [{"type": "text", "text": "\ud800"}]}, "surrogate"),
    ],
)
def test_a_message_that_says_nothing_readable_is_refused(message: dict, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Message.model_validate(message)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -1},
        {"temperature": float("inf")},
        {"top_k": -2},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"repeat_penalty": 0},
        {"repeat_last_n": -2},
        {"n_probs": -1},
        {"prompt_probs_tail": -1},
        {"grammar": 5},
        {"json_schema": []},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_parameter_that_cannot_be_right_is_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        CompletionRequest.model_validate({"prompt": "a", **wrong})
