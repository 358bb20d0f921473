"""What a gate sees and what it cries wolf at, as a table, JSON and a picture.

Invariant: the JSON keys are a promise; the picture is static, self-contained and escaped, and shows what the
table says.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from tabulate import tabulate

from judge import Power, Seen
from judge.power import DOSES, FALSE_ALARMS, STALE_SEEN
from replay.report.figures import count, percent
from replay.report.table import one_line

SCHEMA_VERSION = 1
_LEFT, _WIDTH, _ROW, _TOP = 170, 420, 26, 54


def power_json(power: Power) -> str:
    """The stable form."""
    detection = {
        kind: {
            **_rates(seen, "detected"),
            **{f"canary_{key}": value for key, value in _rates(power.in_canaries[kind], "detected").items()},
        }
        for kind, seen in power.detection.items()
    }
    return json.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "run_id": power.run_id,
            "seed": power.seed,
            "unchanged": power.unchanged,
            "detection": detection,
            "false_alarms": {kind: _rates(seen, "flagged") for kind, seen in power.false_alarms.items()},
            "doses": [
                {"kind": kind, "dose": dose, "runs": seen.made, "flagged": seen.seen, "rate": seen.rate.value}
                for (kind, dose), seen in power.doses.items()
            ],
            "aa": {"resamples": power.resamples, "failures": power.failures},
            "suffices": power.suffices,
            "examples": [asdict(example) for example in power.examples],
        },
        indent=2,
        ensure_ascii=False,
    )


def render_power_table(power: Power) -> str:
    """Detection, false alarms, doses, A/A, and whether that is enough."""
    doses = [f"{dose} at once" for dose in DOSES]
    faults = tabulate(
        [
            (*_row(power, kind, seen), _share(power.in_canaries[kind]), *_dosed(power, kind))
            for kind, seen in power.detection.items()
        ],
        headers=("fault", "injected", "detected", "rate", "in canaries", *doses),
        disable_numparse=True,
        colalign=("left", *["right"] * (4 + len(doses))),
    )
    harmless = tabulate(
        [(*_row(power, kind, seen), *_dosed(power, kind)) for kind, seen in power.false_alarms.items()],
        headers=("harmless", "made", "flagged", "rate", *doses),
        disable_numparse=True,
        colalign=("left", *["right"] * (3 + len(doses))),
    )
    head = f"power of the gate on run {power.run_id}, seed {power.seed}; unchanged it says {power.unchanged}"
    return "\n\n".join([one_line(head), faults, harmless, "\n".join(_closing(power))])


def render_power_picture(power: Power) -> str:
    """An SVG image."""
    bars = [*_bars(power.detection, 0), *_bars(power.false_alarms, len(power.detection) + 2)]
    return (
        _environment()
        .get_template("power_picture.html")
        .render(
            power=power,
            bars=bars,
            left=_LEFT,
            width=_WIDTH,
            alarms_y=_TOP + _ROW * (len(power.detection) + 1),
            height=_TOP + _ROW * (len(power.detection) + len(power.false_alarms) + 3),
        )
    )


def render_power_html(power: Power) -> str:
    """A page with the picture and the table."""
    return (
        _environment()
        .get_template("power.html")
        .render(power=power, picture=render_power_picture(power), table=render_power_table(power))
    )


@dataclass(frozen=True, slots=True)
class _Bar:
    """One kind's rate and interval, in the picture's coordinates."""

    name: str
    numbers: str
    y: int
    x: float | None
    low: float
    high: float


def _bars(seen: Mapping[str, Seen], first: int) -> Iterator[_Bar]:
    for row, (kind, found) in enumerate(seen.items(), first):
        value, low, high = found.rate.value, found.rate.low or 0, found.rate.high or 0
        yield _Bar(
            name=kind.replace("_", " "),
            numbers=f"{found.seen} of {found.made}",
            y=_TOP + _ROW * row,
            x=None if value is None else _LEFT + _WIDTH * value,
            low=_LEFT + _WIDTH * low,
            high=_LEFT + _WIDTH * high,
        )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("replay", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _rates(seen: Seen, what: str) -> dict[str, float | int | None]:
    rate = seen.rate
    return {"injected": seen.made, what: seen.seen, "rate": rate.value, "low": rate.low, "high": rate.high}


def _row(power: Power, kind: str, seen: Seen) -> tuple[str | int, ...]:
    return kind.replace("_", " "), seen.made, seen.seen, percent(seen.rate.value)


def _share(seen: Seen) -> str:
    return f"{percent(seen.rate.value)} of {seen.made}" if seen.made else "-"


def _dosed(power: Power, kind: str) -> list[str]:
    return [
        percent(power.doses[kind, dose].rate.value) if (kind, dose) in power.doses else "-" for dose in DOSES
    ]


def _closing(power: Power) -> Iterator[str]:
    for example in power.examples:
        yield one_line(
            f"{example.kind} in unit {example.unit_id} ({example.how}): the gate says {example.verdict}"
        )
    if power.resamples:
        yield (
            f"A/A: plain against control fails in {power.failures} of {count(power.resamples, 'resample')}"
        )
    word = {True: "met", False: "NOT met", None: "not to be told from this run"}[power.suffices]
    yield (
        f"required: {percent(STALE_SEEN)} of stale facts in canaries detected, at most"
        f" {percent(FALSE_ALARMS)} false alarms, no A/A failure: {word}"
    )
