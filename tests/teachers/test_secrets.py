"""What a provider says back is told to the user, but never a secret that it repeats."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from evosyn.chat import Message, Request
from evosyn.teachers.failures import Endpoint, TransportError
from evosyn.teachers.transports import CompatibleTransport

SECRET = "sk-9f3b2c7a-very-secret"


class Echo(BaseHTTPRequestHandler):
    """An endpoint that refuses, and repeats the key that it was given, as some do."""

    def do_POST(self) -> None:
        self.send_response(401)
        self.end_headers()
        self.wfile.write(f"Incorrect API key provided: {self.headers['Authorization']}".encode())

    def log_message(self, *_args: object) -> None: ...


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["PROVIDER_KEY", "MY_LOGIN"])
def test_a_key_that_an_endpoint_repeats_is_not_told(name: str, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, SECRET)

    async def ask() -> None:
        transport = CompatibleTransport(Endpoint("openai/m", endpoint, name, 10.0))
        try:
            await transport.send(Request((Message("user", "hello"),), "solution"))
        finally:
            await transport.aclose()

    with pytest.raises(TransportError) as caught:
        asyncio.run(ask())
    assert "Incorrect API key" in str(caught.value)
    assert SECRET not in str(caught.value)
