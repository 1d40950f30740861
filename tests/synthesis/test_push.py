"""`--push`: what is uploaded, and what the user hears when the hub refuses; against a local stand-in for the hub."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evosyn.errors import UnavailableError, UsageError
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.push import push_dataset

pytest.importorskip("huggingface_hub")


class Hub(BaseHTTPRequestHandler):
    """Speaks as much of the hub's protocol as one upload needs, and keeps what it got."""

    status = 200
    got: dict = {}  # noqa: RUF012

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.setdefault("paths", []).append(self.path)
        self.got["authorization"] = self.headers.get("Authorization")
        if self.status != 200:
            return self._send({"error": "refused"}, self.status)
        if self.path == "/api/repos/create":
            self.got["create"] = json.loads(body)
            return self._send(
                {"url": f"http://{self.headers['Host']}/datasets/owner/name", "id": "owner/name", "name": "owner/name"}
            )
        if "/preupload/" in self.path:
            files = [{**one, "uploadMode": "regular", "shouldIgnore": False} for one in json.loads(body)["files"]]
            return self._send({"files": files})
        if "/commit/" in self.path:
            self.got["commit"] = [json.loads(line) for line in body.decode().splitlines()]
            return self._send(
                {
                    "commitUrl": f"http://{self.headers['Host']}/datasets/owner/name/commit/1",
                    "commitOid": "1",
                    "hookOutput": "",
                }
            )
        return self._send({})

    def do_GET(self):
        self._send({"sha": "0", "siblings": [], "id": "owner/name"})

    def _send(self, value, status=200):
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Hub,), {"got": {}}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.hf_api.ENDPOINT", address, raising=False)
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_" + "a" * 34)
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    yield server.RequestHandlerClass
    server.shutdown()


@pytest.fixture
def data(toy, tmp_path):
    toy.run(tmp_path / "d", SynthesizeConfig(problems=10, solutions=4, testings=4))
    return tmp_path / "d"


def test_one_private_commit_holds_the_dataset_and_the_card_and_nothing_else(hub, data):
    assert push_dataset(data, "owner/name").endswith("/datasets/owner/name/commit/1")
    assert hub.got["create"].get("private") is True or hub.got["create"].get("visibility") == "private"
    assert hub.got["create"]["type"] == "dataset"
    files = {one["value"]["path"]: one["value"] for one in hub.got["commit"] if one["key"] == "file"}
    assert set(files) == {
        "README.md", "report.json", "rejects.jsonl", "strategy.py", "quality.png",
        "dataset/evosyn.parquet", "dataset/relaxed.parquet", "dataset/random.parquet",
    }  # fmt: skip
    sent = base64.b64decode(files["dataset/evosyn.parquet"]["content"])
    assert sent == (data / "dataset" / "evosyn.parquet").read_bytes()


def test_a_refusal_of_the_hub_is_said_and_resumable(hub, data):
    hub.status = 403
    with pytest.raises(UnavailableError, match="the hub did not take it"):
        push_dataset(data, "owner/name")


def test_an_unfinished_directory_and_a_bad_name_are_refused_before_anything_is_sent(hub, data):
    with pytest.raises(UsageError, match="owner/name"):
        push_dataset(data, "name")
    (data / "report.json").unlink()
    with pytest.raises(UsageError, match=r"report\.json"):
        push_dataset(data, "owner/name")
    assert hub.got == {}
