"""A bench as a picture: each unit's speedup in each arm, beside the limits.

Invariant: one SVG file that loads nothing, follows light and dark, escapes all that comes from outside and
says in words what it shows; units that are slower than plain lie in a marked field, whatever their number.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from replay.arms import PLAIN
from replay.bench.result import BenchResult, Speed
from replay.report.figures import count, interval, times
from replay.report.table import one_line

_WIDTH, _LEFT, _RIGHT, _TOP, _BAND, _BOTTOM = 840, 210, 118, 64, 46, 44
_TICKS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
_SPREAD = (0, 6, -6, 11, -11, 3, -3, 9, -9)
"""Dots of neighbouring speed lie beside each other."""
_STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif; }
text { fill: #1b1f24; } .quiet { fill: #57606a; }
.grid { stroke: #d5dae0; } .one { stroke: #1b1f24; } .slow { fill: #b42318; fill-opacity: .08; }
.dot { fill: #0b62c4; fill-opacity: .55; } .limit .dot { fill: #6e7781; }
.median { stroke: #0b62c4; stroke-width: 3; } .limit .median { stroke: #57606a; }
.range { stroke: #0b62c4; stroke-width: 7; stroke-opacity: .3; } .limit .range { stroke: #57606a; }
.dot.slower { fill: #b42318; fill-opacity: .8; }
@media (prefers-color-scheme: dark) {
  svg { background: #15181c; } text { fill: #e6e9ed; } .quiet { fill: #a4adb8; }
  .grid { stroke: #363c44; } .one { stroke: #e6e9ed; } .slow { fill: #ff8f85; fill-opacity: .1; }
  .dot { fill: #6cb2ff; } .limit .dot { fill: #98a1ac; } .median { stroke: #6cb2ff; }
  .limit .median { stroke: #b6bec8; } .range { stroke: #6cb2ff; } .limit .range { stroke: #b6bec8; }
  .dot.slower { fill: #ff8f85; }
}
"""


@dataclass(frozen=True, slots=True)
class _Band:
    """One arm or limit: its units' speedups by id."""

    name: str
    speed: Speed
    speedups: dict[str, float]
    is_limit: bool


class _Scale:
    """Speedups on a logarithmic axis: twice as slow is as far from plain as twice as fast."""

    def __init__(self, values: Sequence[float]) -> None:
        self.low = min([0.9, *values]) / 1.08
        self.high = max([1.3, *values]) * 1.08

    def x(self, speedup: float) -> float:
        place = math.log(speedup / self.low) / math.log(self.high / self.low)
        return round(_LEFT + place * (_WIDTH - _LEFT - _RIGHT), 1)

    def ticks(self) -> list[float]:
        return [tick for tick in _TICKS if self.low < tick < self.high]


def render_picture(result: BenchResult) -> str:
    """The SVG file's text."""
    bands = _bands(result)
    scale = _Scale([value for band in bands for value in band.speedups.values()])
    height = _TOP + _BAND * len(bands) + _BOTTOM
    svg = Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH} {height}", "width": str(_WIDTH),
        "height": str(height), "role": "img", "aria-labelledby": "title description",
    })  # fmt: skip
    SubElement(svg, "title", {"id": "title"}).text = _title(result)
    SubElement(svg, "desc", {"id": "description"}).text = _description(bands)
    SubElement(svg, "style").text = _STYLE
    _text(svg, 12, 24, _title(result), {"font-size": "15"})
    _text(svg, 12, 44, "A dot is a unit; the bar is the median with its 95% interval.", {"class": "quiet"})
    _draw_axis(svg, scale, height)
    for row, band in enumerate(bands):
        _draw_band(svg, scale, band, _TOP + _BAND * row + _BAND / 2)
    ElementTree.indent(svg, "")
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def _bands(result: BenchResult) -> list[_Band]:
    """All but plain, which everything is held against."""
    units = result.per_unit
    arms = [
        _Band(name, speed, _present((u.unit_id, u.arms[name].speedup) for u in units), is_limit=False)
        for name, speed in result.arms.items()
        if name != PLAIN
    ]
    limits = [
        _Band(
            name.upper(),
            speed,
            {unit.unit_id: unit.limits[name].speedup for unit in units if name in unit.limits},
            is_limit=True,
        )
        for name, speed in result.limits.items()
    ]
    peers = [_Band(name, figures, figures.speedups, is_limit=False) for name, figures in result.peers.items()]
    return [*arms, *limits, *peers]


def _present(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    return {key: value for key, value in values if value is not None}


def _title(result: BenchResult) -> str:
    return one_line(
        f"Speedup over plain generation, {result.suite}: {count(result.units, 'unit')},"
        f" {count(result.repeats, 'repeat')}"
    )


def _description(bands: Iterable[_Band]) -> str:
    return " ".join(
        f"{band.name}: median {times(band.speed.speedup_median)},"
        f" 95% interval {interval(band.speed.speedup_low, band.speed.speedup_high)},"
        f" slowest {times(band.speed.slowest)}"
        f"{f' (unit {one_line(band.speed.slowest_unit)})' if band.speed.slowest_unit else ''}."
        for band in bands
    )


def _draw_axis(svg: Element, scale: _Scale, height: int) -> None:
    bottom = height - _BOTTOM + 6
    left, one = scale.x(scale.low), scale.x(1)
    SubElement(svg, "rect", {"class": "slow", "x": str(left), "y": str(_TOP), "width": f"{one - left:.1f}",
                             "height": str(bottom - _TOP)})  # fmt: skip
    for tick in scale.ticks():
        x = scale.x(tick)
        _line(svg, x, _TOP, x, bottom, "one" if tick == 1 else "grid")
        _text(svg, x, bottom + 16, f"{tick:g}x", {"class": "quiet", "text-anchor": "middle"})
    _text(svg, left, bottom + 32, "slower than plain", {"class": "quiet"})
    _text(svg, scale.x(scale.high), bottom + 32, "faster", {"class": "quiet", "text-anchor": "end"})


def _draw_band(svg: Element, scale: _Scale, band: _Band, y: float) -> None:
    group = SubElement(svg, "g", {"class": "limit"} if band.is_limit else {})
    _text(group, _LEFT - 12, y + 4, band.name, {"text-anchor": "end"})
    speed = band.speed
    if speed.speedup_low is not None and speed.speedup_high is not None:
        _line(group, scale.x(speed.speedup_low), y, scale.x(speed.speedup_high), y, "range")
    ordered = sorted(band.speedups.items(), key=lambda item: item[1])
    for place, (unit_id, value) in enumerate(ordered):
        dot = SubElement(group, "circle", {
            "class": "dot slower" if value < 1 else "dot", "cx": str(scale.x(value)),
            "cy": str(y + _SPREAD[place % len(_SPREAD)]), "r": "3.5",
        })  # fmt: skip
        SubElement(dot, "title").text = f"{one_line(unit_id)}: {times(value)}"
    if speed.speedup_median is not None:
        x = scale.x(speed.speedup_median)
        _line(group, x, y - 15, x, y + 15, "median")
        _text(group, _WIDTH - _RIGHT + 12, y - 3, f"{times(speed.speedup_median)} median", {})
        _text(group, _WIDTH - _RIGHT + 12, y + 13, f"{times(speed.slowest)} slowest", {"class": "quiet"})


def _line(parent: Element, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
    SubElement(parent, "line", {"class": kind, "x1": str(x1), "y1": str(y1), "x2": str(x2), "y2": str(y2)})


def _text(parent: Element, x: float, y: float, text: str, more: dict[str, str]) -> None:
    SubElement(parent, "text", {"x": str(x), "y": str(y), **more}).text = text
