"""llama-server with one of the small models, alone on the machine: started, asked whether it is ready, stopped.

`python -m tests.real.server MODEL [--slots N] [--port P]` serves until it is interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.real.weights import MODELS, cache, server, weights

WINDOW = 32_768
"""Tokens of all slots together: 2,048 each for 16 of them, 8,192 for 4."""
START_S = 120.0


class LlamaServer:
    """A server of one model; a context manager.

    Args:
        model: a name of `MODELS`, or the path of a GGUF file.
        slots: requests that it works on at once, which share its window.
        port: 0 for a free one.
    """

    def __init__(self, model: str, slots: int = 16, port: int = 0) -> None:
        self.model, self.slots, self.port = model, slots, port or _free_port()
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LlamaServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """
        Raises:
            RuntimeError: it ended, or is not ready in time; with the last lines of its log.
        """
        cores = str(len(os.sched_getaffinity(0)))
        file = weights(self.model) if self.model in MODELS else Path(self.model)
        command = [server(), "-m", file, "--port", str(self.port), "--host", "127.0.0.1", "-np", str(self.slots)]
        command += ["-c", str(WINDOW), "-t", cores, "-tb", cores, "--no-webui", "-cb", "--metrics"]
        log = cache() / f"server-{self.port}.log"
        with log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        until = time.monotonic() + START_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"llama-server is not ready:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        self._process = None

    def counted(self) -> Mapping[str, float]:
        """What it counted since it started, by the names of its metrics: `prompt_tokens_total`, ..."""
        return counted(self.base_url)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2) as answer:
                return bool(json.load(answer).get("status") == "ok")
        except (OSError, ValueError):
            return False


def counted(base_url: str) -> Mapping[str, float]:
    """The same of a llama-server at an address."""
    with urllib.request.urlopen(f"{base_url.rstrip('/').removesuffix('/v1')}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    pairs = [line.split() for line in lines if line.startswith("llamacpp:")]
    return {name.partition(":")[2]: float(value) for name, value in pairs}


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help=f"one of {', '.join(MODELS)}, or a GGUF file")
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args()
    with LlamaServer(options.model, options.slots, options.port) as running:
        print(f"{running.base_url} serves {options.model} in {options.slots} slots", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main()
