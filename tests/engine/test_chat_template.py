import pytest

from engine.chat_template import render
from engine.errors import InvalidRequest
from engine.fake_model import FakeModel
from engine.language_model import ModelFacts
from engine.wire import Message

MESSAGES = [Message(role="user", content="hi {{ bos_token }}")]


def facts(template: str, *, adds_bos: bool = False) -> ModelFacts:
    return FakeModel().facts._replace(
        chat_template=template, bos_token="<s>", eos_token="</s>", adds_bos=adds_bos
    )


def test_the_models_own_template_is_used() -> None:
    template = "{% for m in messages %}{{ m.role }}={{ m.content }}{{ eos_token }}{% endfor %}>"
    assert render(facts(template), MESSAGES, {}) == "user=hi {{ bos_token }}</s>>"


def test_variables_of_the_request_reach_it() -> None:
    template = "{{ tone }}{{ add_generation_prompt }}"
    assert render(facts(template), MESSAGES, {"tone": "dry"}) == "dryTrue"
    assert render(facts(template), MESSAGES, {"add_generation_prompt": False}) == "False"


def test_special_tokens_and_messages_cannot_be_replaced() -> None:
    replaced = {"bos_token": "x", "messages": []}
    assert render(facts("{{ bos_token }}{{ messages | length }}"), MESSAGES, replaced) == "<s>1"


def test_parts_and_missing_content_become_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [Message(role="user", content=parts), Message(role="assistant")]
    template = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
    assert render(facts(template), messages, {}) == "[a\nb][]"


@pytest.mark.parametrize(("adds_bos", "prompt"), [(True, "a"), (False, "<s>a")])
def test_a_bos_that_the_tokenizer_adds_is_not_written_twice(adds_bos: bool, prompt: str) -> None:
    assert render(facts("{{ bos_token }}a", adds_bos=adds_bos), MESSAGES, {}) == prompt


@pytest.mark.parametrize(
    ("template", "variables"),
    [
        pytest.param("{{ raise_exception('roles must alternate') }}", {}, id="raised by the template"),
        pytest.param("{{ 1 + x }}", {"x": "a"}, id="a variable of the wrong type"),
        pytest.param("{{ 1 / x }}", {"x": 0}, id="division by zero"),
        pytest.param("{{ x }}", {"x": "\ud800"}, id="half a character"),
        pytest.param("{{ [].__class__.__base__.__subclasses__() }}", {}, id="out of the sandbox"),
        pytest.param("{{ x.y.z }}", {}, id="undefined"),
        pytest.param("{% if %}", {}, id="a broken template"),
        pytest.param("", {}, id="no template"),
    ],
)
def test_what_goes_wrong_names_the_messages(template: str, variables: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match=r"^messages: "):
        render(facts(template), MESSAGES, variables)
