"""What an engine did since it started, in numbers.

Invariant: written by the model's thread alone; numbers only grow and hold nothing of any text.
"""

from collections import Counter
from dataclasses import dataclass, field

from engine.errors import EngineError
from engine.wire import CompletionResult


@dataclass
class Counts:
    """Totals. Seconds of `decode` are spent in passes, those of `host` between them while slots are busy."""

    ended: Counter[str] = field(default_factory=Counter)
    """Completions by how they ended: eos, limit, word, cancelled or error."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    predicted_tokens: int = 0
    held_tokens: int = 0
    passes: int = 0
    rows: int = 0
    wasted_rows: int = 0
    decode_seconds: float = 0.0
    host_seconds: float = 0.0
    parked_states: int = 0
    restored_states: int = 0

    def passed(self, rows: int, seconds: float) -> None:
        """Count one pass."""
        self.passes += 1
        self.rows += rows
        self.decode_seconds += seconds

    def ended_with(self, outcome: CompletionResult | EngineError) -> None:
        """Count one completion."""
        if isinstance(outcome, EngineError):
            self.ended["error"] += 1
            return
        self.ended[outcome.stop_type] += 1
        self.prompt_tokens += outcome.timings.prompt_n
        self.cached_tokens += outcome.timings.cache_n
        self.predicted_tokens += outcome.timings.predicted_n
        self.wasted_rows += outcome.redraft_wasted_rows or 0
        self.held_tokens += round((outcome.redraft_held_fraction or 0) * outcome.timings.predicted_n)
