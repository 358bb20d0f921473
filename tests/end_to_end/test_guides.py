"""docs/ci.md, docs/ab-report.md and docs/troubleshooting.md say what is so."""

import ast
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bundles import Store
from judge import GatePolicy
from replay.cli.main import commands
from replay.cli.settings import FileSettings, read_settings

ROOT = Path(__file__).parent.parent.parent
TROUBLE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
GUIDES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("ci", "ab-report")}
FEWEST = 12
SHARE = 0.24
"""Characters, and share of the message, that a text of the code must have in common with it to make it."""


def literals(tree: ast.AST) -> Iterator[list[str]]:
    """The constant pieces of each text in a module; between two of them anything may stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [""]
            for part in node.values:
                if isinstance(part, ast.Constant):
                    pieces[-1] += str(part.value)
                else:
                    pieces.append("")
            yield pieces
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield [node.value]


@pytest.fixture(scope="module")
def said() -> list[list[str]]:
    """Every text of the product that is long enough to be a message, cut at its variable places."""
    modules = [
        path
        for name in ("bundles", "engine", "daemon", "judge", "replay")
        for path in (ROOT / name).rglob("*.py")
    ]
    found = [pieces for path in modules for pieces in literals(ast.parse(path.read_text(encoding="utf-8")))]
    return [pieces for pieces in found if sum(len(piece.strip()) for piece in pieces) >= FEWEST]


def is_said(message: str, texts: list[list[str]]) -> bool:
    """Whether one of the texts makes the message; where it ends in `...`, the beginning of one is enough."""
    whole = message.removesuffix("...").rstrip(" ,")
    fewest_shared = max(FEWEST, SHARE * len(whole))
    for pieces in texts:
        plain = [" ".join(piece.replace("`", "").split()) for piece in pieces]
        fewest = 1 if message.endswith("...") else len(plain)
        for heads in range(fewest, len(plain) + 1):
            head = plain[:heads]
            if sum(map(len, head)) >= fewest_shared and re.search(".*?".join(map(re.escape, head)), whole):
                return True
        if message.endswith("...") and len(whole) >= FEWEST and plain[0].startswith(whole):
            return True
    return False


MESSAGES = re.findall(r"^\| `(.+?)` \|", TROUBLE, re.MULTILINE)


def test_there_are_enough_troubles() -> None:
    assert len(MESSAGES) == len(set(MESSAGES)) == TROUBLE.count("\n| `") >= 30


@pytest.mark.parametrize("message", MESSAGES)
def test_every_message_is_one_that_redraft_says(message: str, said: list[list[str]]) -> None:
    assert is_said(message, said), message


def test_a_message_that_nothing_says_is_found_out(said: list[list[str]]) -> None:
    assert not is_said("the flux capacitor of run 7 is not charged: 1.2 of 1.21 gigawatts", said)


def shell(text: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


def commands_of(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in shell(text) if line.startswith("redraft ")]


@pytest.mark.parametrize("words", [w for text in GUIDES.values() for w in commands_of(text)], ids=" ".join)
def test_every_command_of_a_guide_is_one(words: list[str]) -> None:
    command, path = commands, []
    for word in words[1:]:
        if word not in getattr(command, "commands", {}):
            break
        command = command.commands[word]  # type: ignore[attr-defined]
        path.append(word)
    options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    used = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert path
    assert used <= options
    assert CliRunner().invoke(commands, [*path, "--help"]).exit_code == 0


@pytest.fixture(scope="module")
def daemon_url(launch: Callable[..., Any], fake_engine: str) -> str:
    return str(launch("daemon.main", "--engine", fake_engine, "--no-auth", health="/healthz").url)


def test_the_ab_guide_leads_to_its_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, daemon_url: str
) -> None:
    """Word for word, but on an engine that repeats its sources."""
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    (suite,) = re.findall(r"```toml\n(.*?)```", GUIDES["ab-report"], re.DOTALL)
    Path("sauna.toml").write_text(suite, encoding="utf-8")
    for line in shell(GUIDES["ab-report"]):
        words = shlex.split(line)
        if words[0] != "redraft":
            subprocess.run(words, check=True)
            continue
        served = ["--url", daemon_url] if words[1] == "run" else []
        done = CliRunner().invoke(commands, [*words[1:], *served])
        assert done.exit_code == 0, (line, done.output)
    for name in ("handbook.html", "sauna.html"):
        assert Path(name).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "handbook" in Path("handbook.md").read_text(encoding="utf-8")
    with Store.open(Path("redraft.duckdb")) as store:
        handbook = store.bundle("handbook")
    assert (len(handbook.units), sum(unit.canary for unit in handbook.units)) == (8, 7)
    assert "8 edits in 4 sections. Seven of them are canaries" in GUIDES["ab-report"]


def test_the_suite_of_the_ab_guide_is_one_without_a_problem(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", GUIDES["ab-report"], re.DOTALL)
    (tmp_path / "sauna.toml").write_text(block, encoding="utf-8")
    done = CliRunner().invoke(commands, ["suite", "check", str(tmp_path / "sauna.toml")])
    assert done.exit_code == 0, done.output


def test_the_settings_of_the_ci_guide_are_some(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", GUIDES["ci"], re.DOTALL)
    path = tmp_path / "redraft.toml"
    path.write_text(block, encoding="utf-8")
    assert read_settings(path)["store"] == tmp_path / "evaluation" / "redraft.duckdb"
    assert GatePolicy.from_toml(path).min_units == 8
    for name in FileSettings.model_fields:
        assert f"`{name}`" in GUIDES["ci"], name
