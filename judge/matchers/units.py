"""Units of measure and currencies that numbers are compared in.

Invariant: factors are exact. Units of one dimension convert into each other, all others are different
things; a word that may mean two units has both readings. Days do not convert to months, nor one currency
to another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """So much of a dimension's base: `(amount + offset) * factor`."""

    dimension: str
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)

    def base(self, amount: int | Fraction) -> Fraction:
        """The amount in the dimension's base unit."""
        return (amount + self.offset) * self.factor


SHARE = "share"
TIME = "time"
# Dimension: {spellings: factor}; `_` is a space. A capital counts where a spelling here has one.
_TABLE: Mapping[str, Mapping[str, str]] = {
    SHARE: {"% ٪ percent per_cent pct": "1/100", "‰ permille per_mille": "1/1000"},
    "percentage point": {
        "pp percentage_point percentage_points percent_point percent_points": "1",
        "bp bps basis_point basis_points": "1/100",
    },
    TIME: {
        "ns nanosecond nanoseconds": "1/1000000000",
        "μs us microsecond microseconds": "1/1000000",
        "ms msec msecs millisecond milliseconds": "1/1000",
        "s sec secs second seconds": "1",
        "min mins minute minutes": "60",
        "h hr hrs hour hours": "3600",
        "d day days": "86400",
        "wk wks week weeks": "604800",
        "fortnight fortnights": "1209600",
    },
    "month": {"month months": "1", "yr yrs year years": "12", "decade decades": "120"},
    "data": {
        "bit bits": "1",
        "byte bytes": "8",
        "kbit kbits kilobit kilobits Kb": "1000",
        "mbit mbits megabit megabits Mb": "1000000",
        "gbit gbits gigabit gigabits Gb": "1000000000",
        "kb kilobyte kilobytes": "8000",
        "mb megabyte megabytes": "8000000",
        "gb gigabyte gigabytes": "8000000000",
        "tb terabyte terabytes": "8000000000000",
        "kib kibibyte kibibytes": "8192",
        "mib mebibyte mebibytes": "8388608",
        "gib gibibyte gibibytes": "8589934592",
        "tib tebibyte tebibytes": "8796093022208",
    },
    "data per time": {"kbps": "1000", "mbps": "1000000", "gbps": "1000000000"},
    "length": {
        "nm nanometre nanometres nanometer nanometers": "1/1000000000",
        "μm um micrometre micrometres micrometer micrometers micron microns": "1/1000000",
        "mm millimetre millimetres millimeter millimeters": "1/1000",
        "cm centimetre centimetres centimeter centimeters": "1/100",
        "m metre metres meter meters": "1",
        "km kilometre kilometres kilometer kilometers": "1000",
        "inch inches": "0.0254",
        "ft foot feet": "0.3048",
        "yd yard yards": "0.9144",
        "mi mile miles": "1609.344",
    },
    "area": {
        "m2 sqm sq_m square_metre square_metres square_meter square_meters": "1",
        "hectare hectares": "10000",
        "km2 sq_km square_kilometre square_kilometres square_kilometer square_kilometers": "1000000",
        "sq_ft ft2 square_foot square_feet": "0.09290304",
    },
    "volume": {
        "ml millilitre millilitres milliliter milliliters cm3": "1/1000",
        "cl centilitre centilitres centiliter centiliters": "1/100",
        "l L litre litres liter liters": "1",
        "m3 cubic_metre cubic_metres cubic_meter cubic_meters": "1000",
    },
    "mass": {
        "mg milligram milligrams": "1/1000000",
        "g gram grams gramme grammes": "1/1000",
        "kg kilo kilos kilogram kilograms": "1",
        "t tonne tonnes metric_ton metric_tons": "1000",
        "oz ounce ounces": "0.028349523125",
        "lb lbs pound pounds": "0.45359237",
    },
    "frequency": {
        "hz hertz": "1",
        "khz kilohertz": "1000",
        "mhz megahertz": "1000000",
        "ghz gigahertz": "1000000000",
    },
    "power": {
        "mW milliwatt milliwatts": "1/1000",
        "W watt watts": "1",
        "kw kilowatt kilowatts": "1000",
        "MW megawatt megawatts": "1000000",
        "gw gigawatt gigawatts": "1000000000",
    },
    "energy": {
        "wh watt_hour watt_hours": "1",
        "kwh kilowatt_hour kilowatt_hours": "1000",
        "mwh megawatt_hour megawatt_hours": "1000000",
    },
    "voltage": {"mV millivolt millivolts": "1/1000", "V volt volts": "1", "kV kilovolt kilovolts": "1000"},
    "current": {"mA milliamp milliamps": "1/1000", "A amp amps ampere amperes": "1"},
    "length per time": {"km/h kph kmh": "1000/3600", "mph": "1609344/3600000"},
    "angle": {"° degree degrees": "1"},
    "times": {"x × times fold": "1"},
}
_MONEY: Mapping[str, Mapping[str, str]] = {
    "usd": {"$ us$ usd dollar dollars": "1", "¢ cent cents": "1/100"},
    "eur": {"€ eur euro euros": "1", "cent cents ct": "1/100"},
    "gbp": {"£ gbp pound pounds quid": "1", "p pence penny": "1/100"},
    "jpy": {"¥ jpy yen": "1"},
    "cny": {"¥ cny rmb yuan": "1"},
    "chf": {"chf franc francs": "1"},
    "inr": {"₹ inr rupee rupees": "1"},
    "cad": {"cad c$ ca$": "1"},
    "aud": {"aud a$ au$": "1"},
    "nzd": {"nzd nz$": "1"},
    "hkd": {"hkd hk$": "1"},
    "sek": {"sek": "1"},
    "nok": {"nok": "1"},
    "dkk": {"dkk": "1"},
    "pln": {"pln": "1"},
    "krw": {"₩ krw": "1"},
    "rub": {"₽ rub": "1"},
    "btc": {"₿ btc": "1"},
}
MONEY = frozenset(_MONEY)
_TEMPERATURES: Mapping[str, Unit] = {
    "°c oc celsius degrees_celsius degrees_c": Unit("temperature", Fraction(1), Fraction("273.15")),
    "°f fahrenheit degrees_fahrenheit degrees_f": Unit("temperature", Fraction(5, 9), Fraction("459.67")),
    "K kelvin kelvins": Unit("temperature"),
}
_DOLLARS: Mapping[str, str] = {"us": "usd", "american": "usd", "canadian": "cad", "australian": "aud"}
# Too short to be units but right behind the digits; nor is `US` a microsecond.
_ATTACHED = frozenset(["d", "p", "x", "×"])


def units_named(spelling: str, *, attached: bool = False) -> tuple[Unit, ...]:
    """What a word or sign, as it is written, may mean as a unit: nothing if it is none."""
    if spelling == "US" or (spelling.lower() in _ATTACHED and not attached):
        return ()
    exact = _UNITS.get(spelling, ())
    one_capital = len(spelling) == 1 and spelling.isupper()
    return exact or (() if one_capital else _UNITS.get(spelling.lower(), ()))


def currency_before(sign: str) -> tuple[Unit, ...]:
    """What a sign or code means before an amount: `$`, `US$`, `EUR`."""
    return _BEFORE.get(sign.lower(), ())


def per(unit: Unit, other: Unit) -> Unit:
    """The unit of a rate: `km` and `h` give `km/h`."""
    return Unit(f"{unit.dimension} per {other.dimension}", unit.factor / other.factor)


def _readings(entries: Iterator[tuple[str, Unit]]) -> Mapping[str, tuple[Unit, ...]]:
    units: dict[str, tuple[Unit, ...]] = {}
    for word, unit in entries:
        units[word] = (*units.get(word, ()), unit)
    return units


def _entries(table: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Unit]]:
    for dimension, spellings in table.items():
        for words, factor in spellings.items():
            for word in words.split():
                yield word.replace("_", " "), Unit(dimension, Fraction(factor))


def _all_entries() -> Iterator[tuple[str, Unit]]:
    yield from _entries(_TABLE)
    yield from _entries(_MONEY)
    for words, unit in _TEMPERATURES.items():
        for word in words.split():
            yield word.replace("_", " "), unit
    for nation, dimension in _DOLLARS.items():
        yield f"{nation} dollars", Unit(dimension)


_UNITS = _readings(_all_entries())
_BEFORE = {
    word: units
    for word, units in _readings(_entries(_MONEY)).items()
    if word in _MONEY or (not word.isalpha() and word != "¢")
}
# The first words of units in small letters, for a quick no.
UNIT_WORDS = frozenset(word.lower().split(" ")[0] for word in _UNITS)
CURRENCY_SIGNS = frozenset(_BEFORE)
FIRST_UNIT_WORDS = frozenset(word.lower().split(" ")[0] for word in _UNITS if " " in word)
