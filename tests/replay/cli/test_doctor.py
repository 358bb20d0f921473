import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engine.wire import EngineFacts
from replay.cli.main import commands
from replay.doctor import Check, Diagnosis

FACTS = EngineFacts(
    version="0", model_fingerprint="f", quantisation="Q8_0", kv_type="bf16", threads=2, deterministic=True,
    algorithms=[],
)  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, diagnosis: Diagnosis, *arguments: str) -> tuple[Result, list]:
    asked: list = []

    def diagnose(options: object, store: Path, *_: object) -> Diagnosis:
        asked.append((options, store))
        return diagnosis

    monkeypatch.setattr("replay.cli.doctor.diagnose", diagnose)
    return CliRunner().invoke(commands, ["doctor", *arguments]), asked


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("warn", 0), ("fail", 4)])
def test_only_what_fails_fails(state: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = Check("python", "ok", "3"), Check("disk", state, "1 GB\nfree", "free some space")  # type: ignore[arg-type]
    result, _ = run(monkeypatch, Diagnosis(checks, None))
    assert result.exit_code == code
    assert result.stdout.splitlines()[-1].split() == [
        "disk",
        state,
        "1",
        "GB",
        "free",
        "free",
        "some",
        "space",
    ]


def test_json_has_the_checks_and_what_the_engine_says(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Check("disk", "fail", "1 GB", "free some space")
    result, _ = run(monkeypatch, Diagnosis((check,), FACTS), "--json")
    assert json.loads(result.stdout) == {
        "works": False,
        "checks": [{"name": "disk", "state": "fail", "found": "1 GB", "advice": "free some space"}],
        "engine": FACTS.model_dump(),
    }
    assert result.exit_code == 4


def test_the_engine_is_looked_at_with_the_options_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--gpu-layers", "7", "--threads", "3", "--store", "other.duckdb"]
    _, asked = run(monkeypatch, Diagnosis((), None), *arguments)
    ((options, store),) = asked
    assert (options.gpu_layers, options.threads, options.model, store) == (7, 3, None, Path("other.duckdb"))
