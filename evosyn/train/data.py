"""From samples on disk to what trainers eat: tasks for the reward, and columns for TRL.

Rows keep the order of the file; nothing is drawn here except the warm start's solutions. TRL's conventions (column
names that are taken, completion-only loss for prompt/completion rows) as of 1.16. DESIGN.md section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evosyn.agents import dialects, tool_ways
from evosyn.chat import Message
from evosyn.configs.section import listed
from evosyn.dataset import Sample, read_dataset
from evosyn.domains import check_task, domain, is_named, load_pools
from evosyn.environments.rows import EnvironmentRow, samples_of
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.rates import in_band
from evosyn.records import Json, Solution
from evosyn.tasks import Task, task_of
from evosyn.train.config import RlvrConfig, TrainingConfig

Messages = list[dict[str, str]]
POOLS = (".jsonl", ".gz", ".yaml", ".yml")
"""How the names of pool files end."""


def load_samples(path: str | Path, setting: str) -> list[Sample]:
    """The rows of one setting.

    Raises:
        UsageError: no dataset there, a column is missing, or there is not a single row.
    """
    samples = read_dataset(path, setting)
    if not samples:
        raise UsageError(
            f"{path}: the setting {setting!r} has no rows; see its rejects.jsonl, or synthesize more problems"
        )
    return samples


def load_problems(source: str) -> list[Sample]:
    """The problems of a pool as rows that their human testings decide; their references are what is known of solutions.

    Raises:
        InputError: a line that is none of a pool.
        UsageError: a problem without human testing; names it.
    """
    rows = []
    for problem in (pool.problem for pool in load_pools(source)):
        if problem.human_testing is None:
            raise UsageError(
                f"{source}: the problem {problem.problem_id} has no human_testing, which would pay rewards"
            )
        solution = Solution(problem.reference_solution or "")
        (sample,) = samples_of([EnvironmentRow(problem, problem.human_testing, solution)], domain(problem.domain))
        rows.append(sample if solution.text else replace(sample, solutions_ranked="[]"))
    return rows


def gathered(config: TrainingConfig) -> list[list[Sample]]:
    """The rows of each dataset of a run, those of its band; for RLVR also those of pools.

    Raises:
        UsageError: as `load_samples`, `load_problems` and `in_band`.
    """
    found = []
    for path in listed(config.data):
        is_pool = isinstance(config, RlvrConfig) and (is_named(path) or Path(path).suffix in POOLS)
        samples = load_problems(path) if is_pool else load_samples(path, config.setting)
        rows = config.rows
        found.append(in_band(samples, path, config.setting, rows.band, rows.student) if rows.band else samples)
    return found


def mixed(parts: Sequence[Sequence[Sample]], mix: str | None, seeds: SeedTree) -> list[Sample]:
    """The rows of several datasets in the asked shares: none is left out, those that are too few come again, whole
    rounds first, the rest drawn.

    Args:
        mix: such as `2:1:1`, a share for each part; None takes each row once.

    Raises:
        UsageError: it is no such text, or not as long as there are parts.
    """
    if mix is None:
        return [sample for part in parts for sample in part]
    try:
        shares = [float(one) for one in mix.split(":")]
    except ValueError:
        shares = []
    if len(shares) != len(parts) or not all(0 < share < math.inf for share in shares):
        raise UsageError(f"--mix {mix!r}: give a number above 0 for each of the {len(parts)} datasets, such as 2:1")
    scale = max(len(part) / share for part, share in zip(parts, shares, strict=True))
    found: list[Sample] = []
    for place, (part, share) in enumerate(zip(parts, shares, strict=True)):
        rounds, rest = divmod(max(len(part), round(scale * share)), len(part))
        found += [*part] * rounds + seeds.child("mix", place).random().sample(list(part), rest)
    return found


def prompt_of(sample: Sample) -> Messages:
    return [{"role": message.role, "content": message.content} for message in sample.prompt]


def tasks_of(samples: Sequence[Sample]) -> dict[str, Task]:
    """What the reward looks up, by row id.

    Raises:
        UsageError: a row that cannot be scored; names it and the field.
    """
    return {sample.id: task_of(sample, check_task) for sample in samples}


def sft_rows(samples: Sequence[Sample], per_problem: int, *, reasoning: bool = False) -> list[dict[str, Messages]]:
    """Prompt/completion rows from the best solutions: the row's own first, then further ones that pass its testing.

    Args:
        reasoning: learn what the teacher wrote, its reasoning first, in place of the bare program; turns of agents
            hold it in any case.

    Raises:
        UsageError: `reasoning`, and a row does not hold what the teacher wrote.
    """
    rows = []
    for sample in samples:
        sources = [sample.solution, *(other.source for other in sample.ranked if other.accepted)]
        said = {other.source: other.said for other in sample.ranked}
        for source in list(dict.fromkeys(sources))[:per_problem]:
            if not reasoning or _by_agent(sample):
                rows += _turn_rows(sample, source)
                continue
            text = said.get(source, "")
            if not text:
                raise UsageError(
                    f"fit.reasoning: the row {sample.id} of {sample.problem_id} does not hold what the teacher wrote; "
                    "synthesize it again (the replies of a finished run are not paid twice)"
                )
            rows.append({"prompt": prompt_of(sample), "completion": [{"role": "assistant", "content": text}]})
    return rows


def spoken_turns(sample: Sample, source: str) -> Messages:
    """A solution as turns of plain text; what an agent did, with what it was shown."""
    turns = domain(sample.domain).show(sample.problem, Solution(source))
    return [{"role": one.role, "content": one.content} for one in _as_text(sample, turns)]


def _by_agent(sample: Sample) -> bool:
    return domain(sample.domain).actor != "reply"


def _as_text(sample: Sample, turns: Sequence[Message]) -> Sequence[Message]:
    told = {"loop": dialects.as_text, "tools": tool_ways.as_text}.get(domain(sample.domain).actor)
    return turns if told is None else told(turns)


def _opening(sample: Sample, turns: Messages) -> Messages:
    """The prompt; for an agent with the rules of how it acts in plain text, which every template knows. That of a tool
    world asks for a plan, which one message is."""
    *before, last = prompt_of(sample)
    actor, text = domain(sample.domain).actor, last["content"].rstrip()
    if actor == "loop" or (actor == "tools" and len(turns) > 1):
        text = f"{tool_ways.stepwise(text)}\n\n{tool_ways.ways_of(sample.problem).RULES}\n"
    return [*before, {**last, "content": text} if actor != "reply" else last]


def _turn_rows(sample: Sample, source: str) -> list[dict[str, Messages]]:
    """A prompt/completion row for each turn of the assistant, so that nothing is learnt of what it was shown."""
    turns = spoken_turns(sample, source)
    opening = _opening(sample, turns)
    return [
        {"prompt": [*opening, *turns[:at]], "completion": [turn]}
        for at, turn in enumerate(turns)
        if turn["role"] == "assistant"
    ]


def dpo_rows(samples: Sequence[Sample]) -> list[dict[str, Messages]]:
    """Preference rows: the best solution that the row's testing accepts against the worst that it refuses, at the first
    turn in which they differ; rows without such a pair are left out.
    """
    rows = []
    for sample in samples:
        accepted = [other.source for other in sample.ranked if other.accepted]
        refused = [other.source for other in sample.ranked if other.refused]
        if accepted and refused:
            chosen, rejected = spoken_turns(sample, accepted[0]), spoken_turns(sample, refused[-1])
            at = next((at for at, pair in enumerate(zip(chosen, rejected, strict=False)) if pair[0] != pair[1]), -1)
            if at >= 0 and chosen[at]["role"] == "assistant":
                prompt = [*_opening(sample, chosen), *chosen[:at]]
                rows.append({"prompt": prompt, "chosen": [chosen[at]], "rejected": [rejected[at]]})
    return rows


def warm_rows(samples: Sequence[Sample], per_problem: int, seeds: SeedTree) -> list[dict[str, Messages]]:
    """Prompt/completion rows from solutions drawn uniformly, right or wrong: what a mediocre model would write.

    The draw depends on the problem alone, not on the setting or on the ranking, so that two settings start alike.
    """
    rows = []
    for sample in samples:
        sources = sorted({other.source for other in sample.ranked} or {sample.solution})
        generator = seeds.child("warm", sample.problem_id).random()
        for source in generator.sample(sources, min(per_problem, len(sources))):
            rows += _turn_rows(sample, source)
    return rows


def fit_lengths(rows: Sequence[Json], tokens: Callable[[Json], int], limit: int, what: str) -> tuple[list[Json], int]:
    """Leave out the rows that are longer than `limit` tokens.

    Returns:
        The rows that fit, and how many did not.

    Raises:
        UsageError: none fits.
    """
    fitting = [row for row in rows if tokens(row) <= limit]
    if not fitting:
        shortest = min((tokens(row) for row in rows), default=0)
        raise UsageError(
            f"{what}: all {len(rows)} rows are longer than {limit} tokens (the shortest has {shortest}); "
            f"raise it, or take a "
            "model with a longer context"
        )
    return fitting, len(rows) - len(fitting)
