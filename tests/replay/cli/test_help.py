"""Help that helps: every command shows an example, and every example is a command line that is understood."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from replay.cli.main import commands


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name)


LEAVES = list(leaves(commands))


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_shows_an_example_that_it_understands(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(commands, [*path, "--help"])
    assert shown.exit_code == 0
    examples = re.findall(r"^ +(redraft .*)$", shown.stdout.partition("For example:")[2], re.MULTILINE)
    assert examples
    for example in examples:
        words = shlex.split(example)[1:]
        command: click.Command = commands
        while isinstance(command, click.Group) and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        parameters, _, _ = command.make_parser(click.Context(command)).parse_args(words)
        required = [param.name for param in command.params if param.required]
        assert all(parameters.get(name) for name in required), example
