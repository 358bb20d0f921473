import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bundles import Change, Journal, Recording, SectionState, Source, Store
from replay.cli.main import commands

Invoke = Callable[..., Result]
ENTRY = {"id": "u1", "question": "q", "context_old": "a", "context_new": "b"}
PROSE = "The service keeps its settings in one file, and reads it again whenever the file has changed. " * 3


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(ENTRY) + "\n{}\n")
    return path


@pytest.fixture
def invoke(tmp_path: Path) -> Invoke:
    def run(*arguments: str | Path) -> Result:
        return CliRunner().invoke(commands, [*map(str, arguments), "--store", str(tmp_path / "s.duckdb")])

    return run


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "guides"
    who = ["-c", "user.name=A", "-c", "user.email=a@x"]
    subprocess.run(["git", "init", "--quiet", path], check=True)
    for rows in (500, 600, 700):
        (path / "limits.md").write_text(f"# Limits\n\nAt most {rows} rows are kept. {PROSE}\n")
        subprocess.run(["git", "-C", path, "add", "."], check=True)
        subprocess.run(["git", "-C", path, *who, "commit", "--quiet", "-m", "c"], check=True)
    return path


class TestImport:
    def test_names_bundle_units_and_what_was_skipped(self, suite: Path, invoke: Invoke) -> None:
        first = invoke("import", suite)
        assert first.exit_code == 0
        assert "mine: 1 unit" in first.stdout
        assert "mine.jsonl:2" in first.stderr
        assert "was there already, as mine" in invoke("import", suite).stdout
        listed = invoke("bundles", "--json")
        assert [(info["name"], info["units"]) for info in json.loads(listed.stdout)] == [("mine", 1)]

    def test_names_facts_that_would_judge_wrongly(self, tmp_path: Path, invoke: Invoke) -> None:
        path = tmp_path / "wrong.jsonl"
        path.write_text(json.dumps({**ENTRY, "expect_new": ["c"], "forbid_new": ["b"]}) + "\n")
        result = invoke("import", path)
        assert result.exit_code == 0
        assert [line.partition(", fact ")[0] for line in result.stderr.splitlines()] == ["unit u1", "unit u1"]

    def test_a_broken_unit_is_refused_if_strict(self, suite: Path, invoke: Invoke) -> None:
        for arguments in (("import", suite, "--strict"), ("import", "--strict", suite)):
            result = invoke(*arguments)
            assert result.exit_code == 2
            assert "mine.jsonl:2" in result.stderr

    def test_what_was_left_out_is_cut_short(self, tmp_path: Path, invoke: Invoke) -> None:
        path = tmp_path / "mine.jsonl"
        path.write_text(json.dumps(ENTRY) + "\n{}" * 70)
        lines = invoke("import", path).stderr.splitlines()
        assert len(lines) == 52
        assert lines[-2:] == ["... and 20 more", "1 imported, 70 skipped"]

    def test_built_in_suites_go_by_name(self, invoke: Invoke) -> None:
        assert "smoke: 8 units" in invoke("import", "builtin:smoke").stdout

    def test_several_sources_are_each_taken_as_what_they_are(
        self, suite: Path, repository: Path, invoke: Invoke, tmp_path: Path
    ) -> None:
        assert invoke("import", suite, repository).exit_code == 0
        for shape in ("arrow", "parquet", "loom", "suite"):
            target = tmp_path / ("x.json" if shape == "suite" else f"x-{shape}")
            assert invoke("export", "guides", target, "--format", shape).exit_code == 0
            assert "2 units (was there already, as guides)" in invoke("import", target).stdout
        chat = tmp_path / "log.jsonl"
        messages = [{"role": "user", "content": f"Sum up:\n\n{PROSE}"}]
        lines = [{"messages": messages, "response": "a"}]
        lines.append({"messages": [{"role": "user", "content": f"Sum up:\n\n{PROSE}."}], "response": "b"})
        chat.write_text("\n".join(map(json.dumps, lines)))
        assert "log: 1 unit" in invoke("import", chat).stdout
        assert "log: 1 unit" in invoke("import", "chat", chat).stdout
        assert (
            "other: 2 units (was there already, as guides)"
            in invoke("import", "loom", tmp_path / "x-loom", "--name", "other").stdout
        )

    def test_a_journal_is_imported_and_grows(self, tmp_path: Path, invoke: Invoke) -> None:
        def record(revision: int, text: str) -> None:
            with Journal.open(tmp_path / "journal") as journal:
                state = SectionState("Sum up.", (Source("plan", text),), "Was.")
                kind: Any = "opened" if revision == 1 else "edited"
                change = Change("acme/plan/when", kind, revision, "2025-01-02T03:04:05Z", state, edited=False)
                Recording.of(journal).submit(change).result()

        record(1, "On Friday.")
        first = invoke("import", tmp_path / "journal")
        assert first.exit_code == 0, first.stderr
        assert "journal: 0 units" in first.stdout
        record(2, "On Monday.")
        assert invoke("import", tmp_path / "journal").exit_code == 0
        with Store.open(tmp_path / "s.duckdb") as store:
            (info,) = store.bundles()
            assert len(store.bundle(info.bundle_id).events) == 2
        result = invoke("export", "journal", tmp_path / "x.json")
        assert result.exit_code == 2
        assert "has no unit" in result.stderr
        assert invoke("export", "journal", tmp_path / "x").exit_code == 0

    def test_a_kind_may_be_given_and_must_be_right(self, suite: Path, invoke: Invoke, tmp_path: Path) -> None:
        assert invoke("import", suite, "--as", "suite").exit_code == 0
        result = invoke("import", suite, "--as", "chat")
        assert result.exit_code == 5
        assert "no usable unit" in result.stderr
        for name in ("nix.toml", "nix", tmp_path):
            result = invoke("import", name)
            assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
            assert "o such file" in result.stderr or "name what to import" in result.stderr
        assert invoke("import").exit_code == 2

    def test_git_takes_what_its_options_say(self, repository: Path, invoke: Invoke) -> None:
        found = invoke("import", "git", repository, "--path", "*.md", "--name", "limits")
        assert "limits: 2 units" in found.stdout
        assert found.stderr == "2 imported, 1 skipped because: 1 document added\n"
        assert "guides: 1 unit" in invoke("import", "git", repository, "--limit", "1").stdout
        assert "guides: 1 unit" in invoke("import", "git", repository, "--rev", "HEAD~1").stdout
        for options in (["--path", "*.rst"], ["--min-words", "300"], ["--since", "2099-01-01"]):
            assert invoke("import", "git", repository, *options).exit_code == 5
        for options in (["--rev", "nix"], ["--since", "yesterday"], ["--max-change", "2"]):
            assert invoke("import", "git", repository, *options).exit_code == 2


class TestExport:
    def test_the_target_says_the_format(self, suite: Path, invoke: Invoke, tmp_path: Path) -> None:
        invoke("import", suite)
        assert "(suite)" in invoke("export", "mine", tmp_path / "x.json").stdout
        assert "(arrow)" in invoke("export", "mine", tmp_path / "x").stdout

    def test_nothing_but_an_earlier_export_is_replaced(
        self, suite: Path, invoke: Invoke, tmp_path: Path
    ) -> None:
        invoke("import", suite)
        (tmp_path / "x").mkdir()
        result = invoke("export", "mine", tmp_path / "x")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "is there already and no earlier export" in result.stderr
        assert invoke("export", "mine", tmp_path / "y").exit_code == 0
        assert invoke("export", "mine", tmp_path / "y").exit_code == 0
        assert invoke("export", "mine", tmp_path / "z" / "y").exit_code == 2

    def test_an_unknown_bundle_is_said(self, suite: Path, invoke: Invoke, tmp_path: Path) -> None:
        invoke("import", suite)
        result = invoke("export", "nix", tmp_path / "x")
        assert (result.exit_code, "no bundle 'nix'" in result.stderr) == (2, True)


def test_bundles_of_no_store_is_an_error(tmp_path: Path) -> None:
    for arguments in (["bundles"], ["export", "x", "y"], ["bundles", "verify"]):
        result = CliRunner().invoke(commands, [*arguments, "--store", str(tmp_path / "none")])
        assert (result.exit_code, result.stdout) == (2, "")
        assert "no such store" in result.stderr
