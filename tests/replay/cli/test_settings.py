from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from replay.cli.main import commands
from replay.cli.settings import FileSettings, read_settings, with_settings
from replay.errors import SettingsError

Redraft = Callable[..., Result]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a command named `run` takes its store, threads and arms to be."""
    monkeypatch.chdir(tmp_path)
    for name in ("REDRAFT_CONFIG", "REDRAFT_STORE"):
        monkeypatch.delenv(name, raising=False)

    @click.command("run")
    @click.option("--store", type=click.Path(path_type=Path), default=Path("default"), envvar="REDRAFT_STORE")
    @click.option("--threads", type=int)
    @click.option("--arm", "arms", multiple=True)
    def run(store: Path, threads: int | None, arms: tuple[str, ...]) -> None:
        click.echo(f"{store} {threads} {','.join(arms)}")

    def show(*arguments: str, name: str = "run") -> str:
        run.name = name
        result = CliRunner().invoke(with_settings(run), arguments, catch_exceptions=False)
        return result.stdout.strip()

    return show


def test_flags_beat_environment_beats_file_beats_default(
    shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown() == "default None"
    Path("redraft.toml").write_text('store = "file"\nthreads = 3\narms = ["redraft", "anchor"]\n')
    assert shown() == "file 3 redraft,anchor"
    monkeypatch.setenv("REDRAFT_STORE", "environment")
    assert shown() == "environment 3 redraft,anchor"
    assert shown("--store", "flag", "--arm", "lookup") == "flag 3 lookup"


def test_a_file_is_named_by_flag_or_environment_and_its_paths_are_its_own(
    shown: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("redraft.toml").write_text("threads = 1\n")
    Path("ci").mkdir()
    Path("ci/other.toml").write_text('store = "s.duckdb"\n')
    assert shown("--config", "ci/other.toml") == "ci/s.duckdb None"
    monkeypatch.setenv("REDRAFT_CONFIG", "ci/other.toml")
    assert shown() == "ci/s.duckdb None"
    Path("ci/other.toml").write_text('store = "/tmp/s.duckdb"\n')
    assert shown() == "/tmp/s.duckdb None"


def test_settings_of_replays_are_for_run_and_replay_only(shown: Callable[..., str]) -> None:
    Path("redraft.toml").write_text('arms = ["redraft"]\nthreads = 2\n')
    assert shown(name="bench") == "default 2"
    assert shown(name="replay") == "default 2 redraft"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stor = 'x'", "redraft.toml: 'stor': unknown key; did you mean store? known are store, model, "),
        ("x = 1", "redraft.toml: 'x': unknown key; known are store, "),
        ("threads = 0", "redraft.toml: threads: Input should be greater than or equal to 1"),
        ("threads = '2'", "redraft.toml: threads: Input should be a valid integer"),
        ("arms = 'redraft'", "redraft.toml: arms: Input should be a valid list"),
        ("arms = [1]", "redraft.toml: arms.0: Input should be a valid string"),
        ("kv = 'q8'", "redraft.toml: kv: Input should be 'bf16' or 'f16'"),
        ("gate = 1", "redraft.toml: gate: Input should be a valid dictionary"),
        ("= 1", "redraft.toml: not TOML: "),
    ],
)
@pytest.mark.parametrize("command", [("run", "builtin:smoke"), ("bundles",), ("import", "x.jsonl")])
def test_a_file_that_cannot_be_meant_is_one_line_from_every_command(
    redraft: Redraft, command: tuple[str, ...], text: str, said: str
) -> None:
    Path("redraft.toml").write_text(text)
    result = redraft(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"redraft: {said}")
    assert result.stderr.count("\n") == 1


@given(document=st.binary(max_size=200))
def test_any_bytes_are_settings_or_refused(document: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(document)
    said = ""
    try:
        read_settings(path)
    except SettingsError as error:
        said = str(error)
    assert not said or said.startswith(f"{path}: ")


def test_every_setting_is_an_option_of_run(redraft: Redraft) -> None:
    known = {param.name for param in commands.commands["run"].params}
    assert FileSettings.model_fields.keys() - {"gate"} <= known


def test_a_command_without_a_setting_reads_no_file(redraft: Redraft) -> None:
    Path("redraft.toml").write_text("nonsense = 1")
    assert redraft("suite", "new").exit_code == 0


def test_what_the_file_sets_does_not_clash_with_url_and_resume(redraft: Redraft) -> None:
    Path("redraft.toml").write_text('model = "m.gguf"\narms = ["anchor"]\nrepeats = 3\n')
    gone = ("--url", "http://127.0.0.1:1")
    assert "no daemon answers" in redraft("run", "builtin:smoke", *gone).stderr
    clash = redraft("run", "builtin:smoke", *gone, "--threads", "2")
    assert clash.exit_code == 2
    assert "leave --threads out" in clash.stderr
