"""Where an export goes.

Invariant: a target appears whole or not at all, and is on disk when it does; what is replaced is an earlier
export of the same kind and nothing else.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bundles.durable import sync
from bundles.errors import SuiteError


@contextmanager
def new_target(target: Path, is_earlier_export: Callable[[Path], bool]) -> Iterator[Path]:
    """Gives a path beside the target to write a file or a folder at, and moves that to the target in the end.

    Raises `SuiteError` where something else is there already, or the folder that it goes into is missing.
    """
    if "\0" in str(target) or not target.parent.is_dir():
        raise SuiteError(f"{target}: its folder does not exist")
    if os.path.lexists(target) and (target.is_symlink() or not is_earlier_export(target)):
        raise SuiteError(f"{target}: is there already and no earlier export, name another place")
    with TemporaryDirectory(prefix=".redraft-export-", dir=target.parent) as beside:
        new = Path(beside) / "new"
        yield new
        for path in (new, *new.rglob("*")):
            sync(path)
        if target.is_dir() or new.is_dir():
            if os.path.lexists(target):
                target.rename(Path(beside) / "old")
            new.rename(target)
        else:
            new.replace(target)
        sync(target.parent)
