"""One completion on one slot: which tokens it wants decoded next, and what it makes of the logits.

Invariant: the answer is a function of the prompt, the request and the model alone; how passes were
cut or shared with other slots changes nothing but the times. It ends at an end-of-generation token
(which is neither emitted nor shown), at its limit, or at a stop string.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Literal

from engine.errors import EngineError, InvalidRequest, PromptTooLong
from engine.language_model import LanguageModel, Rows
from engine.stabilize import AnchorReplay, Decision, held_fraction, plain
from engine.text_stream import TextStream
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult, Timings

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
    cancelled: Event = field(default_factory=Event)

    @classmethod
    def of(cls, request: CompletionRequest, model: LanguageModel, tell: Callable[[Outcome], None]) -> "Job":
        """Tokenize and check a request. Raises InvalidRequest naming the field."""
        if request.temperature > 0:
            raise InvalidRequest("temperature: only greedy generation is served; leave it out or send 0")
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
            check_tokens("redraft_stabilize.old_output", stabilize.old_output, model)
            check_tokens("redraft_stabilize.eos", stabilize.eos, model)
            limits.append(stabilize.max_tokens)
        room = model.ctx - len(prompt)
        return cls(request, prompt, min([room, *limits]), room < min(limits, default=room + 1), tell)

    @property
    def id_slot(self) -> int:
        """The slot that the request insists on, or -1."""
        return self.request.id_slot

    def shared_prefix(self, cache: list[int]) -> int:
        """How many cached tokens can be reused: not all of the prompt, its last logits are needed."""
        if not self.request.cache_prompt:
            return 0
        pairs = zip(self.prompt[:-1], cache, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(self.prompt) - 1, len(cache)))


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

    def __init__(self, job: Job, model: LanguageModel, slot: int, reused: int) -> None:
        self.job = job
        self.result: CompletionResult | None = None
        self._model = model
        self._slot = slot
        self._prompt_left = job.prompt[reused:]
        self._replay = AnchorReplay(job.request.redraft_stabilize or plain(), self._ends)
        self._text = TextStream(job.request.stop)
        self._tokens: list[int] = []
        self._sources: list[int] = []
        self._content: list[str] = []
        self._stop_type: StopType | None = None
        self._reused = self._cached = reused
        self._divergences = self._passes = self._rows = self._wasted_rows = 0
        self._started = self._answer_started = time.perf_counter()

    def todo(self, most: int) -> tuple[list[int], int]:
        """At most `most` tokens to decode next, and for how many of the last ones logits are wanted."""
        if self._prompt_left:
            chunk = self._prompt_left[:most]
            return chunk, int(len(chunk) == len(self._prompt_left))
        window = self._replay.window[: min(most, self.job.limit - len(self._tokens))]
        return window, len(window)

    def advance(self, count: int, rows: Rows) -> int:
        """Use the logits of a pass over `count` tokens; how many of them are to be rolled back."""
        wasted = 0
        if self._prompt_left:
            del self._prompt_left[:count]
            if not self._prompt_left:
                self._begin(rows)
        else:
            emitted = self._emit(self._replay.consume(rows))
            wasted = count - min(self._replay.kept, 1 + emitted)
            self._passes += 1
            self._rows += count
            self._wasted_rows += wasted
        self._cached += count - wasted
        if self._stop_type is not None:
            self.result = self._summarize(self._stop_type)
        return wasted

    def _begin(self, rows: Rows) -> None:
        """Use the logits after the prompt."""
        self._answer_started = time.perf_counter()
        if self.job.limit == 0:
            self._stop_type = "limit"
        else:
            self._emit(self._replay.consume(rows))

    def _emit(self, decisions: list[Decision]) -> int:
        """Add decided tokens to the answer until it ends, and stream them; how many were added."""
        start, text = len(self._tokens), ""
        for decision in decisions:
            self._divergences += decision.diverged
            if self._ends(decision.token):
                self._stop_type = "eos"
            else:
                text += self._add(decision)
            if self._stop_type is not None:
                break
        self._content.append(text)
        if self.job.request.stream and start < len(self._tokens):
            sources = self._sources[start:] if self.job.request.redraft_stabilize else None
            self.job.tell(CompletionChunk(content=text, tokens=self._tokens[start:], redraft_src=sources))
        return len(self._tokens) - start

    def _ends(self, token: int) -> bool:
        stabilize = self.job.request.redraft_stabilize
        return self._model.is_end(token) or (stabilize is not None and token in stabilize.eos)

    def _add(self, decision: Decision) -> str:
        """Put one token into the answer; the text that it makes certain."""
        self._tokens.append(decision.token)
        self._sources.append(decision.source)
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
            tokens_cached=self._cached,
            truncated=stop_type == "limit" and self.job.limited_by_context,
            timings=self._timings(),
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
            }
        )

    def _timings(self) -> Timings:
        predicted_ms = 1000 * (time.perf_counter() - self._answer_started)
        return Timings(
            cache_n=self._reused,
            prompt_n=len(self.job.prompt) - self._reused,
            prompt_ms=1000 * (self._answer_started - self._started),
            predicted_n=len(self._tokens),
            predicted_ms=predicted_ms,
            predicted_per_second=1000 * len(self._tokens) / predicted_ms if predicted_ms else 0.0,
        )
