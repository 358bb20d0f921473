from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import DecodeFailed, ModelError
from engine.language_model import Part
from engine.model import LlamaModel, check_gguf, fingerprint, requantise
from engine.worker import Worker

SOURCE = (
    "## minutes\nThe garden club met on Tuesday in the town hall. The chair opened it and nine members came. "
    "The budget for seeds is 140 euros. The fence will be green from May on, and the shed gets a new roof. "
    "Members bring gloves. The next meeting is on 12 June at 18:30.\n\n"
)
LIMIT = 30
INSTRUCTION = "Summarize the minutes in four sentences."


def chat(text: str) -> str:
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


EDITED = SOURCE.replace("140", "215").replace("green", "blue").replace("12 June", "3 July")


@pytest.fixture(scope="module", params=[1, 7], ids=["short", "beyond 512 cells"])
def case(request: pytest.FixtureRequest, llama: LlamaModel, greedy: Callable) -> dict[str, list[int]]:
    """Prompt after an edit, its plain answer, and the stale answer."""
    before, after = (llama.tokenize(chat(text * request.param + INSTRUCTION)) for text in (SOURCE, EDITED))
    assert (len(after) > 512) == (request.param == 7)
    return {"prompt": after, "plain": greedy(llama, after, LIMIT), "stale": greedy(llama, before, LIMIT)}


def misleading(case: dict[str, list[int]]) -> dict[str, list[int]]:
    plain, stale = case["plain"], case["stale"]
    random = np.random.default_rng(7).integers(0, 49152, 80).tolist()
    return {
        "stale": stale,
        "the answer": plain,
        "empty": [],
        "random": random,
        "truncated": stale[:9],
        "tail": stale[9:],
        "doubled": stale + stale,
        "longer than max_tokens": plain + stale + random,
        "end inside": [*plain[:8], 2, *plain[8:]],
        "prompt": case["prompt"][-120:],
        "interleaved": [token for pair in zip(plain, stale, strict=False) for token in pair],
        "first token wrong": [random[0], *plain[1:]],
    }


def anchored(case: dict[str, list[int]]) -> dict[str, list[int]]:
    """Some of them again, for the other algorithm."""
    return {
        f"anchor: {name}": misleading(case)[name] for name in ("stale", "doubled", "random", "interleaved")
    }


def test_exact_mode_equals_plain_generation(
    case: dict[str, list[int]], llama: LlamaModel, submit: Callable
) -> None:
    """Drafts that mislead, two slots busy at a time, over whatever the slots had cached before."""
    for slot in range(2):
        llama.truncate(slot, 0)
    worker = Worker(llama, 20)
    told = {
        name: submit(
            worker,
            prompt=case["prompt"],
            n_predict=LIMIT,
            redraft_stabilize={
                "old_output": draft,
                "tau": 0,
                "floor": 0,
                "horizon": (7, 16, 64)[number % 3],
                "algorithm": "adaptive" if number < 12 else "anchor",
            },
        )[1]
        for number, (name, draft) in enumerate([*misleading(case).items(), *anchored(case).items()])
    }
    while not all(it.outcomes for it in told.values()):
        worker.step()
    wrong = [name for name, it in told.items() if it.result.redraft_emitted != case["plain"]]
    assert wrong == []
    assert told["the answer"].result.redraft_held_fraction == 1.0
    assert told["stale"].result.redraft_held_fraction > 0


def test_tolerant_mode_holds_at_least_what_exact_mode_holds(
    case: dict[str, list[int]], llama: LlamaModel, complete: Callable
) -> None:
    for slot in range(2):
        llama.truncate(slot, 0)
    worker = Worker(llama, 4)
    held = {
        tau: complete(
            worker,
            prompt=case["prompt"],
            n_predict=LIMIT,
            redraft_stabilize={"old_output": case["stale"], "tau": tau, "floor": min(1, tau)},
        ).result
        for tau in (0, 3, 1000)
    }
    assert held[0].redraft_held_fraction <= held[3].redraft_held_fraction
    kept = [n for n in held[1000].redraft_src if n >= 0]
    assert [case["stale"][n] for n in kept] == [
        token for token, n in zip(held[1000].redraft_emitted, held[1000].redraft_src, strict=True) if n >= 0
    ]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200))
def test_any_text_gives_tokens_of_the_vocabulary(text: str, llama: LlamaModel) -> None:
    assert all(0 <= token < llama.vocabulary_size for token in llama.tokenize(text))


def test_a_pass_above_the_limit_is_refused_before_llama_cpp_aborts(llama: LlamaModel) -> None:
    llama.truncate(0, 0)
    with pytest.raises(DecodeFailed, match="129 rows is above the limit of 128"):
        llama.decode([Part(0, [1] * 129, 1)])
    assert llama.decode([Part(0, [1] * 128, 1)])[0].shape == (1, 49152)


def test_more_tokens_than_the_context_holds_are_an_error_not_a_crash(real_model: Path) -> None:
    model = LlamaModel(real_model, slots=1, ctx=256, threads=2, kv="bf16")
    for _ in range(2):
        model.decode([Part(0, [1] * 128, 0)])
    with pytest.raises(DecodeFailed, match="llama_decode returned 1 for 1 tokens"):
        model.decode([Part(0, [1], 1)])
    model.truncate(0, 0)
    assert model.decode([Part(0, [1], 1)])[0].shape == (1, 49152)
    model.close()


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), (b"", "not a GGUF"), (b"GGML rest", "not a GGUF")],
    ids=["missing", "empty", "other magic"],
)
def test_what_is_not_a_gguf_is_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=rf"weights\.gguf: {message}"):
        check_gguf(path)


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (4, ".*failed to read header"),
        (1000, "read: string length 18 exceeds"),
        (5_000_000, ".*'token_embd.weight' data is not within the file bounds"),
    ],
)
def test_a_damaged_gguf_is_an_error_that_names_the_cause(
    size: int, reason: str, tmp_path: Path, real_model: Path
) -> None:
    path = tmp_path / "damaged.gguf"
    with real_model.open("rb") as whole:
        path.write_bytes(whole.read(size))
    with pytest.raises(ModelError, match=rf"damaged\.gguf: cannot be loaded: {reason}"):
        LlamaModel(path, slots=1, ctx=64, threads=1, kv="bf16")
    with pytest.raises(ModelError, match=rf"damaged\.gguf: could not be converted .*: {reason}"):
        requantise(path, tmp_path / "out.gguf", threads=1)


def test_a_context_beyond_the_models_is_refused(real_model: Path) -> None:
    with pytest.raises(ModelError, match="made for 8192 tokens"):
        LlamaModel(real_model, slots=1, ctx=8193, threads=1, kv="bf16")


def test_the_fingerprint_tells_files_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    paths[0].write_bytes(b"x" * 10**6)
    paths[1].write_bytes(b"x" * 10**6 + b"x")
    paths[2].write_bytes(b"x" * 500_000 + b"y" + b"x" * 499_999)
    assert len({fingerprint(path) for path in paths}) == 3
    assert fingerprint(paths[0]) == fingerprint(paths[0])
