"""What docs/engine.md shows works as it shows it."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from engine.config import EngineConfig
from engine.wire import CompletionRequest

TEXT = (Path(__file__).parent.parent.parent / "docs" / "engine.md").read_text(encoding="utf-8")
HERE = "http://127.0.0.1:8080"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def url(launch: Callable, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("slots"))
    return launch("engine.main", "--fake-model", "--slot-save-path", folder).url


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_its_commands_are_answered(url: str) -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 8
    said = [
        subprocess.run(
            shlex.split(command.replace(HERE, url)), capture_output=True, text=True, timeout=60, check=True
        ).stdout
        for command in commands
    ]
    whole, streamed, date, schema, chat, *slots = said
    assert len(json.loads(whole)["completion_probabilities"]) == 8
    events = [json.loads(event.removeprefix("data: ")) for event in streamed.strip().split("\n\n")]
    assert [event["stop"] for event in events] == [False] * (len(events) - 1) + [True]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", json.loads(date)["content"])
    assert isinstance(json.loads(json.loads(schema)["content"])["count"], int)
    assert chat.endswith("data: [DONE]\n\n")
    assert '"total_tokens"' in chat
    assert ["n_saved" in slots[0], "n_restored" in slots[1], "n_erased" in slots[2]] == [True] * 3


def test_its_program_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("python")
    exec(program.replace(HERE, url), {})
    assert json.loads(capsys.readouterr().out)["name"] in ("red", "blue")


def test_every_route_is_there(url: str) -> None:
    for method, path in re.findall(r"(GET|POST) (/[a-z0-9/.\-]+)", TEXT):
        assert httpx.request(method, url + path.replace("/slots/", "/slots/0")).status_code in (200, 400), (
            path
        )


def as_written(default: object) -> str:
    if isinstance(default, float):
        return f"{default:g}"
    return {"None": "none", "": '""'}.get(str(default), str(default)).lower()


def test_its_defaults_are_the_defaults() -> None:
    defaults = {name: field.default for name, field in CompletionRequest.model_fields.items()}
    for name, value in EngineConfig().model_dump().items():
        defaults[f"--{name.replace('_', '-')}"] = value
    rows = re.findall(r"^\| `(.*?)` \| ([^|]+) \| [^|]*\|$", TEXT, re.MULTILINE)
    said = {
        name: value.strip("`")
        for names, values in rows
        for name, value in zip(names.split("`, `"), values.strip().split(", "), strict=True)
    }
    assert len(said) > 25
    assert said == {name: as_written(defaults[name]) for name in said}
