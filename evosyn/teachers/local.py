"""`--model local:PATH`: a model of this machine as a teacher, generating in this process.

Requests that wait are answered together; a single one is never held back for company. What a served model gives beside
(continuous batching, several GPUs) this does not: for long runs start `vllm serve` and name its endpoint. Nothing heavy
is imported before the first call.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from evosyn.chat import Request
from evosyn.errors import UsageError
from evosyn.lengths import with_length
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.randomness import SeedTree
from evosyn.teachers._local import Engine, LocalAsk, open_engine
from evosyn.teachers.cache import ReplyCache, request_key
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.completions import Answer
from evosyn.teachers.failures import Failure, TransportError

PARAMETERS = ("temperature", "top_p", "top_k", "max_tokens", "stop", "chat_template_kwargs")
SAMPLED_BYTES = 1 << 16


class LocalTransport:
    """Implements `transports.Transport` over an engine, which is opened in its thread at the first call.

    Args:
        name: of the model; with the request it fixes the seed of a reply.
        open_engine: loads the model.
        batch: most requests answered together.
        seed: another seed draws other replies.
    """

    def __init__(self, name: str, open_engine: Callable[[], Engine], batch: int, seed: int) -> None:
        self._name, self._open, self._batch = name, open_engine, batch
        self._tree = SeedTree(seed).child("local")
        self._engine: Engine | None = None
        self._closed = False
        self._waiting: list[tuple[LocalAsk, asyncio.Future[Answer]]] = []
        self._working: asyncio.Task[None] | None = None

    async def send(self, request: Request) -> Answer:
        """
        Raises:
            UsageError: an unknown parameter, or the model cannot be loaded.
            TransportError: this request cannot be put to the model.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._ask(request), answer))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await answer

    async def aclose(self) -> None:
        self._closed = True
        if self._engine is not None:
            self._engine.stop()
        if self._working is not None:
            self._working.cancel()

    def _ask(self, request: Request) -> LocalAsk:
        unknown = sorted(set(request.params) - set(PARAMETERS))
        if unknown:
            raise UsageError(f"--model local: it does not know the parameter {unknown[0]!r}; {', '.join(PARAMETERS)}")
        params = with_length(request.params, request.length)
        stop = params.pop("stop", None) or ()
        return LocalAsk(
            messages=[{"role": message.role, "content": message.content} for message in request.messages],
            seed=self._tree.child(request_key(self._name, request)).integer() % 2**63,
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            template=params.pop("chat_template_kwargs", None) or {},
            **params,
        )

    async def _work(self) -> None:
        await asyncio.sleep(0)  # whoever asks in the same turn of the loop is in the same batch
        while self._waiting:
            batch, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
            batch = [one for one in batch if not one[1].done()]
            asks = [ask for ask, _ in batch]
            done = asyncio.wrap_future(_in_daemon(partial(self._answers, asks)))
            await asyncio.wait([done])
            error = done.exception()
            for at, (_, future) in enumerate(batch):
                answer = done.result()[at] if error is None else error
                if future.done():
                    continue
                if isinstance(answer, Answer):
                    future.set_result(answer)
                else:
                    future.set_exception(answer)

    def _answers(self, asks: Sequence[LocalAsk]) -> list[Answer | TransportError]:
        if self._engine is None:
            self._engine = self._open()
        if self._closed:
            raise TransportError(Failure.TRANSPORT, "closed while the model was loading")
        return self._engine.answers(asks)


class LocalModelConfig(PluginConfig):
    """
    Attributes:
        path: directory in the format of transformers, with a chat template.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`; vLLM takes the GPUs that it sees.
        dtype: `auto` (as stored), `bfloat16`, `float16`, `float32`.
        engine: `auto` is vLLM where it is installed and a GPU is there.
    """

    path: Annotated[Path, Argument("PATH")]
    device: str = "auto"
    dtype: str = "auto"
    engine: Literal["auto", "transformers", "vllm"] = "auto"


def create(tools: TeacherTools, config: LocalModelConfig) -> ChatTeacher:
    """A teacher that generates with the model in `config.path`; it answers `tools.calls` requests together.

    Raises:
        UsageError: no such directory, no model in it, or the library is not installed.
    """
    path, engine = config.path, config.engine
    folder = path.expanduser()
    if not folder.is_dir():
        raise UsageError(
            f"--model local:{path}: no such directory; fetch a model first: hf download OWNER/NAME --local-dir {path}"
        )
    if not (folder / "config.json").is_file():
        raise UsageError(f"--model local:{path}: holds no config.json, so no model in the format of transformers")
    for library in ("vllm",) if engine == "vllm" else ("torch", "transformers"):
        if importlib.util.find_spec(library) is None:
            raise UsageError(
                f"--model local:{path}: needs {library}, which is not installed; pip install "
                f"{'vllm' if library == 'vllm' else 'evosyn[train]'}"
            )
    name = f"local/{folder.resolve().name}-{digest_of(folder)}"
    transport = LocalTransport(
        name, lambda: open_engine(engine, folder, config.device, config.dtype), tools.calls, tools.seed
    )
    chat = ChatConfig(concurrency=tools.calls, hedge=None, retries=0, lead=False)
    return ChatTeacher(name, transport, chat, ReplyCache(tools.replies), tools.budget, reasoning=tools.reasoning)


def digest_of(folder: Path) -> str:
    """Eight letters that change with the model: settings as a whole, weights by size and samples of their bytes."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in (".json", ".jinja", ".model", ".txt") and file.is_file():
            digest.update(file.name.encode() + file.read_bytes())
        elif file.suffix in (".safetensors", ".bin", ".pt") and file.is_file():
            size = file.stat().st_size
            digest.update(f"{file.name} {size}".encode())
            with file.open("rb") as weights:
                for part in range(17):
                    weights.seek(max(0, size - SAMPLED_BYTES) * part // 16)
                    digest.update(weights.read(SAMPLED_BYTES))
    return digest.hexdigest()[:8]


def _in_daemon(work: Callable[[], list[Answer | TransportError]]) -> Future[list[Answer | TransportError]]:
    """Run `work` in a daemon thread: an interrupt ends the process without waiting for a model that loads."""
    future: Future[list[Answer | TransportError]] = Future()

    def body() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001  raised again where it is awaited
            future.set_exception(error)

    threading.Thread(target=body, daemon=True, name="evosyn-local-model").start()
    return future
