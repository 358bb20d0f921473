"""What the engine is asked for one refresh, and what its answer says.

Invariant: pure; exact mode never asks for tolerance, and whether an answer was a replay is what the
answer itself shows: llama-server passes over the extension that it does not know.
"""

from dataclasses import dataclass, field

from daemon.spans import NEW
from daemon.wire import RefreshRequest
from engine.wire import CompletionChunk, CompletionRequest, CompletionResult, Stabilize

Ranges = list[tuple[int, int]]


def completion(
    request: RefreshRequest, max_tokens: int, prompt: list[int], draft: list[int], strict: Ranges
) -> CompletionRequest:
    """A refresh as a completion on any slot: of token ids, with the draft's tokens to replay."""
    plain = CompletionRequest(
        prompt=prompt,
        n_predict=max_tokens,
        temperature=0.0,
        stream=True,
        cache_prompt=True,
        return_tokens=True,
    )
    if request.baseline and request.draft_sources is None:
        return plain
    return plain.model_copy(update={"redraft_stabilize": _stabilize(request, max_tokens, draft, strict)})


def is_exact(request: RefreshRequest) -> bool:
    """Whether only the argmax stands."""
    return request.baseline or request.mode == "exact" or request.rule == "exact"


def _stabilize(request: RefreshRequest, max_tokens: int, draft: list[int], strict: Ranges) -> Stabilize:
    given: dict[str, object] = {"old_output": draft, "max_tokens": max_tokens, "algorithm": request.algorithm}
    if is_exact(request):
        given |= {"tau": 0.0, "floor": 0.0}
    else:
        given |= {"tau": request.tau, "floor": request.floor, "strict": strict}
        given |= {"rule": request.rule, "p_cut": request.p_cut}
    if request.draft_sources is not None:
        given |= {"draft_sources": request.draft_sources}
    return Stabilize.model_validate(given)


@dataclass
class Answer:
    """What the engine has said so far; `src` gives per token the draft's that it was held from, or NEW."""

    tokens: list[int] = field(default_factory=list)
    src: list[int] = field(default_factory=list)
    result: CompletionResult | None = None

    def add(self, chunk: CompletionChunk | CompletionResult) -> list[int]:
        """Keep a chunk; the sources of its tokens."""
        src = [NEW] * len(chunk.tokens) if chunk.redraft_src is None else chunk.redraft_src
        self.tokens += chunk.tokens
        self.src += src
        if isinstance(chunk, CompletionResult):
            self.result = chunk
        return src

    @property
    def reused(self) -> float:
        """Held tokens over all."""
        return sum(src != NEW for src in self.src) / len(self.src) if self.src else 0.0
