"""Rendering of the chat template that a GGUF carries.

Invariant: the template runs in Jinja's sandbox and sees only the messages, the request's own
variables and the model's special tokens; whatever goes wrong in it is the request's fault, named.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NoReturn

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import InvalidRequest
from engine.language_model import ModelFacts
from engine.wire import Message


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


@lru_cache(maxsize=4)
def _compiled(template: str) -> Template:
    """The template, ready to render: compiling it takes longer than rendering."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(template)


def render(facts: ModelFacts, messages: Sequence[Message], variables: Mapping[str, object]) -> str:
    """The prompt that asks the model for the next assistant message.

    A leading BOS is dropped where the tokenizer adds one itself. Raises InvalidRequest.
    """
    if not facts.chat_template:
        raise InvalidRequest("messages: this model's file carries no chat template")
    context: dict[str, object] = {"add_generation_prompt": True, **variables}
    context |= {"bos_token": facts.bos_token, "eos_token": facts.eos_token}
    try:
        prompt = _compiled(facts.chat_template).render(
            context, messages=[{"role": message.role, "content": message.text} for message in messages]
        )
        prompt.encode()
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise InvalidRequest(f"messages: the model's chat template refuses them: {error}") from error
    return prompt.removeprefix(facts.bos_token) if facts.adds_bos and facts.bos_token else prompt
