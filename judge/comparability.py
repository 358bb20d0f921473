"""What two runs must share to be measurements of the same thing.

Invariant: a part that is not known is equal to nothing but another unknown one; runs that differ in a part
are not compared, unless somebody asks for it, and then it is said.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields

from bundles import Run, Scalar, Verdict, brief
from judge.errors import IncomparableRuns

OPTIONAL = ("context",)
"""Parts that a run may lack and still be comparable."""


@dataclass(frozen=True, slots=True)
class Comparability:
    """The key of a run: what was replayed, on what it was generated, and who judged it."""

    bundle_id: Scalar = None
    engine_version: Scalar = None
    model_fingerprint: Scalar = None
    quantisation: Scalar = None
    kv_type: Scalar = None
    context: Scalar = None
    sampling: Scalar = None
    template_version: Scalar = None
    max_tokens: Scalar = None
    judge: Scalar = None

    @property
    def unknown(self) -> tuple[str, ...]:
        """Parts without a value that a comparison asks for."""
        named = (part.name for part in fields(self))
        return tuple(name for name in named if name not in OPTIONAL and getattr(self, name) in (None, ""))

    def differences(self, later: "Comparability") -> Mapping[str, str]:
        """A phrase for each part in which a later run differs, such as `kv_type 'bf16' then, 'f16' now`."""
        return {
            part.name: f"{part.name} {brief(then)} then, {brief(now)} now"
            for part in fields(self)
            if (then := getattr(self, part.name)) != (now := getattr(later, part.name))
        }


def comparability(run: Run, verdicts: Iterable[Verdict]) -> Comparability:
    """The key of a judged run."""
    judges = sorted({f"{verdict.judge}/{verdict.judge_version}" for verdict in verdicts})
    given = {part.name: run.provenance.get(part.name) for part in fields(Comparability)}
    given |= {"bundle_id": run.bundle_id, "max_tokens": run.max_tokens, "judge": ", ".join(judges)}
    return Comparability(**given)


def require_comparable(
    then: Comparability, now: Comparability, *, across: bool = False, but: Collection[str] = ()
) -> str:
    """Nothing where all parts, `but` for some, are equal; otherwise the label of a comparison `across`.

    IncomparableRuns where they differ and that is not asked for.
    """
    differing = "; ".join(phrase for part, phrase in then.differences(now).items() if part not in but)
    if differing and not across:
        raise IncomparableRuns(f"not comparable: {differing} (--across compares all the same)")
    return f"ACROSS DIFFERENT RUNS: {differing}" if differing else ""
