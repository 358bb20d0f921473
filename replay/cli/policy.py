"""What the commands that gate share: the policy's file, and a verdict's exit code."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

from judge import GatePolicy
from replay.arms import parse_arm
from replay.cli.shared import options
from replay.errors import SettingsError

_REGRESSION, _INCONCLUSIVE = 1, 3
_CONFIG = Path("redraft.toml")

config_option = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="REDRAFT_CONFIG",
    help="Policy in [gate].  [default: redraft.toml, where there is one]",
)
gate_options = options(
    config_option,
    click.option("--exit-zero", is_flag=True, help="Exit 0 whatever the gate says."),
    click.option("--strict", is_flag=True, help="Inconclusive counts as a regression."),
)


def policy_of(config: Path | None) -> GatePolicy:
    """The policy of a file, or of redraft.toml where there is one; its arms under their canonical names."""
    if config is None and _CONFIG.exists():
        config = _CONFIG
    policy = GatePolicy() if config is None else GatePolicy.from_toml(config)
    return replace(policy, arms=tuple(parse_arm(spec).name for spec in policy.arms))


def taken_policy(given: dict[str, Any]) -> tuple[GatePolicy, Callable[[int], int]]:
    """Takes the gate's options out of `given`: the policy, and what becomes of a verdict's exit code."""
    config, exit_zero, strict = (given.pop(name) for name in ("config", "exit_zero", "strict"))

    def code(exit_code: int) -> int:
        if exit_zero:
            return 0
        return _REGRESSION if strict and exit_code == _INCONCLUSIVE else exit_code

    return policy_of(config), code


def must_be_writable(file: Path | None, *ours: Path | str | None) -> None:
    """Found out before the work, not after it; `ours` are files that a report must not replace."""
    if file is None:
        return
    try:
        if file.exists() and not file.is_file():
            raise SettingsError(f"{file}: is no ordinary file; name one for the report")
        if file.exists() and any(path and Path(path).exists() and file.samefile(path) for path in ours):
            raise SettingsError(f"{file}: is what the report is made from; name another file")
        with TemporaryFile(dir=file.resolve().parent):
            pass
    except OSError as error:
        raise SettingsError(f"{file}: a report cannot be written there: {error.strerror}") from error
