"""Who gets how many rows of a pass.

Invariant: every busy slot gets at least one row, all together no more than a pass holds (which is at least
two for each). While some slot answers, prompts take few rows, so that a long prompt makes no other wait.
"""

from collections.abc import Sequence

PROMPT_ROWS_BESIDE_ANSWERS = 32
"""For all prompts in a pass that answers are in too. Rows are nearly as cheap in passes of this size as in
the largest, and such a pass takes little time."""


def shares(in_prompt: Sequence[bool], max_rows: int) -> list[int]:
    """Rows for each busy slot; `in_prompt` tells which of them still read their prompts."""
    prompts = sum(in_prompt)
    answers = len(in_prompt) - prompts
    beside_answers = max(prompts, min(PROMPT_ROWS_BESIDE_ANSWERS, max_rows // 2))
    for_prompts = beside_answers if prompts and answers else max_rows * bool(prompts)
    per_prompt = for_prompts // max(prompts, 1)
    per_answer = (max_rows - for_prompts) // max(answers, 1)
    return [per_prompt if prompt else per_answer for prompt in in_prompt]
