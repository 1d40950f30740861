"""The two criteria of seed consistency with exact tie semantics, for a whole block of draws at once.

`expected` is a closed form for every k. Inside a group of tied solutions the order is uniformly random, so those that
land on the places criterion 2 looks at are a uniform draw without replacement: with A agreeing solutions of n in the
group and u places, all agree with probability A/n * (A-1)/(n-1) * ... (u factors). Groups are independent of each
other and of the choice among tied testings, which is averaged over. Criterion 1 replaces the first factor of the top
group by the share of solutions that agree *and* are right. `stable` and `random` first make the order strict; the same
form then has groups of one. Where cases are ranked, criterion 2 is asked of the testing that a row would keep
(`joining`), averaged over the columns that may be the chosen one; where none is kept it is not satisfied. Du 2025
(EvoSyn), section 3.1 and table 1; DESIGN.md section 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.evaluators.draws import Asked, Block, Bools, ConsistencyConfig, Floats
from evosyn.evaluators.joining import Joined, joined, rejected
from evosyn.strategies.ranking import broken_ties, dense_ranks

Ranks = NDArray[np.int64]


class Outcome(NamedTuple):
    """What a strategy came to on the B draws of a block.

    Attributes:
        score_B: probability that the draw satisfies the criteria.
        criterion1_B, criterion2_B: the same for each alone.
        solution_ranks_BM, testing_ranks_BN: dense places, 0 the best; behind a narrower draw the last of all.
        asked: the testings that criterion 2 may be asked of, Q for each draw.
        weights_BQ: the chance of each.
        joined: with cases what is joined; `asked` then has a row for each of these and Q = 1.
    """

    score_B: Floats
    criterion1_B: Floats
    criterion2_B: Floats
    solution_ranks_BM: Ranks
    testing_ranks_BN: Ranks
    asked: Asked
    weights_BQ: Floats
    joined: Joined | None = None

    def of_kept(self, value_BQ: Floats | Bools, of_none: float = 0.0) -> Floats:
        """The mean of a figure over the testings that may be kept, shape (B,).

        Args:
            of_none: the figure where none is.
        """
        if self.joined is None:
            return np.asarray((self.weights_BQ * value_BQ).sum(axis=1))
        missing_B = np.round(1 - self.joined.mean(np.ones(len(value_BQ)), len(self.score_B)), 12)
        return self.joined.mean(value_BQ[:, 0], len(missing_B)) + missing_B * of_none

    @property
    def trusted_BN(self) -> Bools:
        """The testings in the first place; with cases the columns that are joined, of several such the likeliest."""
        if self.joined is None:
            return np.asarray(self.testing_ranks_BN == 0)
        order = np.argsort(self.joined.weights_P, kind="stable")
        trusted_BN = np.zeros(self.testing_ranks_BN.shape, dtype=bool)
        trusted_BN[self.joined.draw_P[order]] = self.joined.columns_PN[order]
        return trusted_BN


def judge(block: Block, solution_scores_BM: Floats, testing_scores_BN: Floats, config: ConsistencyConfig) -> Outcome:
    """Score the rankings of one strategy on a block.

    Args:
        solution_scores_BM, testing_scores_BN: finite, higher is better.
    """
    solutions, testings = dense_ranks(solution_scores_BM), dense_ranks(testing_scores_BN)
    if block.padding_BN is not None:
        testings[block.padding_BN] = testings.shape[1] - 1
    ordered = solutions
    if config.ties != "expected":
        ordered = broken_ties(solutions, block.keys_BM if config.ties == "random" else block.places_BM)
    first = ordered == 0
    criterion1 = (first & block.human_BM).sum(axis=1) / first.sum(axis=1)
    asked: Asked = block
    if block.joinable_BN is None:
        chosen = testings if config.ties == "expected" else broken_ties(testings, _keys(block, config))
        top = chosen == 0
        weights, kept = top / top.sum(axis=1, keepdims=True), None
        found = _all_agree(asked, ordered, config.k)
        agree, right = (np.minimum((one * weights).sum(axis=1), 1.0) for one in found)
    else:
        kept = _joined(block, first, testings, config)
        asked, weights = _asked(block, kept), kept.weights_P[:, None]
        found = _all_agree(asked, ordered[kept.draw_P], config.k)
        agree, right = (np.minimum(kept.mean(one[:, 0], len(first)), 1.0) for one in found)
    both = right if config.criterion1 else agree
    return Outcome(both, criterion1, agree, solutions, testings, asked, weights, kept)


def _keys(block: Block, config: ConsistencyConfig) -> Floats | NDArray[np.int64]:
    """By which testings come one after the other where they are equal."""
    return block.keys_BN if config.ties == "random" else block.places_BN


def _joined(block: Block, first_BM: Bools, testings: Ranks, config: ConsistencyConfig) -> Joined:
    """What is joined with one of the columns in the first place; with ties in an order the first of these that a top
    solution passes."""
    assert block.joinable_BN is not None
    top_BN = testings == 0
    if config.ties != "expected":
        top_BN &= (block.passed_BMN & first_BM[:, :, None]).any(axis=1)
        keys_BN = np.where(top_BN, _keys(block, config), np.inf)
        top_BN &= keys_BN == keys_BN.min(axis=1, keepdims=True)
    return joined(block.fails_BNW, block.joinable_BN, first_BM, top_BN)


def _asked(block: Block, kept: Joined) -> Asked:
    """What each joined testing says of the solutions of its draw."""
    size = block.human_BM.shape[1]
    fails_PM, known_PM = (
        rejected(kept.columns_PN, words[kept.draw_P], size) for words in (block.fails_BNW, block.known_fails_BNW)
    )
    return Asked(~fails_PM[:, :, None], (~fails_PM | known_PM)[:, :, None], block.human_BM[kept.draw_P])


def oracle(block: Block, config: ConsistencyConfig) -> Floats:
    """1 for each draw on which some ranking may satisfy the criteria, else 0; shape (B,).

    Of testings that is exact. Of cases it is a bound that no ranking passes, exact for k = 1 with criterion 1: a
    trusted solution t accepts as many right ones as pass one of its columns, and rejects who fails one of them.
    """
    needed = len(looked_at(block.human_BM.shape[1], config.k))
    if block.joinable_BN is not None:
        found = _bounds(block)
        of_top_BM = block.human_BM if config.criterion1 else np.ones_like(block.human_BM)
        possible = found.passes_BM & of_top_BM & (found.agreeing_BM >= needed)
        return np.asarray(possible.any(axis=1), dtype=np.float64)
    possible = block.agrees_BMN.sum(axis=1) >= needed
    if config.criterion1:
        possible &= block.right_agrees_BMN.sum(axis=1) >= 1
    return np.asarray(possible.any(axis=1), dtype=np.float64)


class _Bounds(NamedTuple):
    """What trusting a solution may come to, whoever is trusted with it.

    Attributes:
        passes_BM: it passes a column that may be joined.
        fails_BMM: the other is known to fail one of these; shares_BMM: the other passes one of these.
        accepted_BM: right solutions that are accepted at most; agreeing_BM: and with them wrong ones that are rejected.
    """

    passes_BM: Bools
    fails_BMM: Bools
    shares_BMM: Bools
    accepted_BM: Floats
    agreeing_BM: Floats


def _bounds(block: Block) -> _Bounds:
    assert block.joinable_BN is not None
    passed_BMN = np.asarray(block.passed_BMN & block.joinable_BN[:, None], dtype=np.float32)
    fails_BMM = passed_BMN @ (block.known_BMN & ~block.passed_BMN).transpose(0, 2, 1).astype(np.float32) > 0
    shares_BMM = passed_BMN @ passed_BMN.transpose(0, 2, 1) > 0
    right_BN = (passed_BMN * block.human_BM[:, :, None]).sum(axis=1)
    accepted_BM = (passed_BMN * right_BN[:, None]).max(axis=2).astype(np.float64)
    agreeing_BM = accepted_BM + (fails_BMM & ~block.human_BM[:, None]).sum(axis=2)
    return _Bounds(passed_BMN.max(axis=2) > 0, fails_BMM, shares_BMM, accepted_BM, agreeing_BM)


def reachable(block: Block, config: ConsistencyConfig) -> Floats:
    """The best expected score of each draw where solutions with equal rows are tied, shape (B,), for k = 1.

    Whoever reads what passed alone cannot tell such solutions apart, so this is as far as passes alone can carry. An
    order with further ties mixes others, unless all are tied: then best and worst come from one group. Of cases it is a
    bound that no such ranking passes, as `oracle`.
    """
    bounds = None if block.joinable_BN is None else _bounds(block)
    values = np.zeros(len(block.at_B))
    for draw in range(len(values)):
        rows = np.concatenate([block.passed_BMN[draw], block.known_BMN[draw]], axis=1)
        _, first_G, group_M = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        members_GM = (np.arange(len(first_G))[:, None] == group_M.reshape(-1)).astype(np.float64)
        if bounds is None:
            values[draw] = _reachable(block.agrees_BMN[draw], block.right_agrees_BMN[draw], members_GM, config)
        else:
            own = _Bounds(*(one[draw] for one in bounds))
            values[draw] = _reachable_joined(own, block.human_BM[draw], first_G, members_GM, config)
    return values if bounds is None else np.minimum(values, oracle(block, config))


def _reachable(agrees_MN: Floats, right_MN: Floats, members_GM: Floats, config: ConsistencyConfig) -> float:
    """Of one draw of testings."""
    sizes_G = members_GM.sum(axis=1, keepdims=True)
    agree_GN = members_GM @ agrees_MN
    first_GN = (members_GM @ right_MN if config.criterion1 else agree_GN) / sizes_G
    last_GGN = np.repeat((agree_GN / sizes_G)[None], len(sizes_G), axis=0)
    diagonal = np.arange(len(sizes_G))
    last_GGN[diagonal, diagonal] = 0
    first_N = (right_MN if config.criterion1 else agrees_MN).mean(axis=0)
    tied_N = first_N * np.maximum(agrees_MN.sum(axis=0) - 1, 0) / (len(agrees_MN) - 1)
    return float(max((first_GN[:, None] * last_GGN).max(), tied_N.max()))


def _reachable_joined(
    bounds: _Bounds, human_M: Bools, first_G: NDArray[np.intp], members_GM: Floats, config: ConsistencyConfig
) -> float:
    """Of one draw of cases: the most that a group may add in the first and another in the last place, or all at once.

    Args:
        bounds: of the draw; first_G: a member of each group.
    """
    right_G = (members_GM @ human_M) / members_GM.sum(axis=1)
    fails_GG, shares_GG = (one[np.ix_(first_G, first_G)] for one in (bounds.fails_BMM, bounds.shares_BMM))
    agree_GG = np.maximum(fails_GG * (1 - right_G), shares_GG * right_G)
    if config.criterion1:
        np.fill_diagonal(agree_GG, 0)
        two_G = right_G * agree_GG.max(axis=1)
    else:
        two_G = np.sort(agree_GG, axis=1)[:, -2:].prod(axis=1) if len(first_G) > 1 else np.zeros(1)
    agreeing_M, size = bounds.agreeing_BM, len(human_M)
    all_M = (bounds.accepted_BM if config.criterion1 else agreeing_M) * np.maximum(agreeing_M - 1, 0)
    trusted_M = bounds.passes_BM & (human_M | (not config.criterion1))
    return float(max((two_G * bounds.passes_BM[first_G]).max(), (all_M * trusted_M).max() / (size * (size - 1))))


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


def _all_agree(asked: Asked, ranks_BM: Ranks, k: int) -> _Agreeing:
    places = looked_at(ranks_BM.shape[1], k)
    groups_BP = np.sort(ranks_BM, axis=1)[:, places]
    members_BPM = ranks_BM[:, None, :] == groups_BP[:, :, None]
    right_BPM = members_BPM[:, :1] & asked.human_BM[:, None, :]
    agreeing_BPN = np.concatenate([members_BPM, right_BPM], axis=1).astype(np.float64) @ asked.agrees_BMN
    sizes_BP = members_BPM.sum(axis=2)
    rest = np.ones(asked.agrees_BMN.shape[::2])
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
