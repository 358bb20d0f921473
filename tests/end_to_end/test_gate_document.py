"""What docs/gate.md shows works as it shows it."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from click.testing import CliRunner

from judge import GatePolicy
from judge.faults import FAULT_KINDS
from judge.gate import EXIT_CODES
from judge.harmless import HARMLESS_KINDS
from judge.policy import Metric, Requirement
from judge.significance import RULINGS, rule
from replay.cli.main import commands

TEXT = (Path(__file__).parent.parent.parent / "docs" / "gate.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> GatePolicy:
    path = tmp_path_factory.mktemp("policy") / "redraft.toml"
    (block,) = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    path.write_text(block, encoding="utf-8")
    return GatePolicy.from_toml(path)


def test_the_policy_shown_is_one_and_shows_every_key(policy: GatePolicy) -> None:
    default = GatePolicy()
    shown = TEXT.split("```toml")[1].split("```")[0]
    for entry in fields(GatePolicy):
        assert re.search(rf"^{entry.name} = ", shown, re.MULTILINE), entry.name
        assert f"| `{entry.name}` |" in TEXT, entry.name
    assert policy.arms == ("redraft",)
    assert (default.confidence, default.min_units, default.canaries) == (0.95, 1, "all")
    assert default.limits == {"critical": 0, "supporting": 0}


def test_every_metric_requirement_verdict_and_kind_is_named() -> None:
    for name in (*get_args(Metric), *get_args(Requirement)):
        assert f"`{name}`" in TEXT or f'"{name}"' in TEXT, name
    for verdict, code in EXIT_CODES.items():
        assert f"| {code} | `{verdict}` |" in TEXT
    for kind in (*FAULT_KINDS, *HARMLESS_KINDS):
        assert f"| {kind.replace('_', ' ')} |" in TEXT


def test_the_sessions_that_a_margin_takes_are_right() -> None:
    for margin, sessions in ((0.05, 59), (0.02, 149)):
        ruled = rule(0, 0, np.array([sessions - 1, sessions]), margin, 0.95) < RULINGS.index("undecided")
        assert ruled.tolist() == [False, True]
    assert "a margin of 0.05 at 0.95 takes 59 sessions, 0.02 takes 149" in " ".join(TEXT.split())


def test_every_command_and_flag_exists() -> None:
    helps = {
        name: CliRunner().invoke(commands, [*name.split(), "--help"]).stdout
        for name in ("gate", "power", "baseline write", "baseline check", "run")
    }
    for command in re.findall(r"^redraft (.+)$", TEXT, re.MULTILINE):
        name = next(name for name in helps if command.startswith(name))
        assert all(flag in helps[name] for flag in re.findall(r"--\w+", command))
    for name, flag in (
        ("gate", "--strict"), ("gate", "--exit-zero"), ("gate", "--across"), ("baseline check", "--across"),
        ("baseline write", "--force"), ("power", "--json"), ("power", "--svg"), ("power", "--html"),
        ("gate", "--config"),
    ):  # fmt: skip
        assert flag in helps[name]
        assert flag in TEXT
