from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from engine.fake_model import FakeModel

PROMPT = list(range(1, 41))


def answer(client: httpx.Client, prompt: list[int], **body: object) -> dict:
    body = {"prompt": prompt, "n_predict": 12, "return_tokens": True, "id_slot": 0, **body}
    answer: dict = client.post("/completion", json=body).json()
    return answer


@pytest.fixture(scope="module")
def saving_engine(launch: Callable, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("slots")
    return launch("engine.main", "--fake-model", "--slots", "2", "--slot-save-path", str(folder)).url, folder


@pytest.fixture
def saving(saving_engine: tuple[str, Path]) -> httpx.Client:
    with httpx.Client(base_url=saving_engine[0], timeout=20) as client:
        yield client


def test_slots_tell_how_much_they_hold_and_nothing_of_it(client: httpx.Client) -> None:
    marker = "KIWI-1 and PLUM-2"
    result = answer(client, client.post("/tokenize", json={"content": marker}).json()["tokens"])
    told = client.get("/slots")
    first = told.json()[0]
    assert first["n_cached"] == result["tokens_cached"]
    assert (first["id"], first["n_ctx"], first["is_processing"]) == (0, 4096, False)
    assert first["id_task"] > 0
    assert "KIWI" not in told.text


def test_no_free_slot_is_503_where_that_is_asked(in_process: Callable, error: Callable) -> None:
    engine = in_process(FakeModel())
    path = "/slots?fail_on_no_slot=1"
    assert engine.ask(("GET", path, {}))[0].status_code == 200
    engine.ready.worker.slots[0].generation = object()
    busy, told = engine.ask(("GET", path, {}), ("GET", "/slots", {}))
    engine.ready.worker.slots[0].generation = None
    assert error(busy) == (503, "unavailable_error", "no slot is free")
    assert told.json()[0]["is_processing"]


def test_a_saved_slot_is_restored_into_another(saving: httpx.Client, saving_engine: tuple[str, Path]) -> None:
    cold = answer(saving, PROMPT)
    saved = saving.post("/slots/0?action=save", json={"filename": "plan.slot"}).json()
    size = (saving_engine[1] / "plan.slot").stat().st_size
    assert (saved["n_saved"], saved["n_written"], saved["filename"]) == (
        cold["tokens_cached"],
        size,
        "plan.slot",
    )
    saving.post("/slots/0?action=erase")
    restored = saving.post("/slots/1?action=restore", json={"filename": "plan.slot"}).json()
    assert (restored["n_restored"], restored["n_read"], restored["id_slot"]) == (saved["n_saved"], size, 1)
    warm = answer(saving, PROMPT, id_slot=1)
    assert (warm["tokens"], warm["timings"]["cache_n"]) == (cold["tokens"], len(PROMPT) - 1)


@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_a_file_that_does_not_fit_is_400_and_changes_nothing(
    damage: str, saving: httpx.Client, saving_engine: tuple[str, Path], error: Callable
) -> None:
    cold = answer(saving, PROMPT)
    saving.post("/slots/0?action=save", json={"filename": "a"})
    content = bytearray((saving_engine[1] / "a").read_bytes())
    content[-40] ^= 1
    damaged = {"cut": content[:-9], "flipped": content, "other": b"something else"}[damage]
    (saving_engine[1] / "damaged").write_bytes(damaged)
    status, kind, message = error(saving.post("/slots/0?action=restore", json={"filename": "damaged"}))
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith("filename: damaged: the file ")
    warm = answer(saving, PROMPT)
    assert (warm["tokens"], warm["timings"]["cache_n"]) == (cold["tokens"], len(PROMPT) - 1)


@pytest.mark.parametrize(
    "name", ["../a", "/etc/passwd", "a/b", "..", ".", "", ".hidden", "a\nb", "a\0b", "é" * 101, "folder"]
)
@pytest.mark.parametrize("action", ["save", "restore"])
def test_only_plain_file_names_are_taken(
    action: str, name: str, saving: httpx.Client, saving_engine: tuple[str, Path], error: Callable
) -> None:
    (saving_engine[1] / "folder").mkdir(exist_ok=True)
    status, _, message = error(saving.post(f"/slots/0?action={action}", json={"filename": name}))
    assert (status, message.partition(":")[0]) == (400, "filename")
    assert not list(saving_engine[1].parent.glob("a*"))


def test_a_file_that_is_not_there_and_a_missing_name_are_400(saving: httpx.Client, error: Callable) -> None:
    assert "n_erased" in saving.post("/slots/0?action=erase", json={}).json()
    for body in ({"filename": "nowhere"}, {}, None):
        status, _, message = error(saving.post("/slots/0?action=restore", json=body))
        assert (status, message.partition(":")[0]) == (400, "filename")


def test_without_a_folder_nothing_is_saved(client: httpx.Client, error: Callable) -> None:
    for action in ("save", "restore"):
        status, kind, message = error(client.post(f"/slots/0?action={action}", json={"filename": "a"}))
        assert (status, kind) == (501, "not_supported_error")
        assert "--slot-save-path" in message


def test_a_state_larger_than_the_context_is_400(
    in_process: Callable, error: Callable, tmp_path: Path
) -> None:
    large, small = (in_process(FakeModel(ctx=ctx, answer=None), tmp_path) for ctx in (64, 32))
    large.ask(
        ("POST", "/completion", {"json": {"prompt": PROMPT, "n_predict": 5}}),
        ("POST", "/slots/0?action=save", {"json": {"filename": "a"}}),
    )
    (response,) = small.ask(("POST", "/slots/0?action=restore", {"json": {"filename": "a"}}))
    assert error(response)[2] == "filename: a: 44 tokens do not fit a context of 32"


def test_a_disk_that_is_full_is_said(
    in_process: Callable, error: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engine.state_file.write", full)
    engine = in_process(FakeModel(), tmp_path)
    (response,) = engine.ask(("POST", "/slots/0?action=save", {"json": {"filename": "a"}}))
    assert error(response) == (500, "server_error", "filename: a cannot be written: No space left on device")
