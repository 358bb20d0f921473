"""Commands that bring bundles in and out: `import`, `export`."""

from pathlib import Path
from typing import Any, get_args

import click

from bundles import (
    DEFAULT_PATHS,
    ExportFormat,
    HistoryLimits,
    Imported,
    ImportKind,
    export_bundle,
    read_chat,
    read_history,
    read_loom,
    without_events,
)
from replay.catalog import Added, add, add_path, suite_path
from replay.cli.shared import open_store, options, say, say_bounded, say_doubtful_facts, show, store_option
from replay.report.figures import count
from replay.report.table import one_line

strict_option = click.option("--strict", is_flag=True, help="What cannot be imported is an error.")
name_option = click.option("--name", metavar="NAME", help="Name of the bundle.")
_path = click.Path(path_type=Path)


class _Importers(click.Group):
    """A group whose first argument may be a source, which is then imported as what it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the default command before what names none."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["any", *args]
        return super().parse_args(ctx, args)


@click.group("import", cls=_Importers, subcommand_metavar="[KIND] SOURCE...")
def import_() -> None:
    """Import edit sessions into the store.

    A source without a KIND is imported as what it is: a suite file, a bundle that was exported, a chat log, a
    Loom directory, a journal or a git repository. `redraft import any --help` shows the options.
    """


@import_.command("any")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--as", "kind", type=click.Choice(get_args(ImportKind)), help="Take it as this.")
@strict_option
@store_option
def import_any(sources: tuple[str, ...], kind: ImportKind | None, strict: bool, store: Path) -> None:
    """Import suites, bundles and whatever else sessions are kept in.

    \b
    For example:
      redraft import suite.toml prod.journal
      redraft import any --as chat log.jsonl
    """
    with open_store(store, create=True) as opened:
        for name in sources:
            _tell(add_path(opened, suite_path(name) or Path(name), kind, strict=strict))


@import_.command("git", short_help="Import the edits of a repository's documents.")
@click.argument("repository", type=_path)
@click.option(
    "--path",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help=f"Documents, such as 'docs/**/*.md'; repeatable.  [default: {', '.join(DEFAULT_PATHS)}]",
)
@click.option("--rev", "revision", default="HEAD", show_default=True, help="The history up to this commit.")
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="Commits since (YYYY-MM-DD)."
)
@options(
    click.option("--min-words", type=click.IntRange(1), default=30, show_default=True, help="Of a section."),
    click.option("--max-words", type=click.IntRange(1), default=300, show_default=True, help="Of a section."),
    click.option(
        "--max-change",
        type=click.FloatRange(0, 1),
        default=0.5,
        show_default=True,
        help="Largest share of a section's words that an edit may touch.",
    ),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N units, the newest."),
)
@name_option
@strict_option
@store_option
def import_git(repository: Path, store: Path, since: Any, **given: Any) -> None:
    """Import the edits of a git repository's documents, section by section.

    \b
    For example:
      redraft import git ~/docs --path 'docs/**/*.md' --limit 100
    """
    limits = HistoryLimits(
        **{key: given.pop(key) for key in ("min_words", "max_words", "max_change", "limit")}
    )
    given["patterns"] = given["patterns"] or DEFAULT_PATHS
    found = read_history(repository, since=since and f"{since:%Y-%m-%dT00:00:00Z}", limits=limits, **given)
    _store(found, store)


@import_.command("loom")
@click.argument("folder", type=_path)
@name_option
@strict_option
@store_option
def import_loom(folder: Path, name: str | None, strict: bool, store: Path) -> None:
    """Import a Loom directory: revisions, refreshes and corrections.

    \b
    For example:
      redraft import loom sessions/
    """
    _store(read_loom(folder, name=name, strict=strict), store)


@import_.command("chat", short_help="Import a log of chat requests.")
@click.argument("log", type=_path)
@name_option
@strict_option
@store_option
def import_chat(log: Path, name: str | None, strict: bool, store: Path) -> None:
    """Import a log of chat requests, where later ones repeat earlier ones with an edited text.

    \b
    For example:
      redraft import chat log.jsonl --name support
    """
    _store(read_chat(log, name=name, strict=strict), store)


@click.command(short_help="Write a bundle to a file or folder.")
@click.argument("ref", metavar="BUNDLE")
@click.argument("target", type=_path)
@click.option(
    "--format",
    "shape",
    type=click.Choice(get_args(ExportFormat)),
    help="Kind of export.  [default: suite for a .json file, else arrow]",
)
@click.option("--without-events", "plain", is_flag=True, help="Leave out recorded events.")
@store_option
def export(ref: str, target: Path, shape: ExportFormat | None, plain: bool, store: Path) -> None:
    """Write a bundle to a file or folder, for other tools or to import again.

    \b
    For example:
      redraft export smoke smoke.json
      redraft export prod-week-48 week-48 --format parquet
    """
    with open_store(store) as opened:
        bundle = opened.bundle(ref)
    if plain:
        bundle = without_events(bundle)
    shape = shape or ("suite" if target.suffix.lower() == ".json" else "arrow")
    export_bundle(bundle, target, shape)
    units = count(len(bundle.units), "unit")
    show(one_line(f"{bundle.bundle_id} {bundle.name}: {units} in {target} ({shape})"))


def _store(imported: Imported, store: Path) -> None:
    with open_store(store, create=True) as opened:
        _tell(add(opened, imported))


def _tell(added: Added) -> None:
    """The bundle, what was left out of it, and what is wrong with its facts."""
    imported = added.imported
    say_bounded(f"skipped {reason}" for reason in imported.skipped)
    say_doubtful_facts(imported.bundle.units)
    if imported.skipped or imported.reasons:
        say(imported.summary)
    note = "" if added.known_as is None else f" (was there already, as {added.known_as})"
    bundle = imported.bundle
    units = count(len(bundle.units), "unit")
    show(one_line(f"{bundle.bundle_id} {bundle.name}: {units}{note}"))
