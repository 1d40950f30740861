"""The stage that makes what pays for a row: the agreed cases of all testings, and large inputs that the top agrees on.

The examples of the statement run beside it: a problem whose own example the best solution contradicts would give a
trainer a prompt that its reward denies, so it is dropped. What is joined is executed once more against all M solutions;
the best one is then one of the top that passes it; where none does, the chosen testing pays alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evosyn.chat import SAMPLE_STRIDE, Reply, Request
from evosyn.evaluators.columns import DistinctCase, ranked_cases
from evosyn.ports import Crossexec, Domain, Sandbox, Teacher
from evosyn.records import PassMatrix, Pool, Problem, Ranking, Testing, Verdict
from evosyn.running.batches import Batches
from evosyn.running.ledger import Ledger
from evosyn.running.progress import Usage, usage_of
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.enlarge import FEWEST_AGREEING, Enlarger
from evosyn.synthesis.generate import attempted, rejects_of
from evosyn.synthesis.instance import Instance, testing_size
from evosyn.synthesis.prune import Choice
from evosyn.synthesis.reward import Reward, agreed, distinct, parts_of, top_solutions
from evosyn.synthesis.usable import Kind

CONTRADICTED = "example-contradicted"
NOT_JOINED = "cases-not-joined"


class RankedInstance(NamedTuple):
    """An instance that a setting keeps, with all that its reward is made from.

    Attributes:
        matrix: with the columns that were ranked.
        top: different solutions of the highest score that pass the chosen testing, the best one first.
        testing: place of the testing as drawn that was chosen, or that holds the chosen case.
        cases: what the columns are, where these are cases.
        inputs: large ones; None where there are none.
    """

    instance: Instance
    pool: Pool
    domain: Domain
    matrix: PassMatrix
    ranking: Ranking
    choice: Choice
    top: tuple[int, ...]
    testing: int
    cases: Sequence[DistinctCase] = ()
    inputs: Testing | None = None


class MakeReward:
    """Makes the reward of every instance that a setting keeps.

    Args:
        teacher: asked for large inputs.
        sandbox: where code that makes cases runs, and solutions on large inputs.
    """

    name = "reward"
    concurrency = None

    def __init__(
        self,
        config: SynthesizeConfig,
        domains: Mapping[str, Domain],
        teacher: Teacher,
        ledger: Ledger[Instance],
        crossexec: Crossexec,
        sandbox: Sandbox,
    ) -> None:
        self._config, self._sampling, self._limits = config.filter.reward, config.sampling, config.execute.limits
        self._domains, self._teacher, self._ledger = domains, teacher, ledger
        self._crossexec, self._enlarger = crossexec, Enlarger(sandbox, self._limits)
        self._made = Batches(self._make, config.execute.batch)

    async def run(self, instance: Instance) -> Instance:
        """The instance with its reward; dropped where its best solution contradicts its own examples."""
        ranked = self._ranked(instance)
        if ranked is None:
            return instance
        if self._config.large and "inputs" in ranked.domain.asks and len(ranked.top) >= FEWEST_AGREEING:
            ranked = await self._with_inputs(ranked)
        return await self._made(ranked)

    def _ranked(self, instance: Instance) -> RankedInstance | None:
        pool, matrix, decision, ranking = instance.pool, instance.ranked, instance.decision, instance.ranking
        if pool is None or matrix is None or decision is None or not isinstance(ranking, Ranking):
            return None
        if decision.chosen is None:
            return None
        top = top_solutions(matrix, ranking, decision.chosen).tolist()
        different = tuple(distinct(matrix, [decision.chosen.best, *top]))
        cases = ranked_cases(drawn) if instance.unit == "case" and (drawn := instance.matrix) is not None else ()
        domain = self._domains[pool.problem.domain]
        testing = decision.chosen.testing if (first := instance.chosen_testing) is None else first
        return RankedInstance(instance, pool, domain, matrix, ranking, decision.chosen, different, testing, cases)

    async def _with_inputs(self, ranked: RankedInstance) -> RankedInstance:
        instance, problem = ranked.instance, ranked.pool.problem

        async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:
            return await self._ledger.ask((instance.index, kind, slot, attempt), request, self._teacher)

        requests = [self._inputs_request(problem, ranked.domain, number) for number in range(self._sampling.attempts)]
        drawn = await attempted(problem, ranked.domain, ask, "inputs", 0, requests)
        drawn.count(self._ledger.counts)
        usage = instance.usage.plus(usage_of([one.reply for one in drawn.attempts]))
        rejects = (*instance.rejects, *rejects_of(drawn.attempts, instance.index, problem))
        paid = replace(instance, usage=usage, rejects=rejects)
        return ranked._replace(instance=paid, inputs=drawn.value if isinstance(drawn.value, Testing) else None)

    def _inputs_request(self, problem: Problem, domain: Domain, attempt: int) -> Request:
        own, conditions = self._sampling, domain.conditions("inputs", self._limits)
        request = domain.ask("inputs", problem, attempt * SAMPLE_STRIDE, own.inputs, (), own.manner)
        return request.followed_by(f"## Limits\n{conditions}" if conditions else "")

    def _make(self, batch: Sequence[RankedInstance]) -> list[Instance]:
        rewards = [self._joined(one) for one in batch]
        stated = [one.domain.stated(one.pool.problem) if self._config.examples else None for one in batch]
        further = [
            ([] if reward is None else [reward.testing]) + ([] if said is None else [said])
            for reward, said in zip(rewards, stated, strict=True)
        ]
        asked = [(one.pool.problem, one.pool.solutions, more) for one, more in zip(batch, further, strict=True) if more]
        found = iter(self._crossexec.matrices(asked) if asked else [])
        return [
            self._settled(one, reward, next(found) if more else None)
            for one, reward, more in zip(batch, rewards, further, strict=True)
        ]

    def _settled(self, one: RankedInstance, reward: Reward | None, found: PassMatrix | None) -> Instance:
        """The instance with its reward.

        Args:
            reward: what was joined; None where the chosen testing, as it was drawn, pays alone.
            found: what all solutions got from what was joined, if it was, and from the stated examples, if any.
        """
        n, drawn = one.testing, one.instance.matrix
        alone = None if drawn is None else Reward(one.pool.testings[n], "".join(drawn.verdicts_MN[:, n]), (n,))
        if one.cases and alone is not None and alone.letters[one.choice.best] != Verdict.PASS.value:
            alone = None  # the trusted case is one of a testing that the best solution fails
        if found is None:
            return self._kept(one, one.instance, alone)
        letters = ["".join(column) for column in found.verdicts_MN.T]
        usage = one.instance.usage.plus(Usage(cells=found.verdicts_MN.size))
        joined = None if reward is None else replace(reward, letters=letters.pop(0))
        good = [] if joined is None else [m for m in one.top if joined.letters[m] == Verdict.PASS.value]
        refused = joined is not None and not good and bool(one.cases)
        kept = joined if good else None if refused else alone
        made = self._kept(one, replace(one.instance, usage=usage), kept)
        best = good[0] if good else one.choice.best
        if best != one.choice.best and made.decision is not None:  # of those that share the top, one that is paid
            made = replace(made, decision=replace(made.decision, chosen=replace(one.choice, best=best)))
        if not letters or letters[0][best] not in (Verdict.FAIL.value, Verdict.ERROR.value):
            return made
        detail = f"the best solution gets {letters[0][best]} from the examples that stand in the statement"
        return made.drop("reward", CONTRADICTED, detail)

    def _kept(self, one: RankedInstance, instance: Instance, reward: Reward | None) -> Instance:
        """The instance with its reward, dropped where cases are trusted and no testing of these is passed."""
        if reward is not None:
            return replace(instance, reward=reward)
        count = len(one.instance.decision.columns) if one.instance.decision is not None else 0
        return instance.drop("reward", NOT_JOINED, f"the best solution passes {count} cases and no testing of these")

    def _joined(self, one: RankedInstance) -> Reward | None:
        """The agreed cases in one testing, with the large ones, its letters not known yet; None where that is no more
        than a testing as it was drawn."""
        chosen, domain, decision = one.pool.testings[one.testing], one.domain, one.instance.decision
        if one.cases and decision is not None:
            parts = parts_of(one.cases, decision.columns if self._config.union else decision.columns[:1])
        else:
            parts = agreed(one.matrix, one.ranking, one.choice, self._config)
        plain = self._enlarger.listed(domain, one.pool.problem, [one.pool.testings[part.testing] for part in parts])
        kept = [
            (testing, part)
            for testing, part in zip(plain, parts, strict=True)
            if testing is not None and testing.kind == chosen.kind
        ]
        solutions = [one.pool.solutions[m] for m in one.top]
        large = [] if one.inputs is None else self._enlarger.agreed(domain, one.pool.problem, solutions, one.inputs)
        large = [testing for testing in large if testing.kind == chosen.kind]
        if not kept or kept[0][1].testing != one.testing:
            return None
        if len(kept) + len(large) == 1 and not (one.cases and kept[0][1].places != tuple(range(testing_size(chosen)))):
            return None
        joined = domain.join([*((testing, part.places) for testing, part in kept), *((one, (0,)) for one in large)])
        if joined is None:
            return None
        dropped = sum(part.cases - len(part.places) for _, part in kept)
        return Reward(joined, "", tuple([part.testing for _, part in kept]), dropped, len(large))
