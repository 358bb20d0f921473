"""What the documents show works as they show it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from bundles import read_suite
from daemon.wire import DeltaEvent, DoneEvent, SseDecoder, parse_event
from judge import GatePolicy

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_policy_of_the_readme_is_one(tmp_path: Path) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text(next(block for block in blocks("toml") if "[gate]" in block), encoding="utf-8")
    assert GatePolicy.from_toml(path).arms == ("redraft",)


def test_the_suite_of_the_readme_is_one(tmp_path: Path) -> None:
    path = tmp_path / "ferry.toml"
    path.write_text(next(block for block in blocks("toml") if "[[units]]" in block), encoding="utf-8")
    suite = read_suite(path, strict=True)
    assert [unit.unit_id for unit in suite.bundle.units] == ["fare"]


def test_every_command_of_the_readme_exists(redraft: Any) -> None:
    for command in set(re.findall(r"`redraft ([a-z]+)", README)):
        assert redraft(command, "--help").returncode == 0, command


def test_the_requests_of_the_readme_are_answered(launch: Callable[..., Any], fake_engine: str) -> None:
    daemon = launch("daemon.main", "--engine", fake_engine, "--slots", "2", "--no-auth", health="/healthz")
    requests = re.findall(r"curl .*?-X (\w+) http://127.0.0.1:8787(\S+) --json '(.*?)'", README, re.DOTALL)
    assert [method for method, _, _ in requests] == ["PUT", "POST", "POST"]
    answers = [
        httpx.request(method, daemon.url + path, json=json.loads(body)) for method, path, body in requests
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    events = [parse_event(name, data) for name, data in SseDecoder().feed(answers[2].content)]
    deltas = [event for event in events if isinstance(event, DeltaEvent)]
    assert "14 euros" in "".join(delta.text for delta in deltas)
    assert {delta.kind for delta in deltas} == {"held", "new"}
    assert isinstance(events[-1], DoneEvent)
