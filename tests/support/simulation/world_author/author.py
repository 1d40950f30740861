"""Answers requests about worlds and their tools; studies each tool once, however many ask at the same time."""

from __future__ import annotations

import json
import threading
from collections import defaultdict

from evosyn.chat import Request
from evosyn.domains.world_tool import NAME
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Problem
from evosyn.synthesis.worlds.asking import DEBUG, TABLES, TOOLS
from simulation.author.replies import DrawnReply, cases_text, solution_text
from simulation.world_author.grammar import office
from simulation.world_author.replies import AUTHOR, draw_right_testing, draw_tool, draw_tool_testing
from simulation.world_author.study import ToolStudy, rates, study_tool

DRAWS = {"solution": draw_tool, "testing": draw_tool_testing}
CUT, REPAIRED = 0.06, 0.6
"""Shares of schemas that cannot be read, and of repairs that are right."""


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
        if problem is not None and request.purpose in (TOOLS, TABLES):
            return self._schema(str(problem.meta["world"]), request)
        if problem is not None and request.purpose == DEBUG:
            return self._repair(problem, request)
        if problem is None or request.purpose not in DRAWS:
            raise UsageError(
                f"offline teacher: it cannot write a {request.purpose} of {NAME}; use a model (--model ...)"
            )
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
        found = office(self._tree, str(problem.meta.get("world"))).sources.get(str(problem.meta.get("tool")))
        if found is None:
            raise UsageError(
                f"offline teacher: problem {problem.problem_id!r} has no reference, and is of none of its own offices; "
                "use a model (--model provider/name)"
            )
        return found

    def _schema(self, slug: str, request: Request) -> DrawnReply:
        """Tools or tables of an office."""
        rng = self._tree.child(request.purpose, slug, request.sample).random()
        found = office(self._tree, slug)
        body = json.dumps(found.tools if request.purpose == TOOLS else found.tables, indent=1)
        if rng.random() < CUT * rates()["strength"][self._strength]:
            return DrawnReply(f"```json\n{body[: len(body) * 2 // 3]}", "malformed", AUTHOR)
        return DrawnReply(cases_text(body, "json", rng), "right", AUTHOR)

    def _repair(self, problem: Problem, request: Request) -> DrawnReply:
        """A program or a testing: right more often than those before, since the case says where to look."""
        tree = self._tree.child(problem.id, "repair")
        rng = tree.child(request.sample).random()
        study = self.study(problem)
        if rng.random() < REPAIRED:
            if rng.random() < 0.5:
                return DrawnReply(solution_text(study.source, rng), "right", AUTHOR)
            return draw_right_testing(study, rng)
        return draw_tool(study, self._strength, tree, request.sample)
