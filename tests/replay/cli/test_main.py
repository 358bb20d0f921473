import subprocess
import sys

import pytest
from click.testing import CliRunner

from replay.cli.main import commands

NAMES = ["run", "serve", "import", "bundles", "replay", "judge", "report", "gate"]


@pytest.mark.parametrize("name", [*NAMES, "model"])
def test_every_command_explains_itself(name: str) -> None:
    result = CliRunner().invoke(commands, [name, "--help"])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: commands {name}")


def test_no_command_shows_the_commands() -> None:
    result = CliRunner().invoke(commands, [])
    assert result.exit_code == 2
    assert all(name in result.stderr for name in NAMES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "rnu"),
        (["run", "--wat"], "--wat"),
        (["run", "x", "--repeats", "0"], "--repeats"),
        (["run", "x", "--max-tokens", "9999999"], "--max-tokens"),
        (["run", "x", "--seed", "x"], "--seed"),
    ],
)
def test_a_bad_word_is_one_line_that_names_it(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_closed_pipe_ends_quietly() -> None:
    command = f"{sys.executable} -m replay.cli.main --help | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


def test_version_is_the_distribution_s() -> None:
    assert "0." in CliRunner().invoke(commands, ["--version"]).stdout
