"""The stage that makes tools: M programs and N testings each, cross-executed, ranked, repaired or dropped.

A repair is one more program or testing of the same tool, so that the matrix grows by a row or a column and nothing is
judged twice. A testing that was made to fit does not count. ScaleEnv section 4.1.2 (its Debug Agent); rounds,
thresholds and this rule are ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.chat import Message, Reply, Request
from evosyn.configs.sampling import SamplingConfig, TestingSampling
from evosyn.domains.replies import defines
from evosyn.domains.world_tool import body_of, with_source, world_of
from evosyn.fences import markdown_fences
from evosyn.ports import Domain
from evosyn.records import PassMatrix, Pool, Problem, Provenance, Solution, Testing
from evosyn.running.batches import Batches, in_thread
from evosyn.running.progress import Usage
from evosyn.synthesis.generate import Attempt, Drawn, Want, all_or_first_error, draw_pool
from evosyn.synthesis.usable import read_reply
from evosyn.synthesis.worlds.asking import DEBUG
from evosyn.synthesis.worlds.choosing import ToolChoice, ToolChooser
from evosyn.synthesis.worlds.config import MakeWorldsConfig
from evosyn.synthesis.worlds.draft import MadeTool, WorldDraft
from evosyn.synthesis.worlds.schemas import WorldAsker
from evosyn.templates import render
from evosyn.worlds.tools.cases import begun, matches
from evosyn.worlds.tools.playing import CallOutcome, Play, Player, minutes

AT_ONCE = 8
"""Tools that are judged in one call."""
OWN = "own-test"
"""Why a repaired testing does not count."""
MOST_SHOWN = 20
"""Rows of each table that a repair is shown."""


class _Spent(NamedTuple):
    """A tool, the replies that were asked for it, and the cells that were executed."""

    tool: MadeTool
    attempts: tuple[tuple[str, Attempt], ...]
    cells: int


@dataclass(frozen=True)
class ToolJudging:
    """What judges tools, and what plays one call of them."""

    chooser: ToolChooser
    domain: Domain
    player: Player


class MakeTools:
    """Makes every tool of a draft; the draft goes on with those that stand."""

    name = "tool"
    concurrency = None

    def __init__(self, config: MakeWorldsConfig, asker: WorldAsker, judging: ToolJudging) -> None:
        self._config, self._asker, self._judging = config, asker, judging
        self._choose: Batches[Pool, ToolChoice] = Batches(judging.chooser.choose, AT_ONCE)

    async def run(self, draft: WorldDraft) -> WorldDraft:
        made = await all_or_first_error([self._made(draft, problem) for problem in draft.problems()])
        for one in made:
            for kind, attempt in one.attempts:
                detail = f"{attempt.reason}: {attempt.detail}" if attempt.reason else ""
                draft = draft.heard(kind, attempt.reply, detail)
            draft = replace(draft, usage=draft.usage.plus(Usage(cells=one.cells)), tools=(*draft.tools, one.tool))
            draft = draft.lost(one.tool) if one.tool.reason else draft
        sizes = self._config.sizes
        if len(draft.kept) < min(sizes.kept_tools, sizes.least_tools):
            return draft.drop("tool", f"too-small: {len(draft.kept)} of {len(draft.tools)} tools are left")
        if len(draft.left().tables) < sizes.least_tables:
            return draft.drop("tool", f"too-small: {len(draft.left().tables)} tables are left")
        return draft

    async def _made(self, draft: WorldDraft, problem: Problem) -> _Spent:
        tool, config = world_of(problem).tools[0].name, self._config.tools

        async def ask(kind: str, slot: int, attempt: int, request: Request) -> Reply:
            return await self._asker.reply(draft, f"{kind}:{tool}", slot, attempt, request)

        counts = (1, 0) if self._config.unexecuted else (config.M, config.N)
        want = Want(*counts, self._asker.teacher.simulated, limits=config.execute.limits)
        how = SamplingConfig(
            solution=config.sampling,
            testing=TestingSampling(**config.sampling),
            attempts=config.attempts,
            prompt_hints=False,
        )
        drawn = await draw_pool(problem, self._judging.domain, ask, want, how)
        spent: list[tuple[str, Attempt]] = [(one.kind, one) for one in drawn.attempts]
        if lacking := self._lacking(drawn):
            return _Spent(MadeTool(tool, reason=lacking), tuple(spent), 0)
        if self._config.unexecuted:
            return _Spent(MadeTool(tool, drawn.pool.solutions[0].text, solutions=1), tuple(spent), 0)
        pool, rounds = drawn.pool, 0
        choice = await self._choose(pool)
        cells = int(choice.matrix.verdicts_MN.size)
        while choice.reason and rounds < config.debug and choice.solution >= 0:
            attempt, grown = await self._repaired(draft, pool, choice, rounds)
            rounds += 1
            if grown is not None:
                found = await self._choose(grown)
                cells = int(found.matrix.verdicts_MN.size)
                if attempt.kind == "testing" and not _accepts_another(
                    found.matrix, len(drawn.pool.solutions), choice.solution
                ):
                    attempt = replace(
                        attempt, reason=OWN, detail="no program but the one that its author saw passes it"
                    )
                else:
                    pool, choice = grown, found
            spent.append(("debug", attempt))
        return _Spent(_told(tool, pool, choice, rounds), tuple(spent), cells)

    def _lacking(self, drawn: Drawn) -> str:
        if not drawn.pool.solutions:
            return "no-program: no reply holds one"
        return "" if drawn.pool.testings or self._config.unexecuted else "no-testing: no reply holds one"

    async def _repaired(
        self, draft: WorldDraft, pool: Pool, choice: ToolChoice, number: int
    ) -> tuple[Attempt, Pool | None]:
        """One round: the pool with what the reply gives, None where that cannot be used."""
        problem = pool.problem
        request = await in_thread(lambda: self._request(pool, choice, number))
        reply = await self._asker.reply(draft, f"debug:{problem.meta['tool']}", number, 0, request)
        kind = "solution" if _gives_program(reply.text, str(problem.meta["tool"])) else "testing"
        read = read_reply(problem, self._judging.domain, kind, reply)  # type: ignore[arg-type]
        attempt = Attempt(kind, number, 0, reply, read.reason, read.detail)  # type: ignore[arg-type]
        if read.value is None:
            return attempt, None
        made = Provenance(reply.model, simulated=self._asker.teacher.simulated, call=reply.id, parents=(problem.id,))
        value = replace(read.value, provenance=made)
        if isinstance(value, Solution):
            return attempt, replace(pool, solutions=(*pool.solutions, value))
        return attempt, replace(pool, testings=(*pool.testings, value))

    def _request(self, pool: Pool, choice: ToolChoice, number: int) -> Request:
        solution, testing = pool.solutions[choice.solution], pool.testings[choice.testing]
        text = render(
            "evosyn.synthesis",
            "prompts/world_debug.md",
            statement=pool.problem.statement,
            source=solution.text.strip(),
            solution_score=f"{choice.scores[0]:.3g}",
            testing_score=f"{choice.scores[1]:.3g}",
            passed=str(int(choice.matrix.passed_MN[:, choice.testing].sum())),
            solutions=str(len(pool.solutions)),
            case=self._case(pool, choice),
            testing=json.dumps(dict(testing.body), indent=1, ensure_ascii=False),
        )
        return Request((Message("user", text),), DEBUG, self._config.tools.sampling, number, pool.problem)

    def _case(self, pool: Pool, choice: ToolChoice) -> str:
        """The first case that the best program fails, or in which it is not with most others."""
        places = [(choice.testing, at) for at in range(len(pool.testings[choice.testing].body["cases"]))]
        places += [choice.parts] if choice.parts[0] >= 0 else []
        program = with_source(world_of(pool.problem), pool.solutions[choice.solution].text)
        for testing, at in places:
            body = body_of(pool.testings[testing])
            case = body.cases[at]
            rows = begun(body, case, program)
            played = self._judging.player.one(program, Play(rows, minutes([(program.tools[0].name, case.args)])))
            called = played.calls[0] if played.calls else CallOutcome("failed", detail=played.lost)
            wrong = called.outcome == "failed" or (called.exception != case.refuses)
            if not wrong and not case.refuses:
                wrong = bool(matches(program, rows, case, called, played.rows))
            if wrong or (testing, at) == choice.parts:
                shown = {table: listed[:MOST_SHOWN] for table, listed in rows.items() if listed}
                want = {"refuses": case.refuses} if case.refuses else {"returns": case.returns, "changes": case.changes}
                told = {
                    "rows before": shown,
                    "args": case.args,
                    "the test expects": want,
                    "the program": called.exception or (called.value if called.outcome == "ok" else called.detail),
                }
                return "```json\n" + json.dumps(told, indent=1, ensure_ascii=False) + "\n```"
        return f"No case of the best test is failed; still: {choice.reason}"


def _accepts_another(matrix: PassMatrix, drawn: int, shown: int) -> bool:
    """Whether the last testing, written in view of a program, accepts another of those first drawn.

    Otherwise it may have been made to fit, and would vouch for what it was made from. Ours.
    """
    return any(matrix.passed_MN[at, -1] for at in range(drawn) if at != shown)


def _gives_program(text: str, tool: str) -> bool:
    blocks = [one.text for one in markdown_fences(text)]
    return bool(blocks) and defines(blocks[-1], tool)


def _told(name: str, pool: Pool, choice: ToolChoice, rounds: int) -> MadeTool:
    found = MadeTool(
        name,
        agreement=round(choice.agreement, 4),
        solutions=len(pool.solutions),
        testings=len(pool.testings),
        verdicts=choice.rows,
        rounds=rounds,
        reason=choice.reason,
    )
    if choice.reason:
        return found
    testing: Testing = pool.testings[choice.testing]
    return replace(
        found,
        source=pool.solutions[choice.solution].text,
        testing=dict(testing.body),
        chosen=(choice.solution, choice.testing),
    )


def tools_of(draft: WorldDraft) -> Sequence[Pool]:
    """The tools of a draft that were kept and judged, each with the program and the testing that were chosen."""
    problems = {str(one.meta["tool"]): one for one in draft.problems()}
    return [
        Pool(problems[one.name], (Solution(one.source or ""),), (Testing("states", one.testing),))
        for one in draft.kept
        if one.testing
    ]
