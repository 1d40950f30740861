"""What a model is told when it is to improve a strategy: of the data, of what went wrong, of what others did there.

Which problems are shown changes from proposal to proposal: those that another program wins, those that were lost by the
last change, some at random; none that no program ever won. It shows human verdicts to the proposer, never to a program.
Romera-Paredes et al. 2024; Novikov 2025, section 2.4; Agrawal 2025 (GEPA) for the set of bests by problem.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from evosyn.evaluators.draws import Draws, Floats
from evosyn.evaluators.notes import FirstDraw, FirstDraws, Note, read_note
from evosyn.evaluators.views import ONLY_RIGHT, UNRECORDED
from evosyn.evolve.selection import WON
from evosyn.ports import ProposalContext, Told
from evosyn.randomness import SeedTree
from evosyn.records import Elite, Evidence

SHOWN = 3
"""Problems in one prompt."""
DRAWN = 2
"""Of these with their matrix."""
ROWS, COLUMNS = 20, 40
"""A larger matrix is not drawn."""
NEVER = 0.25
"""A problem on which no program has reached this is not shown."""
TEXT_LINES, TEXT_CHARACTERS = 15, 600
JOINED = (
    "Here a testing is one single case; replies (a tuple of N tuples) says which replies of the model hold it. (2) is "
    "asked of several joined: of its top solutions those that pass its top testing are trusted, and all testings that "
    "every one of these passes are joined; a solution is accepted if it passes all of them. Where no top solution "
    "passes a top testing (2) fails."
)
"""What a model is told where single cases are ranked."""
_VIEWS = (
    (
        UNRECORDED,
        " {} problems count once more without texts, similarities, calls and values (texts are empty there, the others "
        "are None): a program must rank these too.",
    ),
    (
        ONLY_RIGHT,
        " {} problems count once more with right solutions only: what a program ranks last is right there too, and its "
        "testing should accept it.",
    ),
)


class Briefer:
    """Says of the draws and of a parent what a model should know.

    Args:
        oracle_E: the best possible score of each draw.
        directions: what to look for and where it makes sense, `need: sentence` each; needs are those of `present`.
    """

    def __init__(self, draws: Draws, oracle_E: Floats, directions: Sequence[str]) -> None:
        self._draws, self._first = draws, FirstDraws(draws)
        self._best_P = draws.by_problem(oracle_E)
        parted = [line.partition(": ") for line in directions]
        self._directions = [said for need, _, said in parted if need in self.present]

    @cached_property
    def present(self) -> set[str]:
        """What these draws hold of what evidence may hold."""
        evidences = self._draws.evidences
        found = {
            "cases": any(cases.shape[1] > 1 for one in evidences for cases in one.cases_NMC),
            "copies": any(bool((one.copies_M > 1).any()) for one in evidences),
            "durations": any(bool(one.durations_MN.any()) for one in evidences),
            "groups": any(len(set(one.solution_group_M.tolist())) < len(one.copies_M) for one in evidences),
            "texts": any(one.solution_texts and one.testing_texts for one in evidences),
            "statement": any(bool(one.statement) for one in evidences),
            "calls": any(one.calls_N is not None for one in evidences),
            "values": any(one.values_NMC is not None for one in evidences),
            "verdicts": any(one.verdicts_MN is not None for one in evidences),
            "similarity": any(one.solution_similarity_MM is not None for one in evidences),
            "logprobs": any(
                one.solution_logprob_M is not None or one.testing_logprob_N is not None for one in evidences
            ),
        }
        return {"always", *(name for name, there in found.items() if there)}

    def brief(self, context: ProposalContext) -> Told:
        """See `ports.Briefing.brief`."""
        direction = self._directions[context.index % len(self._directions)] if self._directions else ""
        return Told((*self._data, *self._known(context)), tuple(self._evidence(context)), direction)

    @cached_property
    def _data(self) -> tuple[str, ...]:
        draws, evidences, own_E = self._draws, self._draws.evidences, self._draws.own_P[self._draws.problem_E]
        right_E, sizes_E = np.empty(len(evidences)), np.empty(len(evidences))
        for block in draws.blocks:
            right_E[block.at_B], sizes_E[block.at_B] = block.human_BM.sum(axis=1), block.human_BM.shape[1]
        right = right_E[own_E]
        share = right.sum() / sizes_E[own_E].sum()
        sizes = sorted({one.passed_MN.shape for one, own in zip(evidences, own_E, strict=True) if own})
        size = " x ".join(map(str, sizes[0])) if len(sizes) == 1 else f"{len(sizes)} sizes, {sizes[0]} to {sizes[-1]}"
        most = int(np.bincount(draws.problem_E).max())
        views = "".join(said.format(draws.views_P.count(view)) for view, said in _VIEWS if view in draws.views_P)
        checks = [cases.shape[1] for one in evidences for cases in one.cases_NMC]
        copies = max(int(one.copies_M.max(initial=1)) for one in evidences)
        has = {
            "cases": f"a testing holds {min(checks, default=1)} to {max(checks, default=1)} single checks (cases)",
            "copies": f"copies go up to {copies}",
            "durations": "durations were measured",
            "groups": "some solutions are the same program (solution_groups)",
            "texts": "texts of solutions and testings are there",
            "statement": "statement and payload are there",
            "calls": "calls are there",
            "values": "values are there",
            "verdicts": "verdict letters are there",
            "similarity": "solution_similarity and testing_similarity are there",
            "logprobs": "log-probabilities are there (solution_logprob, testing_logprob)",
        }
        hasnt = {
            "cases": "every testing is one single check (cases says no more than passed)",
            "copies": "copies are all 1",
            "durations": "durations are all 0",
            "groups": "no two solutions are the same program",
            "texts": "solution_texts and testing_texts are empty",
            "statement": "statement and payload are None",
            "calls": "calls is None",
            "values": "values is None",
            "verdicts": "verdicts is None",
            "similarity": "solution_similarity and testing_similarity are None",
            "logprobs": "solution_logprob and testing_logprob are None",
        }
        said = [has[name] if name in self.present else hasnt[name] for name in has]
        return (
            f"{draws.own_P.sum()} problems, {size} solutions and testings, {most} draws each; "
            f"{share:.0%} of the solutions are right{_rare(right)}. The best score that any ranking could have is "
            f"{draws.mean(self._best_P):.3f}.",
            f"Of the evidence: {'; '.join(said)}.{views}",
            *([] if draws.blocks[0].joinable_BN is None else [JOINED]),
        )

    def _known(self, context: ProposalContext) -> list[str]:
        named = {str(one.candidate.detail.get("name") or ""): one.evaluation.score for one in context.start}
        valid = {name: score for name, score in named.items() if name and score is not None}
        told = [f"{name} {valid[name]:.3f}" for name in sorted(valid, key=lambda name: -valid[name])]
        return [f"Known strategies score: {', '.join(told)}."] if told else []

    def _evidence(self, context: ProposalContext) -> list[str]:
        parent = context.parent.evaluation
        if len(parent.per_seed) != len(self._best_P) or len(parent.notes) != len(self._best_P):
            return []
        lines = [self._summary(context), *(f"- {line}" for line in parent.feedback if line.startswith("warning"))]
        rng = SeedTree(context.seed).child("brief", context.index).random()
        for number, problem in enumerate(self._chosen(context, rng)):
            lines += self._told(context, problem, drawn=number < DRAWN, texts=number == 0)
        return lines

    def _summary(self, context: ProposalContext) -> str:
        own = self._draws.own_P
        mine, best = np.array(context.parent.evaluation.per_seed)[own], self._best_P[own]
        won = mine >= best - WON
        reached = np.array(context.reached)[own] if context.reached else mine
        never = int((reached < np.minimum(NEVER, best)).sum())
        text = (
            f"Of {len(mine)} problems it gets all that is possible on {won.sum()}, something on "
            f"{(~won & (mine > WON)).sum()}, nothing on {(~won & (mine <= WON)).sum()}."
        )
        text += f" On {never} of them no program so far got anything worth showing." if never else ""
        if len(context.before) == len(own):
            gap = mine - np.array(context.before)[own]
            gained, lost = (gap > WON).sum(), (gap < -WON).sum()
            text += f" Against the program that it was made from it gained {gained} and lost {lost}."
        return text

    def _chosen(self, context: ProposalContext, rng: random.Random) -> list[int]:
        """Problems to show, of those that may be (`Draws.shown_P`) and of each one side: two that another program wins,
        one that the last change lost, others that can be won."""
        mine = np.array(context.parent.evaluation.per_seed)
        reached = np.array(context.reached or mine)
        open_P = self._draws.shown_P & (self._best_P - mine > WON) & (reached >= np.minimum(NEVER, self._best_P))
        noted = context.parent.evaluation.notes
        beaten = open_P & np.array([self._differs(context, problem, note) for problem, note in enumerate(noted)])
        lost = open_P & (np.array(context.before) - mine > WON) if context.before else np.zeros_like(open_P)
        chosen: list[int] = []
        for pool, count in ((beaten, 2), (lost, 1), (open_P & (reached - mine > WON), SHOWN), (open_P, SHOWN)):
            shown, left = {self._draws.originals_P[problem] for problem in chosen}, dict[str, int]()
            for problem in np.flatnonzero(pool).tolist():
                if self._draws.originals_P[problem] not in shown:
                    left.setdefault(self._draws.originals_P[problem], problem)
            chosen += rng.sample(list(left.values()), min(count, len(left), SHOWN - len(chosen)))
        return chosen

    def _differs(self, context: ProposalContext, problem: int, note: str) -> bool:
        """Whether the draw that is told about shows why another program is better there."""
        better = self._better(context, problem)
        return better is not None and better.evaluation.notes[problem : problem + 1] not in ((), (note,))

    def _better(self, context: ProposalContext, problem: int) -> Elite | None:
        """The best of the other programs on a problem, if it is clearly better there."""
        best = max(context.others, key=lambda one: _score(one, problem), default=None)
        mine = context.parent.evaluation.per_seed[problem]
        return None if best is None or _score(best, problem) - mine <= WON else best

    def _told(self, context: ProposalContext, problem: int, *, drawn: bool, texts: bool) -> list[str]:
        place = self._first.place(problem)
        rows, columns = place.block.passed(place.row).shape
        human = place.block.human_BM[place.row]
        mine = context.parent.evaluation
        better = self._better(context, problem)
        head = f"score {mine.per_seed[problem]:.2f}"
        head += "" if better is None else f", {context.name_of(better)} {_score(better, problem):.2f}"
        lines = [
            "",
            f"## Problem {self._draws.problem_ids[problem]}: {head}, possible {self._best_P[problem]:.2f}",
            f"One draw, {human.sum()} of {rows} solutions right.",
        ]
        width = place.block.passed_BMN.shape[2]
        told = [("this program", read_note(mine.notes[problem], rows, width))]
        if better is not None and self._differs(context, problem, mine.notes[problem]):
            told.append((context.name_of(better), read_note(better.evaluation.notes[problem], rows, width)))
        notes = [(name, note) for name, note in told if note is not None]
        lines += [f"- {name}: {_did(place, note)}" for name, note in notes]
        evidence = self._draws.evidences[place.draw]
        if drawn and human.any() and not human.all() and rows <= ROWS and columns <= COLUMNS:
            lines += _matrix(place, evidence)
        return lines + (_texts(place, evidence, [note for _, note in notes]) if texts else [])


def _rare(right: Floats) -> str:
    """In how many draws there is hardly anything to find."""
    none, one = float((right == 0).mean()), float((right == 1).mean())
    return (f"; in {none:.0%} of the draws none is" if none else "") + (f"; in {one:.0%} only one" if one else "")


def _score(elite: Elite, problem: int) -> float:
    per_seed = elite.evaluation.per_seed
    return per_seed[problem] if per_seed else 0.0


def _did(place: FirstDraw, note: Note) -> str:
    passed, human = place.block.passed(place.row), place.block.human_BM[place.row]

    def of_solutions(which: str, members: list[int]) -> str:
        if len(members) > 1:
            shown = ", ".join(f"s{one}" for one in members[:6]) + (", ..." if len(members) > 6 else "")
            return f"{which} tied, {human[members].sum()} of {len(members)} right ({shown})"
        (one,) = members
        return f"{which} s{one}, {'right' if human[one] else 'wrong'}, passes {passed[one].sum()}/{passed.shape[1]}"

    chosen = np.flatnonzero(note.chosen_N).tolist()
    if place.block.joinable_BN is not None:
        trusts = f"joins {len(chosen)} testings" if chosen else "keeps no testing: what is first passes nothing that is"
    else:
        one = f"t{chosen[0]}"
        trusts = f"trusts {one}" if len(chosen) == 1 else f"trusts {len(chosen)} tied testings, such as {one}"
        chosen = chosen[:1]
    s, accepted = "s" if len(chosen) == 1 else "", passed[:, chosen].all(axis=1).sum()
    agrees = f"agree{s} with the trusted testing on {place.block.agrees(place.row, chosen)}"
    accepts = f", which accept{s} {accepted}/{len(human)} and {agrees}"
    return (
        f"{of_solutions('first', np.flatnonzero(note.top_M).tolist())}; "
        f"{of_solutions('last', np.flatnonzero(note.last_M).tolist())}; {trusts}{accepts if chosen else ''}"
    )


def _matrix(place: FirstDraw, evidence: Evidence) -> list[str]:
    """The draw, right solutions first."""
    passed, human = place.block.passed(place.row), place.block.human_BM[place.row]
    letters = evidence.verdicts_MN if evidence.verdicts_MN is not None else np.where(passed, "P", "F")
    lines = [
        f"A row a solution, a column a testing (t0 to t{passed.shape[1] - 1}), letters as in verdicts:",
        "```text",
    ]
    order = sorted(range(len(human)), key=lambda one: (not human[one], -int(passed[one].sum()), one))
    for one in order:
        times = f" x{evidence.copies_M[one]}" if evidence.copies_M[one] > 1 else ""
        lines.append(f"s{one:<3}{''.join(letters[one])} {'right' if human[one] else 'wrong'}{times}")
    return [*lines, "```"]


def _texts(place: FirstDraw, evidence: Evidence, notes: Sequence[Note]) -> list[str]:
    """The solutions and testings that decided, where there are texts: the wrong one on top, a right one, what was
    trusted."""
    if not notes or not evidence.solution_texts or not evidence.testing_texts:
        return []
    human = place.block.human_BM[place.row]
    wrong = [one for note in notes for one in np.flatnonzero(note.top_M).tolist() if not human[one]][:1]
    right = [one for note in notes for one in np.flatnonzero(note.top_M).tolist() if human[one]]
    right = (right or np.flatnonzero(human).tolist())[:1]
    testings = list(dict.fromkeys(int(np.flatnonzero(note.chosen_N)[0]) for note in notes if note.chosen_N.any()))
    shown = [
        *((f"s{one}, {'right' if human[one] else 'wrong'}", evidence.solution_texts[one]) for one in (*wrong, *right)),
        *((f"t{one}", evidence.testing_texts[one]) for one in testings),
    ]
    lines = ["As texts:"]
    for name, text in shown:
        lines += [f"{name}:", "```text", *_cut(text), "```"]
    return lines


def _cut(text: str) -> list[str]:
    short = text.strip()[:TEXT_CHARACTERS].splitlines()[:TEXT_LINES]
    whole = len(text.strip()) <= TEXT_CHARACTERS and len(text.strip().splitlines()) <= TEXT_LINES
    return [line.replace("```", "'''") for line in short] + ([] if whole else ["..."])
