import json
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bundles import Store
from replay.bench import running
from replay.bench.measuring import Measured, Plan, measure
from replay.bench.result import BenchResult
from replay.stack import Stack

Redraft = Callable[..., Result]
UNIT = {"question": "Who owns the launch?", "context_old": "Bo owns it.", "context_new": "Ava owns it."}


@pytest.fixture
def suite(tmp_path: Path) -> str:
    """Two units, in the folder that the command runs in."""
    lines = [json.dumps({"id": name, **UNIT}) for name in ("a", "b")]
    (tmp_path / "two.jsonl").write_text("\n".join(lines))
    return "two.jsonl"


@pytest.fixture
def _engine(monkeypatch: pytest.MonkeyPatch, live: Stack) -> None:
    monkeypatch.setattr(running, "serving", lambda *given: nullcontext(live))


@pytest.mark.usefixtures("_engine")
class TestMeasuring:
    def test_json_is_the_only_thing_on_stdout_and_the_files_are_written(
        self, redraft: Redraft, suite: str
    ) -> None:
        asked = ("bench", "--suite", suite, "--filter", "b", "--arm", "anchor", "--json")
        done = redraft(*asked, "--output", "b.json", "--picture", "b.svg")
        assert done.exit_code == 0
        assert done.stdout == Path("b.json").read_text() + "\n"
        assert Path("b.svg").read_text().startswith("<svg ")
        assert "written: b.svg" in done.stderr
        result = BenchResult.model_validate_json(done.stdout)
        assert list(result.arms) == ["plain", "control", "anchor"]
        assert [unit.unit_id for unit in result.per_unit] == ["b"]

    def test_ctrl_c_shows_what_was_measured(
        self, redraft: Redraft, suite: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*given: Any) -> Iterator[Measured]:
            with closing(measure(*given)) as units:
                yield next(units)
            raise KeyboardInterrupt

        monkeypatch.setattr(running, "measure", interrupted)
        done = redraft("bench", "--suite", suite, "--arm", "redraft", "--output", "b.json")
        assert done.exit_code == 130
        assert "stopped after 1 of 2 units" in done.stderr
        assert "bench of two.jsonl: 1 of 2 units, 5 repeats" in done.stdout
        assert "same tokens" in done.stdout
        assert BenchResult.model_validate_json(Path("b.json").read_text()).units == 1

    def test_a_bundle_of_the_store_is_a_suite_too(
        self, redraft: Redraft, make: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        planned: list[Plan] = []

        def interrupted(plan: Plan, *given: Any) -> Iterator[Measured]:
            planned.append(plan)
            yield from ()
            raise KeyboardInterrupt

        monkeypatch.setattr(running, "measure", interrupted)
        with Store.open(Path("redraft.duckdb")) as store:
            store.add_bundle(make.bundle([make.unit("stored")], name="recorded"))
        done = redraft("bench", "--suite", "recorded", "--repeats", "6", "--max-tokens", "7")
        assert (done.exit_code, done.stdout) == (130, "")
        assert [unit.unit_id for unit in planned[0].units] == ["stored"]
        assert (planned[0].repeats, planned[0].max_tokens) == (6, 7)
        unknown = redraft("bench", "--suite", "other")
        assert unknown.exit_code == 2
        assert "other: no such file" in unknown.stderr

    def test_a_unit_that_fails_is_named_and_the_exit_code_says_so(self, redraft: Redraft) -> None:
        long = {**UNIT, "id": "long", "context_new": "word " * 9000}
        Path("long.jsonl").write_text(json.dumps(long))
        done = redraft("bench", "--suite", "long.jsonl")
        assert done.exit_code == 4
        assert "failed: unit long in plain" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--filter", "zzz"], 5, "'zzz'"),
        (["--suite", "empty.jsonl"], 5, "empty.jsonl"),
        (["--suite", "nix.jsonl"], 2, "nix.jsonl"),
        (["--suite", "nix"], 2, "nix: no such file"),
        (["--suite", "builtin:nix"], 2, "there is builtin:"),
        (["--arm", "fast"], 2, "arm 'fast'"),
        (["--repeats", "4"], 2, "4"),
        (["--output", "no/such/folder.json"], 2, "no/such/folder.json"),
        (["--picture", "no/such/folder.svg"], 2, "no/such/folder.svg"),
        (["--model", "none.gguf"], 2, "none.gguf"),
    ],
)
def test_bad_input_is_one_line_and_the_right_code(
    redraft: Redraft, arguments: list[str], code: int, said: str
) -> None:
    Path("empty.jsonl").write_text("")
    done = redraft("bench", *arguments)
    assert done.exit_code == code
    assert said in done.stderr.splitlines()[-1]
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_suite_is_not_written_over(redraft: Redraft, suite: str) -> None:
    done = redraft("bench", "--suite", suite, "--output", suite)
    assert done.exit_code == 2
    assert "name another file" in done.stderr
