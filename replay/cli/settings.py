"""Settings from a file, for every command that has an option for one.

Invariant: a flag beats the environment, the environment beats the file, the file beats the default; a file
with an unknown key or a value that cannot be meant is refused, whatever the command.
"""

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replay.errors import SettingsError

_FILE = Path("redraft.toml")
_PATHS = ("store", "model")
_OF_REPLAYS = ("arms", "repeats", "jobs", "max_tokens")
_REPLAYS = ("run", "replay")
Count = Annotated[int, Field(ge=1)]


class FileSettings(BaseModel):
    """What a settings file may hold; `gate` is left to the gate. Paths are taken from the file's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    store: str | None = None
    model: str | None = None
    ctx: Count | None = None
    threads: Count | None = None
    kv: Literal["bf16", "f16"] | None = None
    gpu_layers: Annotated[int, Field(ge=0)] | None = None
    arms: list[str] | None = None
    repeats: Count | None = None
    jobs: Count | None = None
    max_tokens: Count | None = None
    gate: dict[str, Any] | None = None


def with_settings(command: click.Command) -> click.Command:
    """The command, or each of a group's, made to read the file that `--config` names."""
    if isinstance(command, click.Group):
        for part in command.commands.values():
            with_settings(part)
    concerned = {param.name for param in command.params} & FileSettings.model_fields.keys()
    if not concerned:
        return command
    config = next((param for param in command.params if param.name == "config"), None)
    if config is None:
        config = click.Option(
            ["--config"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            envvar="REDRAFT_CONFIG",
            expose_value=False,
            help="Settings, such as the store.  [default: redraft.toml, where there is one]",
        )
        command.params.append(config)
    config.is_eager = True
    config.callback = _take
    return command


def read_settings(path: Path) -> dict[str, Any]:
    """What a file sets, by option; SettingsError where it is none."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: not TOML: {str(error)[:200]}") from error
    for key in document:
        if key not in FileSettings.model_fields:
            near = get_close_matches(key, FileSettings.model_fields, 1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise SettingsError(
                f"{path}: {key[:80]!r}: unknown key; {meant}known are {', '.join(FileSettings.model_fields)}"
            )
    try:
        settings = FileSettings.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{path}: {where}: {first['msg']}") from error
    found = settings.model_dump(exclude={"gate"}, exclude_none=True)
    return found | {key: path.parent / found[key] for key in _PATHS if key in found}


def _take(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Makes what the file sets the defaults of the command's options."""
    if path is None and _FILE.is_file():
        path = _FILE
    if path is not None:
        skipped = () if context.command.name in _REPLAYS else _OF_REPLAYS
        known = {param.name for param in context.command.params} - {*skipped}
        context.default_map = {key: value for key, value in read_settings(path).items() if key in known}
    return path
