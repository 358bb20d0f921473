import pytest
from pydantic import BaseModel, ValidationError

from engine.wire import ApplyTemplateRequest, CompletionRequest, DetokenizeRequest, Stabilize


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
