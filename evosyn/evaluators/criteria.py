"""The two criteria of seed consistency with exact tie semantics, for a whole block of draws at once.

`expected` is a closed form for every k. Inside a group of tied solutions the order is uniformly random, so those that
land on the places criterion 2 looks at are a uniform draw without replacement: with A agreeing solutions of n in the
group and u places, all agree with probability A/n * (A-1)/(n-1) * ... (u factors). Groups are independent of each
other and of the choice among tied testings, which is averaged over. Criterion 1 replaces the first factor of the top
group by the share of solutions that agree *and* are right. `stable` and `random` first make the order strict; the same
form then has groups of one. Du 2025 (EvoSyn), section 3.1 and table 1; DESIGN.md section 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.evaluators.draws import Block, ConsistencyConfig, Floats
from evosyn.strategies.ranking import broken_ties, dense_ranks

Ranks = NDArray[np.int64]


class Outcome(NamedTuple):
    """What a strategy came to on the B draws of a block.

    Attributes:
        score_B: probability that the draw satisfies the criteria.
        criterion1_B, criterion2_B: the same for each alone.
        solution_ranks_BM, testing_ranks_BN: dense places, 0 the best.
        chosen_BN: probability that the testing is the chosen one.
    """

    score_B: Floats
    criterion1_B: Floats
    criterion2_B: Floats
    solution_ranks_BM: Ranks
    testing_ranks_BN: Ranks
    chosen_BN: Floats


def judge(block: Block, solution_scores_BM: Floats, testing_scores_BN: Floats, config: ConsistencyConfig) -> Outcome:
    """Score the rankings of one strategy on a block.

    Args:
        solution_scores_BM, testing_scores_BN: finite, higher is better.
    """
    solutions, testings = dense_ranks(solution_scores_BM), dense_ranks(testing_scores_BN)
    ordered, chosen = solutions, testings
    if config.ties != "expected":
        by_key = config.ties == "random"
        ordered = broken_ties(solutions, block.keys_BM if by_key else block.places_BM)
        chosen = broken_ties(testings, block.keys_BN if by_key else block.places_BN)
    top = chosen == 0
    weight = top / top.sum(axis=1, keepdims=True)
    first = ordered == 0
    criterion1 = (first & block.human_BM).sum(axis=1) / first.sum(axis=1)
    agreeing = _all_agree(block, ordered, config.k)
    agree = np.minimum((agreeing.any_BN * weight).sum(axis=1), 1.0)
    both = np.minimum((agreeing.right_BN * weight).sum(axis=1), 1.0) if config.criterion1 else agree
    return Outcome(both, criterion1, agree, solutions, testings, weight)


def oracle(block: Block, config: ConsistencyConfig) -> Floats:
    """1 for each draw on which some order of solutions and some testing satisfy the criteria, else 0; shape (B,)."""
    needed = len(looked_at(block.human_BM.shape[1], config.k))
    possible = block.agrees_BMN.sum(axis=1) >= needed
    if config.criterion1:
        possible &= block.right_agrees_BMN.sum(axis=1) >= 1
    return np.asarray(possible.any(axis=1), dtype=np.float64)


def reachable(block: Block, config: ConsistencyConfig) -> Floats:
    """The best expected score of each draw where solutions with equal rows are tied, shape (B,), for k = 1.

    Whoever reads what passed alone cannot tell such solutions apart, so this is as far as passes alone can carry. An
    order with further ties mixes others, unless all are tied: then best and worst come from one group.
    """
    values = np.zeros(len(block.at_B))
    for draw, (agrees_MN, right_MN) in enumerate(zip(block.agrees_BMN, block.right_agrees_BMN, strict=True)):
        rows = np.concatenate([block.passed_BMN[draw], block.known_BMN[draw]], axis=1)
        _, group_M = np.unique(rows, axis=0, return_inverse=True)
        members_GM = (np.arange(group_M.max() + 1)[:, None] == group_M.reshape(-1)).astype(np.float64)
        sizes_G = members_GM.sum(axis=1, keepdims=True)
        agree_GN = members_GM @ agrees_MN
        first_GN = (members_GM @ right_MN if config.criterion1 else agree_GN) / sizes_G
        last_GGN = np.repeat((agree_GN / sizes_G)[None], len(sizes_G), axis=0)
        diagonal = np.arange(len(sizes_G))
        last_GGN[diagonal, diagonal] = 0
        first_N = (right_MN if config.criterion1 else agrees_MN).mean(axis=0)
        tied_N = first_N * np.maximum(agrees_MN.sum(axis=0) - 1, 0) / (len(agrees_MN) - 1)
        values[draw] = max((first_GN[:, None] * last_GGN).max(), tied_N.max())
    return values


def looked_at(size: int, k: int) -> list[int]:
    """The places that criterion 2 looks at: the k best and the k worst of `size`, each once."""
    k = min(k, size)
    return sorted({*range(k), *range(size - k, size)})


class _Agreeing(NamedTuple):
    """For each testing the probability that it agrees with the human on every place looked at; shape (B, N).

    Attributes:
        right_BN: and that the solution in the first place is right.
    """

    any_BN: Floats
    right_BN: Floats


def _all_agree(block: Block, ranks_BM: Ranks, k: int) -> _Agreeing:
    places = looked_at(ranks_BM.shape[1], k)
    groups_BP = np.sort(ranks_BM, axis=1)[:, places]
    members_BPM = ranks_BM[:, None, :] == groups_BP[:, :, None]
    right_BPM = members_BPM[:, :1] & block.human_BM[:, None, :]
    agreeing_BPN = np.concatenate([members_BPM, right_BPM], axis=1).astype(np.float64) @ block.agrees_BMN
    sizes_BP = members_BPM.sum(axis=2)
    rest = np.ones(block.agrees_BMN.shape[::2])
    first = first_right = rest
    used = np.zeros(len(rest), dtype=np.int64)
    for at in range(len(places)):
        used = np.where(groups_BP[:, at] == groups_BP[:, at - 1], used + 1, 0) if at else used
        left = (sizes_BP[:, at] - used)[:, None]
        share = np.maximum(agreeing_BPN[:, at] - used[:, None], 0) / left
        if at == 0:
            first, first_right = share, agreeing_BPN[:, -1] / left
        else:
            rest = rest * share
    return _Agreeing(first * rest, first_right * rest)
