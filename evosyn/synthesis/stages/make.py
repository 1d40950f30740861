"""The stage that makes a new problem from the seeds of its brief. Du 2025, section 3.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evosyn.chat import Reply, Request
from evosyn.dataset import Reject
from evosyn.ports import Domain, Teacher
from evosyn.running.ledger import Ledger
from evosyn.running.progress import usage_of
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.problems import Briefs, ProblemConfig, make_problem, problem_name


class MakeProblem:
    """Asks until a reply reads as a problem; drops the instance where none does."""

    name = "make"
    concurrency = None

    def __init__(
        self,
        config: ProblemConfig,
        briefs: Briefs,
        domains: Mapping[str, Domain],
        teacher: Teacher,
        ledger: Ledger[Instance],
    ) -> None:
        self._config, self._briefs, self._domains = config, briefs, domains
        self._teacher, self._ledger = teacher, ledger

    async def run(self, instance: Instance) -> Instance:
        brief = self._briefs.brief(instance.index)

        async def ask(index: int, attempt: int, request: Request) -> Reply:
            return await self._ledger.ask((index, "problem", 0, attempt), request, self._teacher)

        domain, simulated = self._domains[brief.seeds[0].domain], self._teacher.simulated
        made = await make_problem(brief, self._briefs, domain, ask, self._config, simulated=simulated)
        self._ledger.counts.end_slot(
            [one.reply for one in made.attempts], sum(bool(one.reason) for one in made.attempts)
        )
        name = problem_name(instance.index)
        found = replace(
            instance,
            problem=made.problem,
            brief={"seeds": [seed.problem_id for seed in brief.seeds], "wishes": dict(brief.wishes)},
            rejects=tuple(
                Reject("problem", one.reason, "reply", instance.index, name, (), one.reply.id, one.detail)
                for one in made.attempts
                if one.reason
            ),
            usage=usage_of([one.reply for one in made.attempts]),
        )
        last = made.attempts[-1]
        return found if made.problem is not None else found.drop("problem", last.reason, last.detail)
