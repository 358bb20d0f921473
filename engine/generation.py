"""One completion on one slot: which tokens it wants decoded next, and what it makes of the logits.

Invariant: the answer is a function of the prompt, the request and the model alone; how passes were
cut or shared with other slots changes nothing but the times. It ends at an end-of-generation token
(which is neither emitted nor shown), at its limit, or at a stop string.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Literal

from engine.decoding import Decision, Decoding
from engine.errors import EngineError, InvalidRequest, PromptTooLong
from engine.language_model import LanguageModel, Rows
from engine.probabilities import Probabilities, first_told
from engine.sampled import SampledDecoding, refuse_beside_a_draft, sampled_decoding
from engine.stabilize import Drafting, decoding_for, held_fraction, most_rows
from engine.text_stream import TextStream
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult, DraftSource, Timings

StopType = Literal["eos", "limit", "word"]
Outcome = CompletionChunk | CompletionResult | EngineError


@dataclass(frozen=True, eq=False)
class Job:
    """A checked request on its way to a slot. `tell` gets its outcomes, on the worker's thread."""

    request: CompletionRequest
    prompt: list[int]
    limit: int
    limited_by_context: bool
    tell: Callable[[Outcome], None]
    sampled: SampledDecoding | None = None
    """What decides the answer, unless it is greedy or the replay of a draft."""
    cancelled: Event = field(default_factory=Event)

    @classmethod
    def of(cls, request: CompletionRequest, model: LanguageModel, tell: Callable[[Outcome], None]) -> "Job":
        """Tokenize and check a request. Raises InvalidRequest naming the field."""
        if request.id_slot != -1:
            check_slot(request.id_slot, model)
        prompt = request.prompt
        if isinstance(prompt, str):
            check_text("prompt", prompt, model)
            prompt = model.tokenize(prompt, add_special=True)
        if not prompt:
            raise InvalidRequest("prompt: has no tokens; send some text")
        check_tokens("prompt", prompt, model)
        if len(prompt) >= model.ctx:
            raise PromptTooLong(len(prompt), model.ctx)
        limits = [request.n_predict] if request.n_predict >= 0 else []
        if stabilize := request.redraft_stabilize:
            refuse_beside_a_draft(request)
            check_tokens("redraft_stabilize.old_output", stabilize.old_output, model)
            check_tokens("redraft_stabilize.eos", stabilize.eos, model)
            limits.append(stabilize.max_tokens)
        room = model.ctx - len(prompt)
        sampled = sampled_decoding(request, prompt, model)
        limited_by_context = room < min(limits, default=room + 1)
        return cls(request, prompt, min([room, *limits]), limited_by_context, tell, sampled)

    @property
    def id_slot(self) -> int:
        """The slot that the request insists on, or -1."""
        return self.request.id_slot

    @property
    def first_told(self) -> int:
        """The first place of the prompt whose logits are needed; the last one's always are."""
        return first_told(self.prompt, self.request.prompt_probs_tail)

    def shared_prefix(self, cache: Sequence[int]) -> int:
        """How many cached tokens can be reused: those before the first whose logits are needed."""
        if not self.request.cache_prompt:
            return 0
        return shared(self.prompt[: self.first_told], cache)


def shared(tokens: Sequence[int], others: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    pairs = zip(tokens, others, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(tokens), len(others)))


def check_slot(id_slot: int, model: LanguageModel) -> None:
    """Raise InvalidRequest unless there is such a slot."""
    if not 0 <= id_slot < model.slots:
        raise InvalidRequest(f"id_slot: {id_slot} is not one of the {model.slots} slots, 0-based")


def check_text(name: str, text: str, model: LanguageModel) -> None:
    """Raise PromptTooLong for a text that no context holds: tokenizing takes long for very long ones."""
    least = math.ceil(len(text.encode()) / model.longest_piece)
    if least >= model.ctx:
        raise PromptTooLong(least, model.ctx, field=name, at_least=True)


def check_tokens(name: str, tokens: list[int], model: LanguageModel) -> None:
    """Raise InvalidRequest unless all ids belong to the model's vocabulary."""
    for index, token in enumerate(tokens):
        if token >= model.vocabulary_size:
            raise InvalidRequest(
                f"{name}[{index}]: {token} is above the last token id {model.vocabulary_size - 1}"
            )


class Generation:
    """A job that has a slot. `todo` and `advance` alternate, one pass each, until there is a `result`."""

    def __init__(self, job: Job, model: LanguageModel, slot: int, reused: int, drafting: Drafting) -> None:
        self.job = job
        self.result: CompletionResult | None = None
        self._model = model
        self._slot = slot
        self._prompt_left = job.prompt[reused:]
        self._lost: list[int] = []
        stabilize = job.request.redraft_stabilize
        self._decoding: Decoding = job.sampled or decoding_for(
            stabilize, drafting, job.prompt, job.limit, slot, self._ends
        )
        self._most_rows = most_rows(stabilize, drafting, model.max_rows)
        self._text = TextStream(job.request.stop)
        self._tokens: list[int] = []
        self._sources: list[int] = []
        self._content: list[str] = []
        self._probabilities = Probabilities(model, job.prompt, job.request)
        self._stop_type: StopType | None = None
        self._reused = reused
        self._drafted: Counter[DraftSource] = Counter()
        self._divergences = self._passes = self._rows = self._wasted_rows = 0
        self._started = self._answer_started = time.perf_counter()
        self._pass_ms = self._spent_before_ms = 0.0
        self._drafting = drafting

    @property
    def in_prompt(self) -> bool:
        """Whether some of the prompt is still to be decoded."""
        return bool(self._prompt_left)

    def todo(self, most: int, beside: int) -> tuple[list[int], int]:
        """At most `most` tokens to decode next, and for how many of the last ones logits are wanted.

        `beside` is the number of rows that the pass holds without them, as far as it is known. Drafts follow
        the prompt's end or the last decided token, but for passes in which lost tokens are decoded again.
        """
        exact_rows = self._most_rows * most // self._model.max_rows
        if again := self._lost[: max(1, min(most, exact_rows))]:
            together = len(again) == len(self._lost) < min(most, exact_rows)
            pending = self._decoding.propose(1, beside + len(again)) if together else []
            return again + pending, len(pending)
        if self._prompt_left and not self._model.rolls_back:
            most = min(most, max(1, len(self._prompt_left) - 1))  # the next of the same prompt goes on there
        chunk = self._prompt_left[:most]
        told = self._probabilities.wanted(len(self.job.prompt) - len(self._prompt_left), len(chunk))
        if len(chunk) < len(self._prompt_left):
            return chunk, told
        decided = 0 if chunk else 1
        open_places = self.job.limit - len(self._tokens) - 1 + decided
        room = min(most - len(chunk), max(exact_rows - len(chunk), decided), open_places)
        window = self._decoding.propose(max(room, 0), beside + len(chunk))
        return chunk + window, len(window) + told

    def advance(self, count: int, rows: Rows, pass_ms: float) -> int:
        """Use the logits of a pass over `count` tokens; how many of them are to be rolled back."""
        count -= self._regain(count)
        wasted, prompt = 0, min(count, len(self._prompt_left))
        rows = self._probabilities.take_prompt(len(self.job.prompt) - len(self._prompt_left), prompt, rows)
        del self._prompt_left[:prompt]
        if prompt and not self._prompt_left:
            self._answer_started = time.perf_counter()
            self._spent_before_ms = self._drafting.spent_ms
        elif not prompt:
            self._pass_ms += pass_ms
        if not self._prompt_left and count:
            wasted = self._answer(rows, decided=0 if prompt else 1, window=count - prompt)
        if self._stop_type is not None:
            self.result = self._summarize(self._stop_type)
        return wasted

    def decode_again(self, lost: list[int]) -> None:
        """The last tokens that the slot holds were lost in rolling back: they come before all others."""
        self._lost = lost

    def _regain(self, count: int) -> int:
        """How many of a pass's tokens were lost ones; such rows tell nothing new."""
        again = min(count, len(self._lost))
        del self._lost[:again]
        self._rows += again
        self._wasted_rows += again
        self._passes += 0 < again == count
        return again

    def _answer(self, rows: Rows, *, decided: int, window: int) -> int:
        """Use the logits of a window, `decided` tokens of which were emitted before; how many are wasted."""
        if self.job.limit == 0:
            self._stop_type = "limit"
            return window
        emitted = self._emit(self._decoding.consume(rows), rows)
        wasted = window - min(self._decoding.kept, decided + emitted)
        self._passes += window > 0
        self._rows += window
        self._wasted_rows += wasted
        return wasted

    def _emit(self, decisions: list[Decision], rows: Rows) -> int:
        """Add decided tokens to the answer until it ends, and stream them; how many were added."""
        start, text = len(self._tokens), ""
        for decision, row in zip(decisions, rows, strict=False):
            self._divergences += decision.diverged
            if self._ends(decision.token):
                self._stop_type = "eos"
            else:
                text += self._add(decision)
                self._probabilities.take_answer(row, decision.token)
            if self._stop_type is not None:
                break
        self._content.append(text)
        if self.job.request.stream and start < len(self._tokens):
            sources = self._sources[start:] if self.job.request.redraft_stabilize else None
            self.job.tell(
                CompletionChunk(
                    content=text,
                    tokens=self._tokens[start:],
                    completion_probabilities=self._probabilities.of_answer(start),
                    redraft_src=sources,
                )
            )
        return len(self._tokens) - start

    def _ends(self, token: int) -> bool:
        stabilize = self.job.request.redraft_stabilize
        return self._model.is_end(token) or (stabilize is not None and token in stabilize.eos)

    def _add(self, decision: Decision) -> str:
        """Put one token into the answer; the text that it makes certain."""
        self._tokens.append(decision.token)
        self._sources.append(decision.source)
        if decision.drafted_by:
            self._drafted[decision.drafted_by] += 1
        text = self._text.push(self._model.piece(decision.token))
        if self._text.stopped:
            self._stop_type = "word"
        elif len(self._tokens) == self.job.limit:
            self._stop_type = "limit"
        return text

    def _summarize(self, stop_type: StopType) -> CompletionResult:
        request, rest = self.job.request, self._text.finish()
        result = CompletionResult(
            content=rest if request.stream else "".join([*self._content, rest]),
            tokens=self._tokens if request.return_tokens and not request.stream else [],
            stop_type=stop_type,
            id_slot=self._slot,
            tokens_predicted=len(self._tokens),
            tokens_evaluated=len(self.job.prompt),
            tokens_cached=len(self.job.prompt) + self._rows - self._wasted_rows,
            truncated=stop_type == "limit" and self.job.limited_by_context,
            timings=self._timings(),
            completion_probabilities=None if request.stream else self._probabilities.of_answer(),
            prompt_probabilities=self._probabilities.of_prompt(),
        )
        if request.redraft_stabilize is None:
            return result
        return result.model_copy(
            update={
                "redraft_src": [] if request.stream else self._sources,
                "redraft_emitted": self._tokens,
                "redraft_held_fraction": held_fraction(self._sources),
                "redraft_divergences": self._divergences,
                "redraft_passes": self._passes,
                "redraft_rows": self._rows,
                "redraft_wasted_rows": self._wasted_rows,
                "redraft_drafted": dict(self._drafted),
                "redraft_host_ms": self._host_ms(),
            }
        )

    def _timings(self) -> Timings:
        predicted_ms = self._answer_ms()
        return Timings(
            cache_n=self._reused,
            prompt_n=len(self.job.prompt) - self._reused,
            prompt_ms=1000 * (self._answer_started - self._started),
            predicted_n=len(self._tokens),
            predicted_ms=predicted_ms,
            predicted_per_second=1000 * len(self._tokens) / predicted_ms if predicted_ms else 0.0,
        )

    def _answer_ms(self) -> float:
        return 1000 * (time.perf_counter() - self._answer_started)

    def _host_ms(self) -> float:
        """Time of the answer outside the passes of either model."""
        spent_ms = self._pass_ms + self._drafting.spent_ms - self._spent_before_ms
        return max(0.0, self._answer_ms() - spent_ms)
