"""The known strategies: what each says on small cases worked out by hand, and that order never matters to them."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.codec import load
from evosyn.errors import UsageError
from evosyn.records import Candidate, PassMatrix, Ranking
from evosyn.rundir import RunDir
from evosyn.strategies import EVOLVED_BY, known_names, load_known, load_strategy, strategy_id
from evosyn.strategies.evidence import evidence_of, select, sub_matrix
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.source import read, write
from evosyn.strategies.ranking import dense_ranks
from evosyn.strategies.running import _harness
from evosyn.strategies.running.packing import pack
from evosyn.textual import similarity

NAMES = known_names()


def ranking(program: str, matrix: PassMatrix) -> Ranking:
    """What a trusted program says; in this process, which is fit for the package's own programs only."""
    found = _harness.main(program, pack([evidence_of(matrix)]), {"screen": 1, "budget_s": 60.0})
    assert "reason" not in found, found
    scores = np.frombuffer(found["scores"])
    rows = matrix.verdicts_MN.shape[0]
    return Ranking(scores[:rows], scores[rows:])


def matrix_of(*rows: str, texts: bool = False) -> PassMatrix:
    cells = np.array([list(row.replace("1", "P").replace("0", "F")) for row in rows])
    values = tuple((column == "P").astype(np.uint64)[:, None] for column in cells.T)
    if not texts:
        return PassMatrix("p", cells, values_NMC=values, solution_similarity_MM=np.eye(len(cells)))
    return PassMatrix(
        "p",
        cells,
        values_NMC=values,
        solution_texts=tuple(f"def f(): return {m}" for m in range(cells.shape[0])),
        testing_texts=tuple(f"assert f() == {n}" for n in range(cells.shape[1])),
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_names_its_source_and_imports_next_to_nothing(name: str) -> None:
    tree = ast.parse(load_known(name))
    text = ast.get_docstring(tree) or ""
    assert "Source: " in text or name == "random"
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= {"numpy", "hashlib", "math"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.integers(1, 7), st.integers(1, 7), st.booleans(), st.randoms(use_true_random=False))
def test_permuting_solutions_and_testings_permutes_the_ranking(
    name: str, rows: int, columns: int, texts: bool, random: object
) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    cells = ["".join(rng.choice(["0", "1"], columns)) for _ in range(rows)]
    matrix = matrix_of(*cells, texts=texts)
    by_row, by_column = rng.permutation(rows), rng.permutation(columns)
    moved = sub_matrix(matrix, by_row, by_column)
    before, after = ranking(load_known(name), matrix), ranking(load_known(name), moved)
    assert dense_ranks(before.solution_scores_M)[by_row].tolist() == dense_ranks(after.solution_scores_M).tolist()
    assert dense_ranks(before.testing_scores_N)[by_column].tolist() == dense_ranks(after.testing_scores_N).tolist()


# Four solutions, four testings: the first accepts all, the second all but the last, the third one, the fourth nobody.
CASE = matrix_of("1110", "1100", "1100", "1000")
EXPECTED = {
    "initial": ([3, 2, 2, 1], [4, 3, 1, 0]),
    "gap": ([3 / 4, 2 / 4, 2 / 4, 1 / 4], [2 / 4 - 0, 7 / 12 - 1 / 4, 3 / 4 - 5 / 12, 0 - 2 / 4]),
    "tfidf": ([1 / 4 + 1 / 3 + 1, 1 / 4 + 1 / 3, 1 / 4 + 1 / 3, 1 / 4], [1 / 4, 1 / 3, 1, 0]),
    "coverage": ([3, 2, 2, 1], [(8 - 4) / 4 - 0, (7 - 3) / 3 - 1, (3 - 1) / 1 - 5 / 3, 0 - 8 / 4]),
    "inverse": ([3, 2, 2, 1], [0, 1, 3, 4]),
    "exclusion": ([3, 2, 2, 1], [(8 - 4) / 4, (7 - 3) / 3, (3 - 1) / 1, 0]),
    "hardness": ([2, 1, 1, 0], [0 - 200, 1, 3, 4 - 400]),
    "codet": ([1 * 3, 2 * 2, 2 * 2, 1 * 1], [3 + 4 + 4 + 1, 3 + 4 + 4, 3, 0]),
    "codet_gap": ([3, 4, 4, 1], [12 / 4 - 0, 11 / 3 - 1, 3 - 9 / 3, 0 - 12 / 4]),
    # of calls that either answered: 1 and 2 agree on 2 of 3, 1 and 4 on 1 of 3, 2 and 4 on 1 of 2
    "mbr": (
        [8 / 3 / 4, 19 / 6 / 4, 19 / 6 / 4, 7 / 3 / 4],
        [17 / 6 / 4, 3 / 4 - 7 / 3 / 4, 8 / 3 / 4 - 26 / 9 / 4, -17 / 6 / 4],
    ),
    "codet_medoid": (
        [3 + 0.225, 4 + 0.225, 4 + 0.225, 1 + 0.225],
        [12 / 4 - 0, 11 / 3 - 1, 3 - 9 / 3, 0 - 12 / 4],
    ),
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_scores_are_those_of_the_paper_on_a_case_worked_out_by_hand(name: str) -> None:
    found = ranking(load_known(name), CASE)
    assert found.solution_scores_M.tolist() == pytest.approx(EXPECTED[name][0])
    assert found.testing_scores_N.tolist() == pytest.approx(EXPECTED[name][1])


def test_hardness_compares_strictness_first_and_pass_counts_second() -> None:
    found = ranking(load_known("hardness"), matrix_of("1100", "0010", "0000", "1100"))
    # strictness of the testings: 2, 2, 3, 4; means of what is passed: 2, 3, 0, 2; counts: 2, 1, 0, 2
    assert dense_ranks(found.solution_scores_M).tolist() == [1, 0, 2, 1]


def test_random_differs_between_texts_and_ties_without_them() -> None:
    assert len(set(ranking(load_known("random"), matrix_of("10", "01", "11", texts=True)).solution_scores_M)) == 3
    assert len(set(ranking(load_known("random"), matrix_of("10", "01", "11")).solution_scores_M)) == 1


def test_unknown_names_offer_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'initial'"):
        load_known("inital")


def test_a_strategy_loads_by_name_file_or_run_directory(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    program = "def rank(evidence):\n    return evidence.passed.sum(1), evidence.passed.sum(0)\n"
    (folder / "strategy.py").write_text(program)
    assert load_strategy(folder) == load_strategy(folder / "strategy.py") == program
    assert load_strategy("initial") == load_known("initial")
    (folder / "marked.py").write_text(program, encoding="utf-8-sig")
    assert load_strategy(folder / "marked.py") == program
    (folder / "empty").mkdir()
    with pytest.raises(UsageError, match=r"has no strategy\.py"):
        load_strategy(folder / "empty")


@pytest.mark.parametrize("marks", ["\ufeff", "\ufeff\ufeff"])
def test_a_byte_order_mark_is_no_part_of_a_program_whichever_way_it_comes_in(tmp_path: Path, marks: str) -> None:
    text = write(next(iter(OPENINGS.values())))
    (tmp_path / "mine.py").write_text(marks + text, encoding="utf-8")
    candidate = Candidate(marks + text)
    assert (
        candidate == Candidate(text) == load(Candidate, {"text": marks + text}) and candidate.id == Candidate(text).id
    )
    assert load_strategy(tmp_path / "mine.py") == candidate.text == text
    assert strategy_id(f"# {EVOLVED_BY} 1\n\n{text}") == candidate.id


def test_a_text_that_begins_with_a_mark_is_read_as_it_runs() -> None:
    text = "\ufeff" + write(next(iter(OPENINGS.values())))
    found = _harness.main(
        text, pack([evidence_of(PassMatrix("p", np.full((2, 2), "P")))]), {"screen": 1, "budget_s": 9}
    )
    assert "does not parse" in found["reason"]
    assert Reader().read(text) is read(text) is Reader().key(text) is None


def test_evidence_holds_nothing_human_and_numbers_the_groups_that_were_recorded() -> None:
    matrix = PassMatrix(
        "p",
        np.array([list("PF"), list("PU"), list("FF")]),
        np.array(list("PFP")),
        groups_M=np.array([5, 5, 2]),
        solution_texts=("def f():\n    return 1", "def f():\n  return 1  # same", "def f( : broken"),
        testing_texts=("a", "a"),
    )
    evidence = evidence_of(matrix)
    assert evidence.solution_group_M.tolist() == [0, 0, 1]
    assert evidence.testing_group_N.tolist() == [0, 0]
    assert evidence.known_MN.tolist() == [[True, True], [True, False], [True, True]]
    assert [cases.tolist() for cases in evidence.cases_NMC] == [[[True], [True], [False]], [[False], [False], [False]]]
    assert not any("human" in field for field in evidence.__dataclass_fields__)
    chosen = select(evidence, np.array([2, 0]), np.array([1]))
    assert chosen.passed_MN.tolist() == [[False], [False]]
    assert chosen.solution_texts == ("def f( : broken", "def f():\n    return 1")


def test_the_program_in_the_docs_is_a_strategy() -> None:
    import re
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "write-a-strategy.md"
    if not page.exists():
        pytest.skip("the docs are not here")
    block = re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert block is not None
    found = ranking(block.group(1), CASE)
    assert dense_ranks(found.testing_scores_N).tolist() == [2, 1, 0, 2]


def posterior(passed: np.ndarray, rows: list[int]) -> float:
    """B4's integral over the rates, summed up on a grid of rates instead of by its closed form."""
    right = passed[rows[0]] > 0
    wrong = np.delete(passed, rows, axis=0)
    grid = (np.arange(400_000) + 0.5) / 400_000

    def integral(hits: float, size: int, alpha: float, beta: float) -> float:
        logs = (hits + alpha - 1) * np.log(grid) + (size - hits + beta - 1) * np.log1p(-grid)
        return float(logs.max() + np.log(np.exp(logs - logs.max()).mean()))

    found = integral(len(rows), len(passed), 1000, 1) + integral(right.sum(), len(right), 1000, 1)
    found += integral(wrong[:, right].sum(), wrong[:, right].size, 1, 1)
    return found + integral(wrong[:, ~right].sum(), wrong[:, ~right].size, 1, 10000)


def test_b4_gives_the_posterior_of_each_consensus_set() -> None:
    found = ranking(load_known("b4"), CASE).solution_scores_M
    passed = (CASE.verdicts_MN == "P").astype(float)
    expected = np.array([posterior(passed, rows) for rows in ([0], [1, 2], [1, 2], [3])])
    assert found - found[0] == pytest.approx(expected - expected[0], abs=0.02)
    assert dense_ranks(found).tolist() == dense_ranks(expected.round(6)).tolist()


def test_errors_that_are_independent_let_a_reliable_testing_outvote_two_that_guess() -> None:
    rng = np.random.default_rng(0)
    right = np.arange(40) < 20
    rates = np.array([0.95, 0.9, 0.9, 0.55, 0.55])
    agrees = rng.random((40, 5)) < rates
    rows = ["".join("1" if cell else "0" for cell in row) for row in agrees == right[:, None]]
    found = ranking(load_known("dawid_skene"), matrix_of(*rows))
    assert set(np.argsort(-found.testing_scores_N)[:3]) == {0, 1, 2}
    assert right[np.argsort(-found.solution_scores_M)[:15]].all()


def test_among_tied_solutions_the_text_most_like_the_others_comes_first() -> None:
    texts = ("def f(x): return x + 1", "def f(x): return x + 1  # one", "lambda: 0", "def f(x): return x + 11")
    cells = np.full((4, 2), "P")
    scores = ranking(
        load_known("codet_medoid"), PassMatrix("p", cells, solution_similarity_MM=similarity(texts))
    ).solution_scores_M
    assert scores.argmin() == 2 and len(set(scores)) > 1


def test_where_no_texts_are_known_the_tied_stay_tied() -> None:
    cells = PassMatrix("p", np.array([list("PF"), list("FP"), list("FF")]))
    medoid, plain = (ranking(load_known(name), cells) for name in ("codet_medoid", "codet_gap"))
    assert np.array_equal(medoid.solution_scores_M, plain.solution_scores_M)
    assert np.array_equal(medoid.testing_scores_N, plain.testing_scores_N)


def test_a_strategy_whose_evidence_was_not_recorded_is_invalid_and_says_what() -> None:
    packed = pack([evidence_of(PassMatrix("p", np.array([list("PF"), list("FP")])))])
    found = _harness.main(load_known("mbr"), packed, {"screen": 1, "budget_s": 60.0})
    assert found["unknown"] == ["values"] and "MBR compares" in found["reason"]


def test_the_winner_of_a_run_is_what_the_run_wrote_and_a_file_is_what_it_holds(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.write("strategy.py", load_known("gap"))
    run.write_json("report.json", {"digests": {"strategy.py": run.digest("strategy.py")}})
    assert load_strategy(run.path) == load_known("gap")
    run.file("strategy.py").write_text(load_known("codet"))
    with pytest.raises(UsageError, match=r"its strategy\.py is not as the run wrote it .* name .*run/strategy\.py"):
        load_strategy(run.path)
    assert load_strategy(run.path / "strategy.py") == load_known("codet")
    other = tmp_path / "other.py"
    other.write_text(load_known("codet"))
    run.file("strategy.py").unlink()
    run.file("strategy.py").symlink_to(other)
    with pytest.raises(UsageError, match=r"its strategy\.py is not as the run wrote it"):
        load_strategy(run.path)
    other.unlink()
    assert run.altered(run.read_json("report.json")) == ["strategy.py"], "a link to nowhere is put aside as well"


def test_what_else_a_report_names_keeps_nobody_from_the_winner(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.write("strategy.py", load_known("gap"))
    names = ("a" * 300, "a\0b", "/etc/passwd", "../x", "card.md")
    digests = {"strategy.py": run.digest("strategy.py"), **dict.fromkeys(names, "0")}
    run.write_json("report.json", {"digests": digests})
    run.write("card.md", "edited")
    assert load_strategy(run.path) == load_known("gap")
    assert run.altered(run.read_json("report.json")) == ["card.md"]
