import pytest

from engine.errors import DecodeFailed, EngineError, InvalidRequest, PromptTooLong, Unavailable


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InvalidRequest("n_predict: no"), 400, "invalid_request_error"),
        (PromptTooLong(700, 512), 400, "exceed_context_size_error"),
        (Unavailable("loading model"), 503, "unavailable_error"),
        (DecodeFailed("llama_decode returned -3"), 500, "server_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, EngineError) else "",
)
def test_an_error_is_written_as_llama_server_does(error: EngineError, status: int, kind: str) -> None:
    body = error.body()["error"]
    assert isinstance(body, dict)
    assert (body["code"], body["type"], body["message"]) == (status, kind, str(error))


def test_a_prompt_that_does_not_fit_tells_both_sizes() -> None:
    body = PromptTooLong(700, 512).body()["error"]
    assert isinstance(body, dict)
    assert (body["n_prompt_tokens"], body["n_ctx"]) == (700, 512)
