"""How busy this machine is, as a run notes it down.

Invariant: a load is a figure or None where the system keeps none; whether it matters is one rule, here.
"""

import os

_SHARE, _LEAST = 0.1, 0.5


def load() -> float | None:
    """Processes that ran or waited to, on average over the last minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def noise(load: float | None, cores: int, own: float = 0) -> str | None:
    """What to say of a load where more than a tenth of the cores, `own` threads aside, is somebody else's."""
    if load is None or load - own <= max(_LEAST, _SHARE * cores):
        return None
    ours = f", {own:g} of it the engine's" if own else ""
    return f"the machine was not quiet, so wall times may mislead: load {load:g} on {cores} cores{ours}"
