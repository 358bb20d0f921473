"""How figures are written, the same in every report."""


def times(value: float | None) -> str:
    """A speedup: 1.84x."""
    return "-" if value is None else f"{value:.2f}x"


def interval(low: float | None, high: float | None) -> str:
    """A speedup's 95% interval."""
    return "-" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def percent(share: float | None) -> str:
    """A share: 61%. Only all is 100%, and only nothing is 0%."""
    if share is None:
        return "-"
    rounded = round(share * 100)
    if rounded == 100 and share < 1:
        return ">99%"
    return "<1%" if rounded == 0 and share > 0 else f"{rounded}%"


def points(share: float | None) -> str:
    """A difference of shares: +3.2 points."""
    return "-" if share is None else f"{100 * share:+.1f}"


def count(number: int, noun: str) -> str:
    """1 unit, 2 units."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
