"""What a bench found, as every form of it shows it.

Invariant: the JSON keys are a promise that SCHEMA_VERSION numbers, others may be added; None is what could
not be told.
"""

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Speed(_Part):
    """Of the `units` that were measured: plain's time over this one's, each unit counting once.

    The median over units has a 95% interval (bootstrap over sessions; None for too few), `speedup_total` is
    plain's time of all of them over this one's.
    """

    units: int = 0
    speedup_median: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    speedup_total: float | None = None
    slowest: float | None = None
    slowest_unit: str | None = None


class LimitFigures(Speed):
    """A limit. Passes and rows are sums over units, without the prompts'."""

    passes: int
    rows: int


class ArmFigures(LimitFigures):
    """One arm. Shares are of the time that the limit saves: (plain - arm) / (plain - limit), on totals.

    `exact_match` is the share of units whose token ids equal plain's in every repeat; a fact is passed where
    every repeat passes it. `errors` are attempts that failed.
    """

    exact_match: float | None
    share_lb1: float | None
    share_lb0: float | None
    ms_per_token: float | None
    wasted_rows: int
    host_ms: float
    facts_passed: int
    facts_total: int
    errors: int


class PeerFigures(Speed):
    """Other software on the same model, held against our plain generation and, `over_own_plain` (the median
    over units), against its own. `speedups` are those of the units, `same_text` is the share of units where
    every repeat says what our plain generation says. `error` is the first that occurred.
    """

    over_own_plain: float | None
    same_text: float | None
    ms_per_token: float | None
    speedups: dict[str, float]
    errors: int
    error: str | None


class UnitArm(_Part):
    """One arm at one unit, medians over repeats; all None where none finished, `error` is the first one."""

    error: str | None = None
    speedup: float | None = None
    wall_ms: float | None = None
    prompt_ms: float | None = None
    tokens: int | None = None
    passes: int | None = None
    rows: int | None = None
    wasted_rows: int | None = None
    host_ms: float | None = None
    exact_match: bool | None = None


class UnitLimit(_Part):
    """One limit at one unit; `wall_ms` of LB1 is computed."""

    wall_ms: float
    speedup: float
    passes: int
    rows: int


class UnitFigures(_Part):
    """One unit, with the arms and the limits by name."""

    unit_id: str
    session_id: str
    category: str
    arms: dict[str, UnitArm]
    limits: dict[str, UnitLimit]


class SlowUnit(_Part):
    """A unit that an arm takes notably longer for than plain."""

    arm: str
    unit_id: str
    speedup: float


class Machine(_Part):
    """Where it was measured. Loads are averages over the last minute, before and after.

    `used_by_others` is the share of the cores' time that other processes took meanwhile. `pass_cost_ms` is
    the engine's own calibration, milliseconds of a pass by its rows, and `model_sha256` begins the file's.
    """

    cpu: str
    cores: int
    threads: int
    load_start: float | None
    load_end: float | None
    used_by_others: float | None
    os: str
    python: str
    redraft: str
    llama_cpp_python: str
    model: str
    model_sha256: str
    quantisation: str
    kv_type: str
    exact_width: int
    pass_cost_ms: dict[str, float]


class BenchResult(_Part):
    """All of it. `units` were measured of `units_planned`; `slow` lists every unit that an arm slows down.

    `pass_model` is what plain's passes cost by the calibration over what they took, without the prompts:
    LB1 rests on it.
    """

    schema_version: int = SCHEMA_VERSION
    suite: str
    started: str
    units: int
    units_planned: int
    repeats: int
    seed: int
    max_tokens: int
    arms: dict[str, ArmFigures]
    limits: dict[str, LimitFigures]
    peers: dict[str, PeerFigures] = {}
    slow: tuple[SlowUnit, ...]
    pass_model: float | None
    warnings: tuple[str, ...]
    machine: Machine
    per_unit: tuple[UnitFigures, ...]

    @property
    def errors(self) -> int:
        """Attempts that failed."""
        return sum(arm.errors for arm in self.arms.values())

    def to_json(self) -> str:
        """The stable form."""
        return self.model_dump_json(indent=2)
