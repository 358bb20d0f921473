from collections.abc import Callable

import pytest

from engine.adaptive import AdaptiveReplay
from engine.anchor import AnchorReplay
from engine.cost import Calibration
from engine.draft_model import DraftModel
from engine.errors import InvalidRequest
from engine.fake_model import FakeModel
from engine.stabilize import Drafting, check, decoding_for, draft_sources, held_fraction, most_rows
from engine.wire import Stabilize
from engine.worker import Worker

ALONE = Drafting(Calibration(31))
WITH_MODEL = Drafting(Calibration(31), DraftModel(FakeModel(seed=1), 1.0))


def test_the_algorithm_is_the_one_asked_for() -> None:
    def kind(request: Stabilize | None) -> type:
        return type(decoding_for(request, ALONE, [1], 9, 0, lambda _: False))

    assert kind(Stabilize(algorithm="anchor")) is AnchorReplay
    assert kind(Stabilize()) is kind(None) is AdaptiveReplay


def test_drafts_come_from_the_stale_answer_and_lookup_if_nothing_else_is_said() -> None:
    assert draft_sources(Stabilize(old_output=[1])) == ["stale", "lookup"]
    assert draft_sources(Stabilize()) == []
    assert draft_sources(Stabilize(old_output=[1], draft_sources=[])) == []
    assert draft_sources(Stabilize(draft_sources=["lookup"])) == ["lookup"]


def test_exact_windows_are_no_wider_than_is_exact() -> None:
    assert most_rows(Stabilize(tau=0, floor=0), ALONE, 128) == 31
    assert most_rows(Stabilize(rule="exact"), ALONE, 128) == 31
    assert most_rows(None, ALONE, 16) == 16
    assert most_rows(Stabilize(), ALONE, 128) == 128


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draft_sources": ["stale", "model"]}, "draft_sources: this engine has no draft model"),
        ({"algorithm": "anchor", "draft_sources": ["lookup"]}, "draft_sources: anchor drafts from the old"),
    ],
)
def test_what_cannot_be_drafted_from_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        check(Stabilize.model_validate(options), ALONE)


def test_what_can_be_drafted_from_is_accepted() -> None:
    check(Stabilize(draft_sources=["stale", "lookup", "model"]), WITH_MODEL)
    check(Stabilize(algorithm="anchor", draft_sources=["stale"]), ALONE)
    check(Stabilize(algorithm="anchor"), ALONE)


@pytest.mark.parametrize(
    ("sources", "fraction"), [([], 0.0), ([-1, -1], 0.0), ([0, 1, -1, 2], 0.75)], ids=["none", "new", "mixed"]
)
def test_held_fraction(sources: list[int], fraction: float) -> None:
    assert held_fraction(sources) == fraction


@pytest.mark.parametrize("drafting", [ALONE, WITH_MODEL], ids=["alone", "with a draft model"])
def test_a_worker_refuses_it_before_it_queues(drafting: Drafting, submit: Callable) -> None:
    worker = Worker(FakeModel(), 1, drafting)
    stabilize = {"algorithm": "anchor", "draft_sources": ["model"]}
    with pytest.raises(InvalidRequest, match=r"redraft_stabilize\.draft_sources: "):
        submit(worker, prompt=[1], redraft_stabilize=stabilize)
    submit(worker, prompt=[1])
