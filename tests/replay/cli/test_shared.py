from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bundles import EmptySuite, StoreError, StoreLocked, SuiteError
from judge import PolicyError
from replay.cli.shared import Commands, open_store, verbose_option
from replay.errors import NothingToRun, ServiceDown, SettingsError


def failing(error: BaseException) -> click.Group:
    @click.group(cls=Commands)
    @verbose_option
    def group() -> None: ...

    @group.command()
    def fail() -> None:
        raise error

    return group


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SettingsError("bad flag"), 2, "redraft: bad flag"),
        (ServiceDown("gone"), 4, "redraft: gone"),
        (NothingToRun("nothing to run"), 5, "redraft: nothing to run"),
        (EmptySuite("no unit"), 5, "redraft: no unit"),
        (SuiteError("s.jsonl:3: no"), 2, "redraft: s.jsonl:3: no"),
        (PolicyError("bad key"), 2, "redraft: bad key"),
        (StoreError("cannot write"), 4, "redraft: cannot write"),
        (StoreLocked("another process"), 4, "redraft: another process"),
        (PermissionError(13, "Permission denied", "r.html"), 4, "redraft: r.html: Permission denied"),
        (click.UsageError("no such thing"), 2, "redraft: no such thing"),
        (ValueError("two\nlines \x1b[2J"), 4, "fault of redraft: ValueError: two lines \\x1b[2J"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(error: BaseException, code: int, said: str) -> None:
    result = CliRunner().invoke(failing(error), ["fail"])
    assert result.exit_code == code
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == bool(said)
    assert result.stdout == ""


def test_exit_codes_of_commands_are_kept() -> None:
    result = CliRunner().invoke(failing(click.exceptions.Exit(3)), ["fail"])
    assert (result.exit_code, result.stderr) == (3, "")


def test_a_missing_store_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such store"):
        open_store(tmp_path / "none.duckdb")
    assert list(tmp_path.iterdir()) == []
    with open_store(tmp_path / "new.duckdb", create=True) as store:
        assert store.bundles() == []
