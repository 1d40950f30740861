"""What each kind of child does with its descriptors, once it has been hardened: read its work, do it, write records.

These functions run in the process that is judged (or that judges as a testing), never in an ancestor of one.
"""

from __future__ import annotations

import _socket
import fcntl
import gc
import marshal
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evosyn.sandbox._inside import child, forker, rpc, script

CALLS, COMPANY, ARGUMENTS, PROGRAM, TESTING, WARM, COMPILE, RUN, LOAD, HOST, HARNESS = range(11)

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
OUTPUT_SLACK = 4096
"""What a program may print beyond its limit, so that it is seen to have done so."""


def take(handle: int) -> bytes:
    """All bytes of a file, which is closed."""
    data = os.pread(handle, os.lseek(handle, 0, os.SEEK_END), 0)
    os.close(handle)
    return data


def parts(handle: int, first: int, stop: int) -> Iterator[bytes]:
    """Some parts of a file of parts (a table of sizes, then one after the other), each read when it is asked for."""
    count = int.from_bytes(os.pread(handle, 4, 0), "little")
    table = os.pread(handle, 4 * count, 4)
    sizes = [int.from_bytes(table[at : at + 4], "little") for at in range(0, len(table), 4)]
    at = 4 + 4 * count + sum(sizes[:first])
    for size in sizes[first:stop]:
        yield os.pread(handle, size, at)
        at += size


def joined(parts: Sequence[bytes]) -> bytes:
    """A file of parts."""
    numbers = [len(parts), *(len(part) for part in parts)]
    return b"".join([*(number.to_bytes(4, "little") for number in numbers), *parts])


def part(handle: int, number: int) -> bytes:
    """One part of a file of parts."""
    return next(parts(handle, number, number + 1))


def _work(boot: forker.Boot, order: forker.Order, records: int) -> child.Work:
    return child.Work(order.limits, order.left_s, boot.alarm, child.Writer(records, order.limits))


def _calls(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    body, records, *computed = handles
    places = marshal.loads(part(computed[0], 0)) if computed else {}

    def value(item: int) -> bytes | None:
        place = places[item]
        return None if place is None else part(computed[0], place)

    spread = parts(body, 0, 1 << 31)
    head, reached = next(spread), 0

    def group(number: int) -> bytes:  # most jobs have few, and read them in turn
        nonlocal reached
        if number != reached:
            return part(body, 1 + number)
        reached += 1
        return next(spread)

    items = range(order.first, order.stop)
    child.run_calls(head, group, items, value, _work(boot, order, records))


def _company(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    body, records = handles
    child.run_company(parts(body, order.first, order.stop), _work(boot, order, records))


def _arguments(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    body, records = handles
    child.run_arguments(take(body), _work(boot, order, records))


def _program(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    body, records, ask, answer = handles
    sources, entry_point = marshal.loads(take(body))
    to = child.Writer(records, order.limits)
    rpc.run_program((ask, answer), sources, entry_point, order.limits, boot.alarm, to)


def _testing(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    body, records, ask, answer = handles
    entry_point, checks = marshal.loads(take(body))
    peer = rpc.Peer(ask, answer, order.limits.output_kb * 1024)
    to = child.Writer(records, order.limits)
    rpc.run_testing(peer, entry_point, checks, order.limits, boot.alarm, to, rpc.Codes())


def _warm(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    jobs, records, done, ask, answer = handles
    rpc.serve((jobs, done, ask, answer), records, order.limits, boot.alarm)


def _compile(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    """Nothing of the program has run when its code is sealed, for this input and the ones that follow."""
    body, records, given, output, sealed = handles
    to = child.Writer(records, order.limits)
    code = child.compile_guarded(take(body), boot.alarm, order.limits, to)
    if code is None:
        return
    if os.write(sealed, code) != len(code):
        os._exit(child.EXIT_FULL)
    fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, _SEALS)
    os.close(sealed)
    child.limit_files(order.limits.output_kb * 1024 + OUTPUT_SLACK)
    _printing(boot, order, code, (given, output), to)


def _run(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    body, records, given, output = handles
    _printing(boot, order, take(body), (given, output), child.Writer(records, order.limits))


def _printing(boot: forker.Boot, order: forker.Order, code: bytes, streams: tuple[int, int], to: child.Writer) -> None:
    for place, handle in enumerate(streams):
        os.dup2(handle, place)
        os.close(handle)
    script.run(code, boot.alarm, order.limits, to)


def _load(boot: forker.Boot, _order: forker.Order, handles: list[int]) -> None:
    socket, source = handles
    main = child.load([take(source).decode("utf-8", "surrogatepass")], "harness")["main"]
    _serve(socket, boot._replace(harness=main))


def _host(boot: forker.Boot, _order: forker.Order, handles: list[int]) -> None:
    socket, context = handles
    _serve(socket, boot._replace(hosted=_beside(boot, context)))


def _beside(boot: forker.Boot, context: int) -> Callable[[Any, Any], Any]:
    """What the harness does with a program beside this context, which is decoded."""
    assert boot.harness is not None
    main, packed = boot.harness, take(context)
    value: Any = None
    if packed:
        import pickle

        value = pickle.loads(packed)
    del packed
    return lambda program, argument: main(program, value, argument)


def _serve(socket: int, boot: forker.Boot) -> None:
    gc.freeze()
    gc.disable()
    forker.Server(_socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, socket), boot).serve()


def _harness(boot: forker.Boot, order: forker.Order, handles: list[int]) -> None:
    body, records, *context = handles
    main = _beside(boot, *context) if context else boot.hosted
    assert main is not None
    (argument,) = parts(body, 0, 1)
    programs = parts(body, 1 + order.first, 1 + order.stop)
    child.run_harness(main, programs, marshal.loads(argument), _work(boot, order, records))


KINDS = (_calls, _company, _arguments, _program, _testing, _warm, _compile, _run, _load, _host, _harness)
