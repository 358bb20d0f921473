"""Which decoding serves a request, and what it may draft with.

Invariant: in exact mode no draft changes a token; without a draft there is plain generation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.adaptive import AdaptiveReplay
from engine.alignment import Alignment
from engine.anchor import AnchorReplay
from engine.cost import Calibration
from engine.decoding import Decoding
from engine.draft import LookupSource, Source, StaleSource
from engine.draft_model import DraftModel, ModelSource
from engine.errors import InvalidRequest
from engine.wire import DraftSource, Stabilize


@dataclass(frozen=True)
class Drafting:
    """What a loaded engine drafts with."""

    calibration: Calibration
    draft_model: DraftModel | None = None

    @property
    def spent_ms(self) -> float:
        """Time in passes of the draft model so far."""
        return self.draft_model.spent_ms if self.draft_model else 0.0


def decoding_for(
    request: Stabilize | None,
    drafting: Drafting,
    prompt: Sequence[int],
    limit: int,
    slot: int,
    is_end: Callable[[int], bool],
) -> Decoding:
    """The greedy decoding that `request` asks for; None is plain generation.

    `limit` is the most tokens that the answer may have, `slot` where it is made.
    """
    request = request or Stabilize(tau=0, floor=0)
    if request.algorithm == "anchor":
        return AnchorReplay(request, is_end)
    names = draft_sources(request)
    alignment = Alignment(request.old_output if "stale" in names else [])
    sources: list[Source] = [StaleSource(alignment)]
    if "lookup" in names:
        sources.append(LookupSource(prompt, limit))
    if "model" in names and drafting.draft_model:
        sources.append(ModelSource(drafting.draft_model, slot, prompt))
    cost = drafting.calibration.pass_cost
    return AdaptiveReplay(request, alignment, sources, cost, len(prompt), limit, is_end)


def check(request: Stabilize, drafting: Drafting) -> None:
    """Raise InvalidRequest for what cannot be drafted from."""
    sources = request.draft_sources or []
    if "model" in sources and not drafting.draft_model:
        raise InvalidRequest(
            "redraft_stabilize.draft_sources: this engine has no draft model; start it with --draft-model"
        )
    if request.algorithm == "anchor" and {*sources} - {"stale"}:
        raise InvalidRequest(
            "redraft_stabilize.draft_sources: anchor drafts from the old answer alone; use adaptive"
        )


def draft_sources(request: Stabilize) -> Sequence[DraftSource]:
    """What a request drafts from."""
    if request.draft_sources is not None:
        return request.draft_sources
    return ["stale", "lookup"] if request.old_output else []


def most_rows(request: Stabilize | None, drafting: Drafting, max_rows: int) -> int:
    """The widest pass that may hold a window with drafts: exactness is kept up to `exact_width`."""
    exact = request is None or request.exact
    return min(max_rows, drafting.calibration.exact_width) if exact else max_rows


def held_fraction(sources: Sequence[int]) -> float:
    """Share of tokens that were held from the draft; 0 for no tokens."""
    return sum(source >= 0 for source in sources) / len(sources) if sources else 0.0
