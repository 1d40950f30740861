"""A model that is nowhere is said to be so after one question to the hub; one that is there is loaded for training."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from evosyn.errors import EvosynError, UnavailableError, UsageError
from evosyn.train.config import MemoryConfig
from evosyn.train.models import load_model, load_tokenizer

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


def test_a_model_is_loaded_without_the_attention_whose_gradients_may_be_no_numbers(tmp_path: Path) -> None:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    sizes = {"vocab_size": 16, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    config = Qwen2Config(**sizes, num_attention_heads=2, num_key_value_heads=2, bos_token_id=None, eos_token_id=1)
    Qwen2ForCausalLM(config).save_pretrained(tmp_path)
    torch.backends.cuda.enable_cudnn_sdp(True)
    load_model(str(tmp_path), MemoryConfig(), bf16=False)
    assert not torch.backends.cuda.cudnn_sdp_enabled() and torch.backends.cuda.flash_sdp_enabled()
