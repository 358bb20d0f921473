import pytest

from replay import machine


def test_the_load_is_a_figure() -> None:
    load = machine.load()
    assert load is not None
    assert load >= 0


def test_no_load_where_the_system_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> tuple[float, float, float]:
        raise OSError("no such thing")

    monkeypatch.setattr("os.getloadavg", unknown)
    assert machine.load() is None


@pytest.mark.parametrize(
    ("load", "cores", "own", "said"),
    [
        (None, 2, 0, None),
        (0.5, 2, 0, None),
        (0.6, 2, 0, "the machine was not quiet, so wall times may mislead: load 0.6 on 2 cores"),
        (1.6, 16, 0, None),
        (2.4, 2, 2, None),
        (3.0, 2, 2, "load 3 on 2 cores, 2 of it the engine's"),
    ],
)
def test_a_tenth_of_the_cores_is_noise(load: float | None, cores: int, own: float, said: str | None) -> None:
    noise = machine.noise(load, cores, own)
    assert (noise is None) == (said is None)
    assert (said or "") in (noise or "")
