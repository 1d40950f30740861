"""Genetic strategies: typed, bounded, finite, permutation-equivariant; source and tree say the same."""

import ast
import asyncio
import contextlib
import random
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.jobs import ItemOutcome, Status
from evosyn.ports import ProposalContext
from evosyn.program_identity import program_key
from evosyn.records import Candidate, Elite, Evaluation, Evidence, ParsedCall, Ranking
from evosyn.sharing import Company
from evosyn.strategies.evidence import select
from evosyn.strategies.grammar import helpers
from evosyn.strategies.grammar import reader as reader_module
from evosyn.strategies.grammar.constants import retuned_text
from evosyn.strategies.grammar.grammar import OPS, TERMINALS, Node, Program, Type, size_of, type_of
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.simplify import simplified
from evosyn.strategies.grammar.source import meant, read, write
from evosyn.strategies.grammar.terms import glossary, notation, without_terms
from evosyn.strategies.grammar.trees import MAX_SIZE, crossed, fits, mutated, random_program
from evosyn.strategies.proposers.genetic import GeneticProposer
from evosyn.strategies.running._harness import DTYPES, ShownEvidence
from evosyn.strategies.running.packing import pack
from evosyn.strategies.running.stacked import TreeRunner, harness
from evosyn.strategies.running.stacks import stacked
from evosyn.strategies.running.steps import Steps

seeds = st.integers(0, 2**32)
INITIAL = Program(Node("row_mean", (Node("passed"),)), Node("row_mean", (Node("turned", (Node("passed"),)),)))
MODEL = (
    "import numpy as np\n\n\ndef rank(evidence):\n    p = evidence.passed\n    return 0.5 * p.sum(1), p.sum(0) + 0.25\n"
)


def evidence(seed: int, m: int = 5, n: int = 4, flat: bool = False) -> Evidence:
    rng = np.random.default_rng(seed)
    cases = tuple(
        np.full((m, 2), bool(rng.integers(2))) if flat else rng.random((m, int(rng.integers(1, 4)))) < rng.random()
        for _ in range(n)
    )
    passed = np.stack([case.all(axis=1) for case in cases], axis=1)
    known = bool(rng.integers(2))

    def alike(size: int) -> np.ndarray:
        found = rng.random((size, size)).round(4)
        return np.maximum(found, found.T)

    def asking(width: int) -> tuple:
        return tuple(None if rng.random() < 0.2 else ParsedCall(str(rng.integers(3)), "1") for _ in range(width))

    return Evidence(
        passed,
        np.ones((m, n), bool),
        cases,
        np.zeros((m, n)),
        rng.integers(1, 4, m),
        rng.integers(0, m, m),
        rng.integers(0, n, n),
        verdicts_MN=np.where(passed, "P", rng.choice(list("FET"), (m, n))) if known else None,
        calls_N=tuple(None if rng.random() < 0.2 else asking(case.shape[1]) for case in cases) if known else None,
        values_NMC=tuple(rng.integers(0, 3, case.shape).astype(np.uint64) for case in cases) if known else None,
        solution_similarity_MM=alike(m) if known else None,
        testing_similarity_NN=alike(n) if known else None,
    )


PACKS: dict = {}


def unpacked(found: Evidence) -> dict:
    """What a program sees an evidence through."""
    packed = pack([found])
    arrays = {key: np.frombuffer(packed[key], dtype) for key, dtype in DTYPES.items()}
    return {**packed, **arrays, "unknown": set(), "kept alive": found}


def run(text: str, found: Evidence) -> Ranking:
    scope: dict = {}
    exec(text, scope)
    with np.errstate(all="ignore"):
        return Ranking(*scope["rank"](ShownEvidence(PACKS.setdefault(id(found), unpacked(found)), 0)))


HARNESS: dict = {}
exec(harness(), HARNESS)


def stack_bytes(programs: list[Program], stacks: list[dict[str, np.ndarray]]) -> list[bytes]:
    """What the harness gives for programs in one process, here without the sandbox around it."""
    made = Steps(programs)
    argument = {"steps": made.steps, "programs": [tuple(one) for one in made.programs]}
    with np.errstate(all="ignore"):
        return HARNESS["main"]("", {"stacks": stacks}, argument)


def stack_scores(program: Program, found: list[Evidence]) -> tuple[np.ndarray, np.ndarray]:
    """What the harness makes of evidences of one shape, here without the sandbox around it."""
    (stack,) = stacked(found)
    (raw,) = stack_bytes([program], [stack.terminals])
    scores, (m, n) = np.frombuffer(raw), stack.sizes
    return scores[: len(found) * m].reshape(-1, m), scores[len(found) * m :].reshape(-1, n)


def program_of(seed: int) -> Program:
    rng = random.Random(seed)
    program = random_program(rng, depth=rng.randint(1, 5))
    for _ in range(3):
        other = random_program(rng)
        new = Program(
            mutated(crossed(program.solutions, rng.choice(other), rng, scores=False), rng, scores=False),
            mutated(crossed(program.testings, rng.choice(other), rng, scores=True), rng, scores=True),
        )
        program = new if fits(new) else program
    return program


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_variation_keeps_programs_well_typed_and_bounded(seed):
    program = program_of(seed)
    assert (type_of(program.solutions), type_of(program.testings)) == (Type.M, Type.N)
    assert max(size_of(tree) for tree in program) <= MAX_SIZE
    assert "solution_scores" not in repr(program.solutions)


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_what_is_written_is_read_back(seed):
    program = program_of(seed)
    text = write(program)
    assert read(text) == program
    ast.parse(text)


@settings(max_examples=60, deadline=None)
@given(seeds, st.booleans())
def test_a_stack_of_problems_gets_bit_for_bit_the_scores_that_the_text_gives_for_each_of_them(seed, flat):
    program = program_of(seed)
    found = [evidence(seed + number, flat=flat) for number in range(3)]
    solutions, testings = stack_scores(program, found)
    for row, one in enumerate(found):
        ranking = run(write(program), one)
        assert np.isfinite(solutions[row]).all() and np.isfinite(testings[row]).all()
        assert ranking.solution_scores_M.tobytes() == solutions[row].tobytes()
        assert ranking.testing_scores_N.tobytes() == testings[row].tobytes()


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_permuting_solutions_and_testings_permutes_the_scores(seed):
    program, one, rng = program_of(seed), evidence(seed, 6, 5), np.random.default_rng(seed)
    rows, columns = rng.permutation(6), rng.permutation(5)
    moved = select(one, rows, columns)
    (before_s, before_t), (after_s, after_t) = stack_scores(program, [one]), stack_scores(program, [moved])
    np.testing.assert_allclose(before_s[0][rows], after_s[0], atol=2e-8, rtol=1e-6)
    np.testing.assert_allclose(before_t[0][columns], after_t[0], atol=2e-8, rtol=1e-6)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_simplification_never_grows_and_keeps_the_order(seed):
    program = program_of(seed)
    small = simplified(program)
    assert sum(map(size_of, small)) <= sum(map(size_of, program))
    found = [evidence(seed, 6, 5)]
    for before, after in zip(stack_scores(program, found), stack_scores(small, found), strict=True):
        first, second = before[0], after[0]
        gaps = first[:, None] - first[None, :]
        clear = np.abs(gaps) > 1e-4
        assert not (clear & (np.sign(gaps) * (second[:, None] - second[None, :]) < -1e-6)).any()


def test_the_initial_strategy_of_the_paper_is_a_program_of_the_grammar():
    one = evidence(3)
    solutions, testings = stack_scores(INITIAL, [one])
    np.testing.assert_allclose(solutions[0], one.passed_MN.mean(1))
    np.testing.assert_allclose(testings[0], one.passed_MN.mean(0))


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_programs_without_a_term_are_smaller_and_well_typed(seed):
    program = program_of(seed)
    for one in without_terms(program):
        assert sum(map(size_of, one.program)) < sum(map(size_of, program))
        assert (type_of(one.program.solutions), type_of(one.program.testings)) == (Type.M, Type.N)
        assert read(write(one.program)) == one.program


def test_a_card_tells_every_operation_in_words():
    told = glossary(OPENINGS["agreement-gap"])
    assert any(line.startswith("gap: For each column") for line in told)
    assert notation(OPENINGS["agreement-gap"].solutions) == "same(passed).mean(axis=1) * passed.mean(axis=1)"


@pytest.mark.parametrize("name", OPENINGS)
def test_openings_are_well_typed_and_written_and_read(name):
    opening = OPENINGS[name]
    assert (type_of(opening.solutions), type_of(opening.testings)) == (Type.M, Type.N)
    assert read(write(opening)) == opening and simplified(opening) == opening


def test_names_of_variables_never_hide_a_helper():
    nouns = {op.noun for op in OPS.values()} | set(TERMINALS)
    assert not nouns & set(vars(helpers))


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("tidy(", "print(", 1),
        lambda text: text.replace("return np.round(", "return np.floor(", 1),
        lambda text: text + "\nimport os\n",
        lambda text: text.replace("passed.mean(axis=1)", "passed.max(axis=1)"),
        lambda text: text.replace("evidence.passed", "evidence.known"),
        lambda _: "def rank(evidence): return",
        lambda _: "(" * 500,
        lambda _: MODEL,
    ],
)
def test_a_program_outside_the_grammar_is_not_read(edit):
    text = write(INITIAL)
    assert read(text) == INITIAL
    assert edit(text) != text and read(edit(text)) is None


def test_edits_in_the_notation_of_the_grammar_are_varied_and_run_as_they_stand():
    text = write(INITIAL).replace("tidy(passed.mean(axis=1))", "tidy(passed.mean(axis=1) * 2 - 0.5)  # mine")
    found = meant(text)
    assert found is not None and read(text) is None
    assert found.solutions == Node("plus", (Node("times", (Node("row_mean", (Node("passed"),)), 2.0)), -0.5))


@pytest.mark.parametrize(
    "edit", [lambda text: "# mine\n\n" + text, lambda text: text.replace("(axis=1)", "( axis = 1)")]
)
def test_layout_and_comments_leave_a_program_what_it_is(edit):
    text = write(INITIAL)
    assert edit(text) != text and read(edit(text)) == INITIAL and Reader().key(edit(text)) == Reader().key(text)


OTHER = "lambda x: -np.arange(len(x)) * 1.0"
OTHERWISE = {
    "default": ("rank(evidence)", f"rank(evidence=globals().update(tidy={OTHER}))"),
    "decorator": ("def tidy(", f"@(lambda _: {OTHER})\ndef tidy("),
    "return type": ("rank(evidence)", "rank(evidence) -> Tuple[np.ndarray, np.ndarray]"),
    "type": ("rank(evidence)", "rank(evidence: Evidence)"),
    "keyword-only": ("rank(evidence)", "rank(evidence, *, more)"),
    "all keywords": ("rank(evidence)", "rank(evidence, **more)"),
    "yield": ("testing_scores\n", "testing_scores\n    yield 1\n"),
    "local": ("testing_scores\n", "testing_scores\n    np = 1\n"),
    "no numpy": ("import numpy as np", ""),
    "no helper": ("def tidy(", "def untidy("),
    "further arguments": ("tidy(passed.mean(axis=1))", f"tidy(passed.mean(axis=1), globals().update(tidy={OTHER}))"),
    "keywords": ("tidy(passed.mean(axis=1))", "tidy(passed.mean(axis=1), size=1)"),
    "of the mean": ("passed.mean(axis=1)", "passed.mean(0, axis=1)"),
    "assert": ("\n\n\ndef rank", f"\n\n\nassert [tidy := {OTHER}]\n\n\ndef rank"),
    "names": ("solution_scores = tidy", "found = solution_scores = tidy"),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_text_that_does_more_than_its_tree_says_runs_as_text_and_has_a_key_of_its_own(name):
    ours, reader, behind = write(INITIAL), Reader(), Stacking()
    text = ours.replace(*OTHERWISE[name])
    assert text != ours and read(text) is None and reader.read(text) is None
    assert reader.key(ours) != reader.key(text) == program_key(text) is not None
    with contextlib.suppress(Exception):
        TreeRunner(behind, reader).rank([ours, text], [evidence(3)])
    assert behind.asked == [text]


@pytest.mark.parametrize("name", ["decorator", "default", "type"])
def test_what_a_text_means_is_varied_and_proposed_itself(name):
    text = write(INITIAL).replace(*OTHERWISE[name])
    made = asyncio.run(GeneticProposer(16, Reader()).propose(replace(context(text), around=True))).candidates
    assert made[0].text == write(INITIAL) and made[0].detail == {"operator": "near"}
    assert all(read(one.text) is not None for one in made)


class Behind:
    """A runner without a sandbox, which remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rank(self, programs, evidences, tasks=None):  # noqa: ARG002
        self.asked += programs
        return [tuple(run(program, one) for one in evidences) for program in programs]


class Stacking(Behind):
    """The same beside a sandbox that runs the harness here, or fails where `broken`."""

    def __init__(self, broken: bool = False) -> None:
        super().__init__()
        self.sandbox, self.shared, self.broken, self.company = self, {}, broken, Company(repeat=0.0)

    def share(self, value):
        self.shared["key"] = value
        return "key"

    def run(self, jobs):
        scope: dict = {}
        exec(jobs[0].harness, scope)
        with np.errstate(all="ignore"):
            values = [scope["main"](job.program, self.shared[job.context], job.argument) for job in jobs]
        return [(ItemOutcome(Status.TIMEOUT) if self.broken else ItemOutcome(Status.OK, value),) for value in values]


@pytest.mark.parametrize("behind", [Behind(), Stacking(), Stacking(broken=True)])
def test_programs_of_the_grammar_are_stacked_and_the_others_or_what_failed_is_sent_on(behind):
    found = [evidence(1), evidence(2, 3, 6), evidence(4)]
    texts = [MODEL, write(INITIAL), *(write(program_of(seed)) for seed in range(20))]
    rankings = TreeRunner(behind, Reader()).rank(texts, found)
    alone = isinstance(behind, Stacking) and not behind.broken
    assert behind.asked == ([MODEL] if alone else texts)
    for text, mine in zip(texts, rankings, strict=True):
        for one, ranking in zip(found, mine, strict=True):
            for scores, other in zip(ranking, run(text, one), strict=True):
                assert np.array_equal(scores, other)


def context(text: str, *others: str, index: int = 3) -> ProposalContext:
    elites = [Elite(Candidate(one), Evaluation(0.5)) for one in (text, *others)]
    return ProposalContext(index=index, seed=7, parent=elites[0], inspirations=tuple(elites[1:]))


@pytest.mark.parametrize("text", [write(INITIAL), MODEL])
def test_a_proposal_is_a_burst_of_distinct_programs_and_depends_on_its_number_alone(text):
    proposer = GeneticProposer(12, Reader())
    donor = write(program_of(5))
    first = asyncio.run(proposer.propose(context(text, donor)))
    again = asyncio.run(GeneticProposer(12, Reader()).propose(context(text, donor)))
    other = asyncio.run(proposer.propose(context(text, donor, index=4)))
    assert first == again != other
    assert len({candidate.text for candidate in first.candidates}) == 12
    assert all(program_key(candidate.text) for candidate in first.candidates)
    assert text not in {candidate.text for candidate in first.candidates}


def test_an_opaque_parent_without_donors_still_gives_variants():
    made = asyncio.run(GeneticProposer(8, Reader()).propose(context(MODEL))).candidates
    retuned = [one for one in made if one.detail["operator"] == "retune-text"]
    assert retuned and len(made) == 8


PAPER = "def strategy(instance, solution_ids, testing_ids, verify_func):\n    return [1], [2]\n"
NAMED = "rank = lambda evidence: (evidence.passed.sum(1), evidence.passed.sum(0))\n"


@pytest.mark.parametrize("text", [write(INITIAL), MODEL, PAPER, NAMED], ids=["tree", "opaque", "paper form", "lambda"])
def test_a_hundred_and_more_follow_what_a_model_wrote_whatever_it_is(text):
    asked = replace(context(text, write(program_of(5)), write(program_of(9))), around=True)
    made = asyncio.run(GeneticProposer(16, Reader()).propose(asked)).candidates
    assert len({one.text for one in made} - {text}) == len(made) >= 150
    assert made == asyncio.run(GeneticProposer(16, Reader()).propose(asked)).candidates


def test_what_took_two_calls_is_followed_by_twice_as_many():
    asked = replace(context(MODEL, write(program_of(5))), around=True)
    paid = replace(asked.parent.candidate, detail={"replies": ["r_1", "r_2"]})
    twice = replace(asked, parent=replace(asked.parent, candidate=paid))
    made, more = (asyncio.run(GeneticProposer(16, Reader()).propose(one)).candidates for one in (asked, twice))
    assert len(made) == 160 and len({one.text for one in more}) == 320


def test_what_is_new_around_all_openings_one_after_the_other_is_more_than_a_hundred_each():
    seen: set[str] = set()
    for at, opening in enumerate(OPENINGS.values()):
        asked = replace(context(write(opening), index=at), around=True)
        texts = {one.text for one in asyncio.run(GeneticProposer(16, Reader()).propose(asked)).candidates}
        assert len(texts - seen) > 100
        seen |= texts


def test_retuning_a_text_moves_decimal_constants_only():
    text = '"""Not 0.5."""\nx = 0.5 * y[1]  # ß 0.25\nz = 1e-9\n'
    moved = retuned_text(text, random.Random(1))
    assert moved is not None and moved.startswith('"""Not 0.5."""') and moved.endswith("* y[1]  # ß 0.25\nz = 1e-9\n")
    assert retuned_text("x = 1\n", random.Random(1)) is None


@settings(max_examples=60, deadline=None)
@given(seeds, seeds)
def test_programs_of_the_grammar_share_a_key_exactly_where_they_are_the_same_tree(one, other):
    first, second = write(program_of(one)), write(program_of(other))
    edited = first.replace("import numpy as np\n", "# mine\nimport numpy as np\n\n\n").replace("(passed)", "( passed )")
    written, fresh = Reader(), Reader()
    written.write(program_of(one))
    assert written.key(first) == fresh.key(first) == fresh.key(edited)
    assert (fresh.key(first) == fresh.key(second)) is (program_of(one) == program_of(other))


def test_a_reader_serves_two_threads_while_it_forgets(monkeypatch):
    monkeypatch.setattr(reader_module, "CAPACITY", 8)
    reader, programs, wrong = Reader(), [program_of(seed) for seed in range(40)], []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work() -> None:
        for _ in range(20):
            for program in programs:
                try:
                    if reader.read(reader.write(program)) != program or not reader.key(write(program)):
                        wrong.append("another program")
                except KeyError as error:
                    wrong.append(repr(error))

    try:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_keys_of_programs_outside_the_grammar_are_those_of_their_code():
    assert Reader().key(MODEL) == Reader().key(MODEL + "\n# more\n") == program_key(MODEL)
    assert Reader().key("def") is None and Reader().key("x = 1\n" * 50_000) is None


def test_what_terminals_make_of_verdicts_values_and_calls():
    verdicts, passed = np.array([["P", "F", "E"], ["T", "K", "P"]]), np.zeros((2, 3), bool)
    assert helpers.ran_through(verdicts, passed).tolist() == [[1, 1, 0], [0, 0, 1]]
    assert helpers.ran_through(None, passed).tolist() == np.ones((2, 3)).tolist()
    values = (np.array([[7, 7], [7, 8], [0, 7]], np.uint64), None, np.zeros((3, 0), np.uint64))
    agreed = helpers.agreeing(values, np.zeros((3, 3), bool))
    assert agreed.tolist() == [[4 / 6, 1, 1], [3 / 6, 1, 1], [2 / 6, 1, 1]], "0 is no value: it agrees with nothing"
    assert helpers.agreeing(None, passed).tolist() == np.ones((2, 3)).tolist()
    one, two = ParsedCall("[1]", "2"), ParsedCall("[2]", "3")
    asked = helpers.shared_calls(((one, None), (ParsedCall("[1]", "9"), two), None), 3)
    assert asked.tolist() == [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]], "what is asked counts, not what is expected"
    assert helpers.shared_calls(None, 2).tolist() == np.eye(2).tolist()
