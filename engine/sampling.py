"""How tokens are drawn: llama-server's parameters, and what draws by them.

Invariant: plain values and an interface; the models bring their own samplers.
"""

import secrets
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float32]
SEEDS = 2**32 - 1
"""llama.cpp takes this number and no smaller one for "any seed"."""
LEAST_TEMPERATURE = 0.001
"""What is below, and not 0, is raised to it: divided by less, logits overflow."""


class Sampling(NamedTuple):
    """How a token is drawn, in llama-server's words; the defaults are greedy.

    `top_k` 0, `top_p` 1 and `min_p` 0 switch the three off. The penalties look at the last `repeat_last_n`
    tokens, of the prompt too; -1 is the whole context.
    """

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = -1

    @property
    def penalises(self) -> bool:
        """Whether earlier tokens change the logits."""
        penalties = (self.repeat_penalty - 1, self.presence_penalty, self.frequency_penalty)
        return self.repeat_last_n != 0 and any(penalties)

    @property
    def greedy(self) -> bool:
        """Whether the token is always the argmax of the model's logits."""
        return self.temperature == 0 and not self.penalises

    def seeded(self) -> "Sampling":
        """With a seed that llama.cpp takes for one; a negative one is replaced by chance."""
        return self._replace(seed=self.seed % SEEDS if self.seed >= 0 else secrets.randbelow(SEEDS))


class Sampler(Protocol):
    """Draws tokens."""

    def sample(self, row: Row) -> int:
        """A token by these logits; where all are -inf, any."""

    def accept(self, token: int) -> None:
        """Note a token of the prompt, or one that the answer went on with."""
