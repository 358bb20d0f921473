"""Two runs of a store held against each other.

Invariant: it is what `redraft compare` tells, of runs that are small enough to be read while somebody waits.
"""

from judge import IncomparableRuns
from replay.comparison import RunComparison
from replay.comparison_results import compare_runs
from replay.errors import NothingToRun, SettingsError
from replay.view.library import Reading
from replay.view.pages import judged_of


def compared(reading: Reading, before: str, after: str, *, across: bool) -> RunComparison | IncomparableRuns:
    """The later run against the earlier, by id; or why they do not compare unless it is `across`."""
    if before == after:
        raise SettingsError(f"run {before} cannot be compared with itself; choose two runs")
    old, new = (judged_of(reading, reading.store.run_info(run_id)) for run_id in (before, after))
    try:
        found = compare_runs(old, new, across=across)
    except IncomparableRuns as error:
        return error
    if not found.units:
        raise NothingToRun(f"runs {before} and {after} have no unit in common")
    return found
