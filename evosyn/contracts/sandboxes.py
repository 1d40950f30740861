"""What every sandbox must keep to, on harmless jobs. What it protects from is not said here: docs/sandbox.md."""

from __future__ import annotations

from unittest import SkipTest

from evosyn.contracts.base import PluginContract
from evosyn.errors import UnavailableError
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, CompanyJob, HarnessJob, ItemOutcome, Job, Status, StdioJob
from evosyn.ports import Sandbox, SandboxTools

ADDING = tuple(CallsJob(f"def f(x): return x + {number}", "f", (Call((1,)), Call((2,)))) for number in range(5))
COUNTS = "class A:\n def __init__(self): self.n = 0\n def up(self):\n  self.n += 1\n  return self.n\n"
ENDS: tuple[tuple[Job, list[tuple[Status, object]]], ...] = (
    (ADDING[1], [(Status.OK, 2), (Status.OK, 3)]),
    (CallsJob("def f(): pass", "f", ()), []),
    (CallsJob("x =", "f", (Call(), Call())), [(Status.LOAD_ERROR, None)] * 2),
    (CallsJob("x = 1", "f", (Call(),)), [(Status.NO_ENTRY, None)]),
    (CallsJob("def f(x): return 1 // x", "f", (Call((0,)), Call((1,)))), [(Status.EXCEPTION, None), (Status.OK, 1)]),
    (CallsJob("import os\ndef f(): os._exit(0)", "f", (Call(),)), [(Status.KILLED, None)]),
    (CallsJob("def f(): return object()", "f", (Call(),)), [(Status.NOT_PLAIN, None)]),
    (CompanyJob(ADDING[:2]), [(Status.OK, 1), (Status.OK, 2), (Status.OK, 2), (Status.OK, 3)]),
    (StdioJob("print(input() * 2)", ("ab", "c")), [(Status.OK, "abab\n"), (Status.OK, "cc\n")]),
    (CallsJob("def f(x): return g(x)", "f", (Call((1,)),), before=("def g(x): return x",)), [(Status.OK, 1)]),
    (CallsJob("x = 1", "f", (Call(),), before=("def f(): return 1",)), [(Status.NO_ENTRY, None)]),
    (CallsJob(COUNTS, "A.up", (Call(), Call())), [(Status.OK, 1), (Status.OK, 1)]),
    (StdioJob("print(twice(input()))", ("ab",), before=("def twice(x): return 2 * x",)), [(Status.OK, "abab\n")]),
    (
        ChecksJob("def f(x): return x", "f", (Check("assert f(1) == 1"), Check("assert f(1) == 2"))),
        [(Status.OK, None), (Status.EXCEPTION, None)],
    ),
)
"""Jobs, and how each of their items ends."""
HARNESS = "def main(program, context, argument):\n    return [program, context['a'], argument]\n"


class SandboxContract(PluginContract):
    """Subclass it, and set `create`; a sandbox that cannot be opened on this machine is skipped."""

    kind = "sandboxes"

    def tools(self) -> SandboxTools:
        """One worker."""
        return SandboxTools(workers=1)

    def test_it_names_what_it_protects_and_closes_twice(self) -> None:
        sandbox = self._opened()
        with sandbox:
            assert isinstance(sandbox, Sandbox), f"{sandbox!r} lacks a method of ports.Sandbox"
            said = sandbox.protection
            assert said.backend and said.version, f"protection: {said}: both name what a verdict was found with"
            assert said.programs, f"protection: {said}: `programs` tells what programs find there"
            assert said.level in ("strong", "medium", "weak"), f"protection: the level is {said.level!r}"
        sandbox.close()

    def test_every_kind_of_job_ends_as_it_should_with_an_outcome_for_each_item(self) -> None:
        with self._opened() as sandbox:
            assert sandbox.run([]) == [], "run: no jobs, no outcomes"
            for job, wanted in ENDS:
                (outcomes,) = sandbox.run([job])
                found = [(one.status, one.value) for one in outcomes]
                assert found == wanted, f"run: {job} ends in {outcomes}, not in {wanted}"

    def test_results_come_in_the_order_of_the_jobs_and_each_is_told_once(self) -> None:
        told: dict[int, tuple[ItemOutcome, ...]] = {}

        def on_done(index: int, outcomes: tuple[ItemOutcome, ...]) -> None:
            assert index not in told, f"on_done: job {index} is told twice"
            told[index] = outcomes

        with self._opened() as sandbox:
            results = sandbox.run(ADDING, on_done=on_done)
        values = [[one.value for one in outcomes] for outcomes in results]
        assert values == [[number + 1, number + 2] for number in range(5)], f"run: results out of order: {values}"
        assert told == dict(enumerate(results)), "on_done: must be told of each job, with its outcomes"

    def test_a_program_leaves_nothing_behind_for_the_next(self) -> None:
        program = (
            "import builtins\ndef f():\n    builtins.left = getattr(builtins, 'left', 0) + 1\n    return builtins.left"
        )
        with self._opened() as sandbox:
            found = [sandbox.run([CallsJob(program, "f", (Call(),))])[0][0].value for _ in range(3)]
        assert found == [1, 1, 1], f"run: programs see what earlier ones left: {found}"

    def test_shared_data_reach_the_harness(self) -> None:
        with self._opened() as sandbox:
            key, again = sandbox.share({"a": 1}), sandbox.share({"a": 1})
            assert key == again, "share: the key is one of content"
            ((outcome,),) = sandbox.run([HarnessJob(HARNESS, "text", key, 2)])
        assert (outcome.status, outcome.value) == (Status.OK, ["text", 1, 2]), f"run: a harness ends in {outcome}"

    def _opened(self) -> Sandbox:
        try:
            opened: Sandbox = self.make()
            return opened
        except UnavailableError as error:
            raise SkipTest(str(error)) from error
