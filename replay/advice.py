"""What a reader of a run's results should look at next. Pure.

Invariant: most pressing first, and each names a unit, a fact or a command, not only a number.
"""

from collections.abc import Iterator, Mapping

from bundles import Run
from judge import Assessment, AttemptKey
from replay import machine
from replay.arms import CONTROL, PLAIN, parse_arm
from replay.judged_run import JudgedRun
from replay.runs import jobs_of
from replay.summary import ArmSummary

_BLIND = (PLAIN, "blind")
_ATTRIBUTIONS = {"held": "taken over from the stale answer", "decoded": "decoded by the model itself"}


def advise(judged: JudgedRun, assessment: Assessment, arms: Mapping[str, ArmSummary]) -> Iterator[str]:
    """A line for each kind of thing that is there to look at."""
    for key in (*assessment.errors, *assessment.missing)[:1]:
        attempt = judged.attempt(key)
        why = f": {attempt.error}" if attempt else " and has not run"
        count = len(assessment.errors) + len(assessment.missing)
        yield (
            f"{count} attempts are not there; {_named(key)} is one{why};"
            f" `redraft run --resume {judged.run.run_id}` makes them"
        )
    for flip in assessment.regressions[:1]:
        yield (
            f"fact {flip.fact_id} of unit {flip.unit_id}, which {flip.arm} lost:"
            f" the difference was {_ATTRIBUTIONS[flip.attribution]}"
        )
    for name, arm in arms.items():
        if parse_arm(name).exact and arm.identical is not None and arm.identical < 1:
            yield (
                f"{name}, which promises plain generation's tokens and gave others in"
                f" {1 - arm.identical:.0%} of the units: is the engine deterministic?"
            )
    if assessment.blind_share > 0:
        blind = [unit for (unit, arm), how in assessment.canary_outcomes.items() if (arm, how) == _BLIND]
        yield f"{len(blind)} blind canaries, which plain generation gets wrong too, such as {blind[0]}"
    yield from _cut_off(judged)
    if (jobs := jobs_of(judged.run)) > 1:
        yield f"passes, not times, as attempts were made {jobs} at once{_work(judged)}"
    elif noise := _noise(judged.run):
        yield noise
    if unequal := _unequal(judged):
        yield (
            f"{len(unequal)} units whose attempts did not start alike, such as {unequal[0]}: the engine kept"
            " what one of them had computed of the prompt; for a fair comparison start it with --cache-ram 0"
        )
    for name in assessment.arms_under_test:
        arm = arms[name]
        if arm.slowest is not None and arm.slowest < 1:
            yield f"unit {arm.slowest_unit}, where {name} is slower than plain: {arm.slowest:.2f}x"


def _cut_off(judged: JudgedRun) -> Iterator[str]:
    """A model that repeats itself until it is stopped is drafted for more easily than one that answers."""
    plain = [attempt for attempt in judged.finished(judged.run.unit_ids, [PLAIN]) if attempt.repeat == 0]
    longest = judged.run.max_tokens
    cut = [a.unit_id for a in plain if len(a.token_ids) >= (judged.unit(a.unit_id).max_tokens or longest)]
    if cut and 2 * len(cut) >= len(plain):
        yield (
            f"{len(cut)} of {len(plain)} plain answers, cut off at their longest length, such as that to"
            f" {cut[0]}: where the model only repeats itself, the speedup is not that of a better model;"
            " `redraft view` shows the texts"
        )


def _noise(run: Run) -> str | None:
    """What the machine's load says of the run's times; at the end some of it is the engine's own."""
    cores, threads, start, end = map(run.provenance.get, ("cores", "threads", "load_start", "load_end"))
    if not isinstance(cores, int) or not isinstance(threads, int):
        return None
    loads = ((start, 0), (end, threads))
    said = [machine.noise(load, cores, own) for load, own in loads if isinstance(load, int | float)]
    return next(filter(None, said), None)


def _unequal(judged: JudgedRun) -> list[str]:
    """Units of which one attempt had more of its prompt to compute than another."""
    computed: dict[str, set[int]] = {}
    for attempt in judged.finished(judged.run.unit_ids, judged.run.arms):
        computed.setdefault(attempt.unit_id, set()).add(attempt.prompt_tokens)
    return [unit_id for unit_id, sizes in computed.items() if len(sizes) > 1]


def _work(judged: JudgedRun) -> str:
    """What plain and the arms under test took, over what all of them have finished."""
    run = judged.run
    arms = [arm for arm in run.arms if arm != CONTROL]
    made = {arm: {a.key[::2]: a for a in judged.finished(run.unit_ids, [arm])} for arm in arms}
    shared = set.intersection(*map(set, made.values()))
    totals = []
    for arm, attempts in made.items():
        took = [attempts[key] for key in shared]
        totals.append(f"{arm} {sum(a.passes for a in took)} passes, {sum(a.rows for a in took)} rows")
    return f": {'; '.join(totals)}" if shared else ""


def _named(key: AttemptKey) -> str:
    unit_id, arm, repeat = key
    return f"{arm} of unit {unit_id}" + (f", repeat {repeat}" if repeat else "")
