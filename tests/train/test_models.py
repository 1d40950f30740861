"""A model that is nowhere is said to be so after one question to the hub."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from evosyn.errors import EvosynError, UnavailableError, UsageError
from evosyn.train.models import load_tokenizer

pytest.importorskip("transformers")


class Hub(BaseHTTPRequestHandler):
    status, asked = 503, 0

    def do_GET(self) -> None:
        Hub.asked += "model" in self.path  # what its client asks for itself does not count
        self.send_response(Hub.status)
        self.send_header("X-Error-Code", "RepoNotFound" if Hub.status == 404 else "")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    import huggingface_hub.constants as constants

    server = HTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    Hub.asked = 0
    yield Hub
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("model", "status", "kind", "asked"),
    [
        ("no-such-owner/no-such-model", 404, UsageError, 1),
        ("no-such-owner/no-such-model", 503, UnavailableError, 1),
        ("models/mine/model", 503, UsageError, 0),
    ],
)
def test_a_model_that_is_nowhere_costs_one_question(
    hub: type[Hub], model: str, status: int, kind: type[EvosynError], asked: int
) -> None:
    hub.status = status
    with pytest.raises(kind, match=model):
        load_tokenizer(model)
    assert hub.asked == asked
