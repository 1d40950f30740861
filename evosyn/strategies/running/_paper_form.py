"""Programs of the EvoSyn/OpenEvolve form, `strategy(instance, solution_ids, testing_ids, verify_func)`, as `rank`.

Sent to the sandbox as text beside `_harness` and executed there only for such a program. They were written to run in
the host: their pools, sleeps and progress bars are replaced by plain loops, their prints are dropped, and `verify_func`
answers from the matrix. Source: Du 2025 (EvoSyn), the paper's repository, `livecode/` and `verifier/`.
"""

from __future__ import annotations

import logging
import queue
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np


def from_lists(strategy: Callable[..., Any]) -> Callable[[Any], Any]:
    """Scores from sorted lists: minus the mean place over two runs, the second with both lists turned around.

    A stable sort leaves items of equal key in the order in which they came, so such items change places between the two
    runs and get equal means: the ties that the lists hide come back exactly. Ids name places of the list, so that
    breaking ties by id is undone in the same way.
    """

    def rank(evidence: Any) -> tuple[Any, Any]:
        passed = evidence.passed
        known = evidence.known
        totals = [np.zeros(size) for size in passed.shape]
        for step in (1, -1):
            lists = _lists(strategy, passed[::step, ::step].tolist(), known[::step, ::step].tolist())
            for total, order in zip(totals, lists, strict=True):
                place = np.empty(len(total))
                place[order] = np.arange(len(total))
                total -= place[::step] / 2
        return totals[0], totals[1]

    return rank


def _lists(strategy: Callable[..., Any], passed: list[list[bool]], known: list[list[bool]]) -> list[list[int]]:
    sizes = (len(passed), len(passed[0]) if passed else 0)

    def verify_func(_instance: Any, solution_id: str, testing_id: str) -> dict[str, Any]:
        m, n = int(solution_id), int(testing_id)
        fine = passed[m][n]
        return {
            "question_title": "problem",
            "instance_id": "problem",
            "solution_id": solution_id,
            "testing_id": testing_id,
            "result": fine,
            "unknown_error": not known[m][n],
            "test_result": {"result": fine, "agent_answer": "" if known[m][n] else "UNKNOWN_ERROR"},
            "metadata": {},
        }

    instance = {"question_title": "problem", "instance_id": "problem"}
    result = strategy(instance, [str(m) for m in range(sizes[0])], [str(n) for n in range(sizes[1])], verify_func)
    try:
        found = [[int(item) for item in items] for items in result]
    except (TypeError, ValueError):
        raise TypeError("strategy must return two sorted lists of ids: the solutions, then the testings") from None
    if len(found) != 2:
        raise ValueError(f"strategy must return two sorted lists of ids, returned {len(found)}")
    for what, order, size in zip(("solution", "testing"), found, sizes, strict=True):
        if sorted(order) != list(range(size)):
            raise ValueError(f"strategy returned {len(order)} {what} ids, must return the {size} given, each once")
    return found


class _Future:
    """A call that was made at once; its error waits for `result`, as in a pool."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]) -> None:
        self._value: Any = None
        self._error: Exception | None = None
        try:
            self._value = function(*arguments, **keywords)
        except Exception as error:  # noqa: BLE001  (a pool hands any error over to `result`)
            self._error = error

    def result(self, timeout: float | None = None) -> Any:  # noqa: ARG002
        if self._error is not None:
            raise self._error
        return self._value

    get = result

    def exception(self, timeout: float | None = None) -> Exception | None:  # noqa: ARG002
        return self._error

    def done(self) -> bool:
        return True


class _FormPool:
    """An executor or a multiprocessing pool that calls in order, in this process."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> _FormPool:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> _Future:
        return _Future(function, arguments, keywords)

    def apply_async(self, function: Callable[..., Any], args: Sequence[Any] = (), kwds: Any = None) -> _Future:
        return _Future(function, args, kwds or {})

    def apply(self, function: Callable[..., Any], args: Sequence[Any] = (), kwds: Any = None) -> Any:
        return function(*args, **(kwds or {}))

    def map(self, function: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> list[Any]:
        return [function(*items) for items in zip(*iterables, strict=False)]

    imap = imap_unordered = map  # noqa: A003  (the names of the real pool)

    def starmap(self, function: Callable[..., Any], iterable: Iterable[Sequence[Any]], *_: Any) -> list[Any]:
        return [function(*items) for items in iterable]

    def shutdown(self, *_: Any, **__: Any) -> None: ...

    close = join = terminate = shutdown


class _Thread:
    """A thread that does its work when it is started."""

    def __init__(
        self, *_: Any, target: Any = None, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None, **__: Any
    ) -> None:
        self._work = (target, args, kwargs or {})

    def start(self) -> None:
        target, arguments, keywords = self._work
        target(*arguments, **keywords)

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool:
        return False


class _Lock:
    """A lock that is always free: nothing runs beside its holder."""

    def __enter__(self) -> _Lock:
        return self

    def __exit__(self, *_: object) -> None: ...

    def acquire(self, *_: Any, **__: Any) -> bool:
        return True

    def release(self) -> None: ...


class _Progress:
    """`tqdm`: the iterable, without the bar."""

    def __init__(self, iterable: Iterable[Any] = (), **_: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None: ...

    def update(self, *_: Any) -> None: ...

    set_description = set_postfix = close = update


def _nothing(*_: Any, **__: Any) -> None: ...


def _module(name: str, **attributes: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(attributes)
    return module


def host_modules() -> dict[str, types.ModuleType]:
    """Stand-ins for what programs of the EvoSyn paper's repository import around the function itself."""
    futures = _module(
        "concurrent.futures",
        ProcessPoolExecutor=_FormPool,
        ThreadPoolExecutor=_FormPool,
        as_completed=lambda items, **_: list(items),
        wait=lambda items, *_, **__: (list(items), []),
        ALL_COMPLETED="ALL_COMPLETED",
    )
    pool = _module("multiprocessing.pool", Pool=_FormPool, ThreadPool=_FormPool)
    logger = _module("openhands.core.logger", openhands_logger=_module("logger", error=_nothing, info=_nothing))
    core = _module("openhands.core", logger=logger)
    clock = dict.fromkeys(("time", "perf_counter", "monotonic"), lambda: 0.0)
    bar = _module("tqdm", tqdm=_Progress)
    modules = [
        _module("concurrent", futures=futures),
        futures,
        _module("multiprocessing", Pool=_FormPool, cpu_count=lambda: 1, pool=pool),
        pool,
        _module("threading", Thread=_Thread, Lock=_Lock, RLock=_Lock),
        _module("time", sleep=_nothing, **clock),
        bar,
        _module("tqdm.auto", tqdm=_Progress),
        _module("os", cpu_count=lambda: 1, environ={}),
        _module("shared", delete_container=_nothing, get_runtime_id=lambda *ids: "-".join(map(str, ids))),
        _module("openhands", core=core),
        core,
        logger,
    ]
    return {module.__name__: module for module in [*modules, logging, queue, traceback]}
