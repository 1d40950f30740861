"""Parsing in a process with threads, some of which are not ours."""

import ast
import subprocess
import sys
import threading

import pytest

from evosyn import parsing

DEEP = (
    "x = "
    + "[" * 60
    + "1"
    + "]" * 60
    + "\n"
    + "".join(f"def f{n}(a, b=({n}, [1])): return a + b\n" for n in range(200))
)


@pytest.mark.slow
def test_a_text_is_parsed_beside_threads_that_parse_without_asking() -> None:
    stop = threading.Event()

    def parse_on() -> None:
        while not stop.is_set():
            try:
                ast.parse(DEEP)
            except SystemError:
                continue

    others = [threading.Thread(target=parse_on) for _ in range(3)]
    for other in others:
        other.start()
    try:
        assert all(len(parsing.parsed(DEEP).body) == 201 for _ in range(60))
        assert [parsing.literal(f"[{n}, 'a']") for n in range(300)] == [[n, "a"] for n in range(300)]
    finally:
        stop.set()
        for other in others:
            other.join()


@pytest.mark.parametrize("text", ["", "f()", "x = 1", "1; 2", "[1", "{[]: 1}"])
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError, TypeError)):
        parsing.literal(text)


def test_what_python_warns_of_in_a_text_of_a_model_is_not_said() -> None:
    line = "from evosyn.parsing import parsed; parsed('x = 1if 1else 2')"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stderr == ""
