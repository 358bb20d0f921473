import pytest
from pydantic import ValidationError

from engine.config import EngineConfig


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        EngineConfig().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": 65536},
        {"slots": 0},
        {"ctx": 0},
        {"threads": 0},
        {"kv": "q8_0"},
        {"queue_depth": 0},
        {"slot_save_path": "/nowhere"},
        {"cache_ram": -1},
        {"cache_disk": 0},
        {"prot": 1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_cannot_be_right_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        EngineConfig.model_validate(wrong)


def test_the_reproducible_cache_type_is_the_default() -> None:
    assert EngineConfig().kv == "bf16"
