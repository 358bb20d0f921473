"""Plain answers that are not simply greedy: sampled, penalised, or held to a grammar.

Invariant: the token at a place depends on the logits there, the tokens before it, the request and the seed
alone, so a seed gives the same answer whatever slots and passes it was computed in.
"""

import numpy as np

from engine.decoding import Decision
from engine.errors import InvalidRequest
from engine.gbnf import parse
from engine.grammar import Constraint, vocabulary_of
from engine.json_schema import to_gbnf
from engine.language_model import LanguageModel, Rows
from engine.sampling import Row, Sampler, Sampling
from engine.wire import CompletionRequest

NOT_BESIDE_A_DRAFT = (
    "temperature",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "grammar",
    "json_schema",
)


class Greedy:
    """The sampler that needs no randomness."""

    def sample(self, row: Row) -> int:
        """See `Sampler`."""
        return int(np.argmax(row))

    def accept(self, token: int) -> None:
        """See `Sampler`."""


class SampledDecoding:
    """One token a pass, by a sampler and perhaps a grammar. See `engine.decoding`."""

    def __init__(self, sampler: Sampler, constraint: Constraint | None) -> None:
        self.kept = 0
        self._sampler = sampler
        self._constraint = constraint
        self._decided: int | None = None

    def propose(self, room: int, beside: int) -> list[int]:
        """See `Decoding`."""
        return [] if self._decided is None else [self._decided]

    def consume(self, rows: Rows) -> list[Decision]:
        """See `Decoding`. Raises InvalidRequest where the grammar leaves no token."""
        self.kept = 0 if self._decided is None else 1
        self._decided = token = self._draw(rows[0])
        self._sampler.accept(token)
        if self._constraint:
            self._constraint.accept(token)
        return [Decision(token)]

    def _draw(self, row: Row) -> int:
        """The grammar is asked about the token that was drawn; only where it refuses, about all others."""
        token = self._sampler.sample(row)
        if self._constraint is None or self._constraint.allows(token):
            return token
        allowed = self._constraint.allowed()
        if not allowed.any():
            raise InvalidRequest("grammar: none of the model's tokens can follow what was generated so far")
        return self._sampler.sample(np.where(allowed, row, np.float32(-np.inf)))


def sampled_decoding(
    request: CompletionRequest, prompt: list[int], model: LanguageModel
) -> SampledDecoding | None:
    """How to answer a request, if it asks for more than the argmax. Raises InvalidRequest."""
    sampling = Sampling(
        temperature=request.temperature,
        top_k=request.top_k,
        top_p=request.top_p,
        min_p=request.min_p,
        repeat_penalty=request.repeat_penalty,
        repeat_last_n=request.repeat_last_n,
        presence_penalty=request.presence_penalty,
        frequency_penalty=request.frequency_penalty,
        seed=request.seed,
    ).seeded()
    constraint = _constraint(request, model)
    if sampling.greedy and constraint is None:
        return None
    sampler = Greedy() if sampling.greedy else model.sampler(sampling)
    for token in prompt:
        sampler.accept(token)
    return SampledDecoding(sampler, constraint)


def _constraint(request: CompletionRequest, model: LanguageModel) -> Constraint | None:
    if request.json_schema is not None and request.grammar:
        raise InvalidRequest("grammar: json_schema is given too; send one of them")
    if request.json_schema is not None:
        grammar = parse("json_schema", to_gbnf("json_schema", request.json_schema))
    elif request.grammar:
        grammar = parse("grammar", request.grammar)
    else:
        return None
    return Constraint(grammar, vocabulary_of(model))


def refuse_beside_a_draft(request: CompletionRequest) -> None:
    """Raise InvalidRequest for what a replay cannot honour: it holds tokens by the model's argmax."""
    for name in NOT_BESIDE_A_DRAFT:
        if getattr(request, name) != CompletionRequest.model_fields[name].default:
            raise InvalidRequest(
                f"{name}: redraft_stabilize replays greedy generation by the model's own logits; "
                f"leave out one of the two"
            )
