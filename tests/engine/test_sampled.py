from collections.abc import Callable

import numpy as np
import pytest

from engine.errors import InvalidRequest
from engine.fake_model import FakeModel
from engine.gbnf import parse
from engine.generation import Job
from engine.grammar import Constraint, vocabulary_of
from engine.sampled import Greedy, SampledDecoding
from engine.wire import CompletionRequest
from engine.worker import Worker

SCHEMA = {
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name", "size"],
}


def wild(**options: object) -> FakeModel:
    return FakeModel(answer=None, **options)


def say(model: FakeModel, complete: Callable, **body: object) -> list[int]:
    result = complete(Worker(model, 1), prompt=[1, 2], return_tokens=True, n_predict=30, **body).result
    return result.tokens


def test_a_seed_gives_the_same_answer_and_another_one_another(complete: Callable) -> None:
    one, same, other = (say(wild(), complete, temperature=1.0, seed=seed) for seed in (3, 3, 4))
    assert one == same != other
    assert say(wild(), complete, temperature=1.0) != say(wild(), complete, temperature=1.0)


def test_a_seeded_answer_depends_neither_on_neighbours_nor_on_the_cache(submit: Callable) -> None:
    body = {"prompt": [5] * 40, "temperature": 0.8, "seed": 9, "n_predict": 20, "return_tokens": True}
    worker = Worker(wild(slots=2), 8)
    told = [submit(worker, **body)[1]]
    told += [submit(worker, prompt=[n] * 90, temperature=1, n_predict=9)[1] for n in range(3)]
    told += [submit(worker, **body)[1]]
    while not all(it.outcomes for it in told):
        worker.step()
    assert told[0].result.tokens == told[-1].result.tokens


def test_top_k_1_is_greedy(complete: Callable) -> None:
    assert say(wild(), complete, temperature=2.0, top_k=1) == say(wild(), complete)


def test_a_repeat_penalty_counts_the_prompts_tokens_too(complete: Callable) -> None:
    model = FakeModel(answer=None, order=1)
    body = {"n_predict": 1, "return_tokens": True}
    (liked,) = complete(Worker(model, 1), prompt=[1], **body).result.tokens
    (plain,) = complete(Worker(model, 1), prompt=[liked, 1], **body).result.tokens
    (other,) = complete(Worker(model, 1), prompt=[liked, 1], repeat_penalty=5.0, **body).result.tokens
    (far,) = complete(
        Worker(model, 1), prompt=[liked, 1], repeat_penalty=5.0, repeat_last_n=1, **body
    ).result.tokens
    assert plain == far == liked != other


def test_an_answer_is_held_to_a_grammar(complete: Callable) -> None:
    result = complete(Worker(wild(), 1), prompt=[1], grammar='root ::= "KIWI " [0-9]{3} "."').result
    assert result.stop_type == "eos"
    assert result.content.startswith("KIWI ")
    assert len(result.content) == 9


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.0, "seed": 1}], ids=["greedy", "sampled"])
def test_a_grammar_changes_nothing_where_the_answer_fits(sampling: dict, complete: Callable) -> None:
    plain = complete(Worker(wild(), 1), prompt=[1], n_predict=20, **sampling).result.content
    held = complete(Worker(wild(), 1), prompt=[1], n_predict=20, grammar="root ::= .*", **sampling).result
    assert plain.startswith(held.content[:1])


def test_a_grammar_that_no_token_can_follow_ends_one_answer_only(submit: Callable) -> None:
    model = wild(slots=2)
    worker = Worker(model, 4)
    _, stuck = submit(worker, prompt=[1], grammar='root ::= "a" "\\uD800"')
    _, other = submit(worker, prompt=[2], n_predict=5)
    while not (stuck.outcomes and other.outcomes):
        worker.step()
    assert isinstance(stuck.outcomes[-1], InvalidRequest)
    assert "none of the model's tokens can follow" in str(stuck.outcomes[-1])
    assert other.result.tokens_predicted == 5
    assert [slot.cache for slot in worker.slots] == model._sequences


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"grammar": "root ::= "}, None),
        ({"grammar": "root ::= x"}, "^grammar: rule x is not defined"),
        ({"json_schema": {"type": "wurst"}}, "^json_schema: #: type is not one of"),
        ({"json_schema": {}, "grammar": "root ::= ."}, "^grammar: json_schema is given too"),
        ({"temperature": 0.5, "redraft_stabilize": {}}, "^temperature: redraft_stabilize replays greedy"),
        ({"repeat_penalty": 1.5, "redraft_stabilize": {}}, "^repeat_penalty: "),
        ({"grammar": "root ::= .", "redraft_stabilize": {}}, "^grammar: "),
        ({"json_schema": {}, "redraft_stabilize": {}}, "^json_schema: "),
    ],
)
def test_what_cannot_be_honoured_is_refused(body: dict, message: str | None, fake: FakeModel) -> None:
    request = CompletionRequest.model_validate({"prompt": "a", **body})
    if message is None:
        assert Job.of(request, fake, print).sampled
        return
    with pytest.raises(InvalidRequest, match=message):
        Job.of(request, fake, print)


def test_a_draft_takes_parameters_that_change_nothing(fake: FakeModel) -> None:
    body = {"prompt": "a", "redraft_stabilize": {}, "top_k": 3, "top_p": 0.1, "seed": 4, "min_p": 0.5}
    assert Job.of(CompletionRequest.model_validate(body), fake, print).sampled is None


def test_the_grammar_is_asked_about_the_drawn_token_first() -> None:
    model = FakeModel()
    decoding = SampledDecoding(Greedy(), Constraint(parse("grammar", "root ::= [ab]*"), vocabulary_of(model)))
    row = np.zeros((1, model.vocabulary_size), np.float32)
    row[0, ord("z")], row[0, ord("b")] = 2, 1
    assert decoding.propose(9, 0) == []
    assert [it.token for it in decoding.consume(row)] == [ord("b")]
    assert (decoding.kept, decoding.propose(9, 0)) == (0, [ord("b")])
    row[0, ord("a")] = 3
    assert [it.token for it in decoding.consume(row)] == [ord("a")]
    assert decoding.kept == 1
