"""Parsing in a process with threads, some of which are not ours."""

import ast
import copy
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import evosyn
from evosyn import parsing
from evosyn.domains import load_pools
from evosyn.environments import bundled
from evosyn.environments.contract import read_environment
from evosyn.environments.forms import Renaming, to_contract
from evosyn.environments.novelty import code_view
from evosyn.environments.replies import read_verifier
from evosyn.evaluators.terms import variants
from evosyn.strategies import known_names, load_known
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.source import write
from evosyn.worlds.tools.faults import silenced

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


def _blocks(head: str, levels: int) -> str:
    return "".join(f"{' ' * at}{head}\n" for at in range(levels)) + " " * levels + "pass"


NESTED: dict[str, Callable[[int], str]] = {
    "sum": lambda n: "x = " + "+".join("a" * n),
    "minus": lambda n: "x = " + "-" * n + "1",
    "lists": lambda n: "x = " + "[" * n + "]" * n,
    "tables": lambda n: "x = " + "{1:" * n + "1" + "}" * n,
    "tuples": lambda n: "x = " + "(" * n + "1" + ",)" * n,
    "calls": lambda n: "x = " + "f(" * n + ")" * n,
    "calls of calls": lambda n: "x = f" + "()" * n,
    "attributes": lambda n: "x = a" + ".b" * n,
    "keywords": lambda n: "x = " + "f(a=" * n + "1" + ")" * n,
    "lambdas": lambda n: "x = " + "lambda: " * n + "1",
    "choices": lambda n: "x = " + "1 if 1 else " * n + "1",
    "listings": lambda n: "x = " + "[a for a in " * n + "b" + "]" * n,
    "branches": lambda n: "if a: pass\n" + "elif a: pass\n" * n,
    "conditions": lambda n: _blocks("if a:", n),
    "functions": lambda n: _blocks("def f(a):", n),
    "classes": lambda n: _blocks("class A:", n),
    "patterns": lambda n: "match a:\n case " + "A(a={1:" * n + "_" + "})" * n + ": pass",
}
DEEP_SUM = f"def _pad(a):\n    return {'+'.join('a' * 600)}\n"


def _deepest(shape: Callable[[int], str]) -> ast.Module:
    tree = None
    for levels in range(1, 150):
        try:
            tree = parsing.parsed(shape(levels))
        except (RecursionError, SyntaxError):
            break
    assert tree is not None and levels < 149
    return tree


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_every_tree_that_is_let_in_can_be_copied_changed_and_written(shape: Callable[[int], str]) -> None:
    """With 300 frames to spare, so that a walk may begin deep in a program and put a little around what it found."""
    tree = _deepest(shape)

    def walk(frames: int) -> str:
        if frames:
            return walk(frames - 1)
        changed = Renaming({"a": "b"}).visit(copy.deepcopy(tree))
        return ast.dump(tree) + ast.unparse(ast.fix_missing_locations(changed))

    assert walk(200)


@pytest.mark.parametrize("text", [shape(600) for shape in list(NESTED.values())[:13]], ids=list(NESTED)[:13])
def test_what_is_nested_deeper_is_refused_before_anything_walks_it(text: str) -> None:
    with pytest.raises((RecursionError, SyntaxError, MemoryError)):
        parsing.parsed(text)


def test_all_that_comes_with_evosyn_is_far_from_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "DEEPEST", parsing.DEEPEST // 2)
    texts = [path.read_text() for path in Path(evosyn.__file__).parent.rglob("*.py")]
    texts += [path.read_text() for folder in ("known", "held-out") for path in bundled(folder).values()]
    texts += [*map(load_known, known_names()), *map(write, OPENINGS.values())]
    for name in ("python-seeds", "world-tools"):
        texts += [pool.problem.reference_solution or "" for pool in load_pools(f"builtin:{name}")]
    assert all(parsing.parsed(text) for text in texts)


def test_a_program_that_is_nested_too_deeply_is_none_wherever_programs_are_read() -> None:
    sound = bundled("known")["knapsack"].read_text()
    assert read_environment(sound + DEEP_SUM).reason == "does-not-parse: nested too deeply"
    assert to_contract(DEEP_SUM) == DEEP_SUM
    verifier = f"```python\n{DEEP_SUM}\ndef verify(instance, reference, answer):\n    return True\n```"
    assert read_verifier(verifier, sound).reason == "does-not-parse"
    assert read_verifier("```python\ndef verify(i, r, a):\n    return 1\n```", sound + DEEP_SUM).value is None
    assert variants(f"{load_known('initial')}\n\n{DEEP_SUM}") == []
    assert silenced(f"def f(db):\n    db.run('DELETE FROM a')\n    return {'+'.join('a' * 600)}\n") is None
    with pytest.raises(RecursionError, match="nested too deeply"):
        code_view(DEEP_SUM)


def test_an_integer_that_python_cannot_write_ends_no_card_and_no_mutation() -> None:
    huge = f"0x{'f' * 5000}"
    assert variants(f"BIG = {huge}\n\n\n{load_known('initial')}") == []
    assert silenced(f"def f(db):\n    db.run('DELETE FROM a')\n    return {huge}\n") is None
