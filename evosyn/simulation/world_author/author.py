"""Answers requests about worlds and their tools; studies each tool once, however many ask at the same time."""

from __future__ import annotations

import threading
from collections import defaultdict

from evosyn.chat import Request
from evosyn.domains.world_tool import NAME
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Problem
from evosyn.simulation.author.replies import DrawnReply
from evosyn.simulation.world_author.replies import draw_tool, draw_tool_testing
from evosyn.simulation.world_author.study import ToolStudy, study_tool

DRAWS = {"solution": draw_tool, "testing": draw_tool_testing}


class WorldAuthor:
    """Blocks while a tool is studied; may be used from several threads.

    Args:
        strength: of the offline teacher.
    """

    def __init__(self, tree: SeedTree, strength: str, sandbox: Sandbox | None) -> None:
        self._tree, self._strength, self._sandbox = tree.child("worlds"), strength, sandbox
        self._studies: dict[str, ToolStudy] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def draw(self, request: Request) -> DrawnReply:
        """The reply to a request about a tool.

        Raises:
            UsageError: the problem is none of ours, or something is asked that it cannot write.
            SandboxUnavailable: the sandbox failed.
        """
        problem = request.problem
        if problem is None or request.purpose not in DRAWS:
            raise UsageError(f"offline teacher: it cannot write a {request.purpose} of {NAME}; use a model (--model ...)")
        tree = self._tree.child(problem.id)
        return DRAWS[request.purpose](self.study(problem), self._strength, tree, request.sample)

    def study(self, problem: Problem) -> ToolStudy:
        """What it knows of a tool.

        Raises:
            UsageError, SandboxUnavailable: as `draw`.
        """
        with self._lock:
            lock = self._locks[problem.id]
        with lock:
            if problem.id not in self._studies:
                self._studies[problem.id] = self._study(problem)
            return self._studies[problem.id]

    def _study(self, problem: Problem) -> ToolStudy:
        if self._sandbox is None:
            raise UsageError("offline teacher: tools need a sandbox; give TeacherTools(sandbox=...)")
        return study_tool(problem, self.right(problem), self._sandbox, self._tree.child(problem.id))

    def right(self, problem: Problem) -> str:
        """A right program for a tool.

        Raises:
            UsageError: the problem has no reference.
        """
        if problem.reference_solution is not None:
            return problem.reference_solution
        raise UsageError(f"offline teacher: problem {problem.problem_id!r} has no reference; use a model (--model ...)")
