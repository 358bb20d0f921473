from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRequest, PromptTooLong
from engine.fake_model import FakeModel
from engine.generation import Job
from engine.wire import CompletionRequest
from engine.worker import Worker

SPLIT = "🧂🧂🧂 salt – é"


def echo(text: str) -> FakeModel:
    return FakeModel(slots=2, ctx=512, answer=lambda _: text)


def chat(model: FakeModel, text: str = "hello") -> list[int]:
    return model.tokenize(f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")


def job(model: FakeModel, **body: object) -> Job:
    return Job.of(CompletionRequest.model_validate(body), model, lambda _: None)


@st.composite
def drafts(draw: st.DrawFn, answer: list[int], size: int) -> list[int]:
    """Drafts made to mislead: random, the answer itself, cut, doubled, with foreign and end tokens inside."""
    token = st.integers(0, size - 1)
    kind = draw(st.sampled_from(["random", "same", "cut", "doubled", "edited", "end inside", "empty"]))
    if kind == "random":
        return draw(st.lists(token, max_size=80))
    if kind == "cut":
        return answer[draw(st.integers(0, 10)) : draw(st.integers(10, 60))]
    if kind == "doubled":
        return answer + answer
    if kind in ("edited", "end inside"):
        edited = list(answer)
        for _ in range(draw(st.integers(1, 4))):
            place = draw(st.integers(0, len(edited)))
            middle = [258] if kind == "end inside" else draw(st.lists(token, max_size=3))
            edited[place : place + draw(st.integers(0, 4))] = middle
        return edited
    return answer if kind == "same" else []


@given(data=st.data(), seed=st.integers(0, 10**6), order=st.integers(1, 3))
def test_exact_mode_equals_plain_generation_for_any_draft(
    data: st.DataObject, seed: int, order: int, complete: Callable, greedy: Callable
) -> None:
    model = FakeModel(slots=2, ctx=256, seed=seed, order=order, answer=None)
    model.max_rows = data.draw(st.sampled_from([4, 31, 256]))
    prompt = data.draw(st.lists(st.integers(0, 255), min_size=1, max_size=40))
    limit = data.draw(st.integers(1, 60))
    plain = greedy(model, prompt, limit)
    draft = data.draw(drafts(plain, model.vocabulary_size))
    worker = Worker(model, 4)
    for _ in range(2):
        result = complete(
            worker,
            prompt=prompt,
            n_predict=limit,
            return_tokens=True,
            redraft_stabilize={
                "old_output": draft,
                "tau": 0,
                "floor": 0,
                "horizon": data.draw(st.integers(1, 40)),
                "anchor_len": data.draw(st.integers(1, 4)),
                "algorithm": data.draw(st.sampled_from(["adaptive", "anchor"])),
            },
        ).result
        assert result.tokens == result.redraft_emitted == plain
        assert [draft[n] for n in result.redraft_src if n >= 0] == [
            token for token, n in zip(plain, result.redraft_src, strict=True) if n >= 0
        ]
        assert result.redraft_rows - result.redraft_wasted_rows == result.tokens_cached - len(prompt)


@pytest.mark.parametrize("n_predict", range(1, 7))
def test_a_split_character_comes_whole_or_not_at_all(n_predict: int, complete: Callable) -> None:
    model = echo(SPLIT)
    assert len(model.tokenize("🧂")) == 4
    streamed = complete(Worker(model, 4), prompt=chat(model), n_predict=n_predict, stream=True)
    text = "".join(chunk.content for chunk in streamed.chunks) + streamed.result.content
    whole = complete(Worker(model, 4), prompt=chat(model), n_predict=n_predict).result
    assert text == whole.content == "🧂" * (n_predict // 4)
    assert sum(len(chunk.tokens) for chunk in streamed.chunks) == n_predict


@pytest.mark.parametrize(
    "draft", ["", "h i j k l m n", "h i j k l", "x"], ids=["plain", "same", "cut", "other"]
)
def test_a_stop_string_ends_streamed_and_whole_answers_alike(draft: str, complete: Callable) -> None:
    model = echo("h i j k l m n")
    exact = {"tau": 0, "floor": 0, "algorithm": "anchor"}
    stabilize = {"old_output": model.tokenize(draft), **exact} if draft else None
    body = {"prompt": chat(model), "stop": ["k l m"], "redraft_stabilize": stabilize, "return_tokens": True}
    whole = complete(Worker(model, 4), **body).result
    streamed = complete(Worker(model, 4), **body, stream=True)
    text = "".join(chunk.content for chunk in streamed.chunks) + streamed.result.content
    assert text == whole.content == "h i j "
    assert whole.stop_type == streamed.result.stop_type == "word"
    assert [token for chunk in streamed.chunks for token in chunk.tokens] == whole.tokens
    assert model.piece(whole.tokens[-1]) == b"m"
    assert whole.tokens_cached <= len(chat(model)) + whole.tokens_predicted


def test_a_streamed_answer_tells_each_token_and_source_once(complete: Callable) -> None:
    model = echo("the new plan of the team")
    draft = model.tokenize("the old plan of the team")
    told = complete(
        Worker(model, 4),
        prompt=chat(model),
        stream=True,
        redraft_stabilize={"old_output": draft, "tau": 0, "floor": 0, "anchor_len": 1},
    )
    sources = [source for chunk in told.chunks for source in chunk.redraft_src]
    assert [token for chunk in told.chunks for token in chunk.tokens] == told.result.redraft_emitted
    assert sources == [0, -1, -1, 3, 4, 5]
    assert told.result.redraft_held_fraction == pytest.approx(4 / 6)
    assert told.result.redraft_divergences == 1
    assert (told.result.tokens, told.result.redraft_src) == ([], [])


def test_an_end_token_is_neither_in_the_text_nor_in_what_was_emitted(complete: Callable) -> None:
    model = echo("one")
    eos = model.tokenize("two")
    for draft in ("one<|im_end|>two", "one", ""):
        result = complete(
            Worker(model, 4),
            prompt=chat(model),
            redraft_stabilize={"old_output": model.tokenize(draft), "tau": 0, "floor": 0, "eos": eos},
        ).result
        assert (result.content, result.redraft_emitted) == ("one", model.tokenize("one"))
        assert (result.stop_type, result.tokens_predicted) == ("eos", 1)


@pytest.mark.parametrize("stream", [False, True])
def test_an_end_token_that_follows_in_the_prompt_ends_the_answer_like_any_other(
    stream: bool, complete: Callable
) -> None:
    text = "the plan of the team " * 20
    model = echo(text + "ends")
    told = complete(
        Worker(model, 4),
        prompt=chat(model, text + "ends"),
        stream=stream,
        redraft_stabilize={"tau": 0, "floor": 0, "draft_sources": ["lookup"]},
    )
    content = "".join(chunk.content for chunk in told.chunks) + told.result.content
    assert (content, told.result.stop_type) == (text + "ends", "eos")
    assert told.result.redraft_emitted == model.tokenize(text + "ends")
    assert told.result.redraft_drafted["lookup"] > 20
    assert set(told.result.redraft_src) <= {-1}
    assert told.result.redraft_passes < 70


def test_drafted_tokens_are_counted_by_source(complete: Callable) -> None:
    model = echo("the new plan " + "-".join(map(str, range(60))))
    draft = model.tokenize("the old plan " + "-".join(map(str, range(60))))
    for algorithm in ("adaptive", "anchor"):
        result = complete(
            Worker(model, 4),
            prompt=chat(model),
            redraft_stabilize={"old_output": draft, "tau": 0, "floor": 0, "algorithm": algorithm},
        ).result
        drafted = sum(result.redraft_drafted.values())
        decided = result.redraft_rows - result.redraft_wasted_rows - drafted
        fused = algorithm == "adaptive"
        assert result.redraft_passes - fused <= decided <= result.redraft_passes
        assert result.redraft_drafted["stale"] > 9
        assert result.redraft_host_ms >= 0


def test_eos_ids_of_the_request_end_the_answer(complete: Callable) -> None:
    model = echo("one two three")
    eos = model.tokenize(" two")
    result = complete(
        Worker(model, 4),
        prompt=chat(model),
        redraft_stabilize={"old_output": model.tokenize("one two three"), "eos": eos},
    ).result
    assert (result.content, result.stop_type) == ("one", "eos")


def test_a_draft_longer_than_max_tokens_stops_at_max_tokens(complete: Callable) -> None:
    model = echo("a b c d e f g h")
    result = complete(
        Worker(model, 4),
        prompt=chat(model),
        redraft_stabilize={
            "old_output": model.tokenize("a b c d e f g h"),
            "max_tokens": 5,
            "algorithm": "anchor",
        },
    ).result
    assert (result.tokens_predicted, result.stop_type, result.truncated) == (5, "limit", False)
    assert (result.redraft_passes, result.redraft_rows, result.redraft_wasted_rows) == (1, 4, 0)


def test_an_empty_draft_reports_like_any_other(complete: Callable) -> None:
    model = echo("a b")
    result = complete(Worker(model, 4), prompt=chat(model), redraft_stabilize={}).result
    assert (result.content, result.redraft_held_fraction, result.redraft_divergences) == ("a b", 0.0, 0)
    assert result.redraft_passes == result.redraft_rows == 3
    assert complete(Worker(model, 4), prompt=chat(model)).result.redraft_emitted is None


@pytest.mark.parametrize("stabilize", [None, {"old_output": [9] * 400}], ids=["plain", "redraft"])
def test_a_full_context_ends_the_answer_and_is_told(stabilize: object, complete: Callable) -> None:
    model = FakeModel(ctx=64, answer=None)
    model.is_end = lambda _: False
    worker = Worker(model, 4)
    for prompt, n_predict, room in ([9] * 63, -1, 1), ([9] * 40, 100, 24):
        result = complete(worker, prompt=prompt, n_predict=n_predict, redraft_stabilize=stabilize).result
        assert (result.tokens_predicted, result.stop_type, result.truncated) == (room, "limit", True)


def test_no_tokens_asked_for_fills_the_cache_only(complete: Callable) -> None:
    model = echo("a b")
    worker = Worker(model, 4)
    result = complete(worker, prompt=chat(model), n_predict=0).result
    assert (result.content, result.tokens_predicted, result.stop_type) == ("", 0, "limit")
    assert complete(worker, prompt=chat(model)).result.timings.prompt_n == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"prompt": ""}, "prompt: has no tokens", id="empty text"),
        pytest.param({"prompt": []}, "prompt: has no tokens", id="no tokens"),
        pytest.param(
            {"prompt": [5, 10**6]}, r"prompt\[1\]: 1000000 is above", id="token out of the vocabulary"
        ),
        pytest.param(
            {"prompt": "a", "temperature": 1, "redraft_stabilize": {}},
            "temperature: redraft_stabilize replays greedy",
            id="sampling with a draft",
        ),
        pytest.param({"prompt": "a", "id_slot": 2}, "id_slot: 2 is not one of the 2", id="no such slot"),
        pytest.param(
            {"prompt": "a", "redraft_stabilize": {"old_output": [1, 2, 999]}},
            r"redraft_stabilize.old_output\[2\]: 999",
            id="draft token out of the vocabulary",
        ),
        pytest.param(
            {"prompt": "a", "redraft_stabilize": {"eos": [999]}},
            r"redraft_stabilize.eos\[0\]: 999",
            id="eos out of the vocabulary",
        ),
    ],
)
def test_a_request_that_cannot_be_right_is_refused(
    body: dict[str, object], message: str, fake: FakeModel
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        job(fake, **body)


def test_a_prompt_must_leave_room_for_a_token(fake: FakeModel) -> None:
    assert job(fake, prompt=[9] * 511).limit == 1
    with pytest.raises(PromptTooLong, match="512 tokens do not fit into a context of 512"):
        job(fake, prompt=[9] * 512)


def test_a_text_that_cannot_fit_is_not_tokenized(fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a" * (512 * fake.longest_piece)
    monkeypatch.setattr(fake, "tokenize", lambda *_, **__: pytest.fail("tokenized"))
    with pytest.raises(PromptTooLong, match="prompt: at least 512 tokens do not fit into a context of 512"):
        job(fake, prompt=text)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.lists(st.integers(0, 2), max_size=6))
def test_the_shared_prefix_leaves_the_last_prompt_token(prompt: list[int], cache: list[int]) -> None:
    shared = job(FakeModel(), prompt=prompt).shared_prefix(cache)
    assert prompt[:shared] == cache[:shared]
    assert shared == len(prompt) - 1 or shared == len(cache) or prompt[shared] != cache[shared]
    assert job(FakeModel(), prompt=prompt, cache_prompt=False).shared_prefix(cache) == 0
