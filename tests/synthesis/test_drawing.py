"""Drawing the pools of a search: what cannot be used is counted, and what never came is asked for again."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import evosyn.domains
from evosyn.chat import Reply
from evosyn.configs.sampling import SearchSampling
from evosyn.dataset import read_rejects
from evosyn.errors import TeacherUnavailable, UsageError
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.pools import POOLS, load_pools, write_pools
from evosyn.records import PassMatrix, Pool, Testing
from evosyn.rundir import RunDir
from evosyn.running.progress import Usage
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.drawing import Wanted, draw_seeds
from evosyn.synthesis.search.inputs import Source, claim, prepare
from evosyn.workbench import Workbench

WANTED = Wanted(3, 2, SearchSampling(attempts=2))


class Endpoint:
    """A model behind a cache: answers what it answered before, and else as the moment is.

    Attributes:
        down: nothing is answered.
        mute: statements whose requests are never answered; bad: those that are answered with what cannot be used.
        back_after: failures after which it is up again; None for never.
    """

    name, simulated = "scripted", False

    def __init__(self, *, down=False, mute=(), bad=(), back_after=None):
        self.down, self.mute, self.bad, self.back_after = down, set(mute), set(bad), back_after
        self.cache, self.asked, self.closed, self.failed = {}, Counter(), 0, 0

    async def complete(self, request):
        key = f"{request.purpose}-{request.sample}-{request.problem.statement}"
        if key in self.cache:
            return self.cache[key]
        self.asked[request.problem.statement] += 1
        if self.back_after is not None and self.failed >= self.back_after:
            self.down = False
        if self.down or request.problem.statement in self.mute:
            self.failed += 1
            return Reply(key, "", self.name, failure="transport")
        number = request.problem.meta["number"]
        right = f"add {number}" if request.purpose == "solution" else json.dumps([[request.sample, number]])
        text = "no" if request.problem.statement in self.bad else right
        self.cache[key] = Reply(key, text, self.name, input_tokens=7, output_tokens=3, cost=0.5)
        return self.cache[key]

    async def aclose(self):
        self.closed += 1


def draw(seeds, domain, endpoint):
    return draw_seeds(seeds, endpoint, {domain.name: domain}, WANTED, on_done=lambda _: None)


def test_every_reply_that_cannot_be_used_has_a_row_with_its_reason(toy_seeds, toy_domain):
    endpoint = Endpoint(bad=[toy_seeds[1].statement])
    drawn = draw(toy_seeds, toy_domain, endpoint)
    assert [len(pool.solutions) for pool in drawn.pools] == [3, 0, 3, 3, 3]
    assert {(one.index, one.problem_id, one.item) for one in drawn.rejects} == {(1, "seed-1", "reply")}
    assert drawn.usage == Usage(4 * 5 + 10, 210, 90, 15.0)
    assert drawn.unusable == {"solution: no-fence": 6, "testing: not-json": 4}
    assert endpoint.closed == 1


def test_a_dead_endpoint_is_said_and_a_live_one_goes_on_from_what_was_answered(toy_seeds, toy_domain):
    endpoint = Endpoint(down=True)
    with pytest.raises(TeacherUnavailable, match=r"replies for 5 of 5 problems did not come \(50 x reply-transport\)"):
        draw(toy_seeds, toy_domain, endpoint)
    endpoint.down = False
    assert all(
        len(pool.solutions) == 3 and len(pool.testings) == 2 for pool in draw(toy_seeds, toy_domain, endpoint).pools
    )


def test_what_failed_for_a_while_is_asked_for_again(toy_seeds, toy_domain):
    drawn = draw(toy_seeds, toy_domain, Endpoint(down=True, back_after=30))
    assert not drawn.rejects and all(len(pool.solutions) == 3 for pool in drawn.pools)


def test_a_problem_whose_replies_never_come_is_told_apart_from_a_dead_endpoint(toy_seeds, toy_domain):
    drawn = draw(toy_seeds, toy_domain, Endpoint(mute=[toy_seeds[4].statement]))
    assert [len(pool.solutions) for pool in drawn.pools] == [3, 3, 3, 3, 0]
    assert {one.reason for one in drawn.rejects} == {"reply-transport"}


class Drawing(Workbench):
    """A workbench with the toy parts."""

    def __init__(self, endpoint, domain, crossexec):
        super().__init__()
        self._endpoint, self.domains, self.crossexec = endpoint, {domain.name: domain}, crossexec

    def teacher(self, model=None):  # noqa: ARG002
        return self._endpoint


CONFIG = EvolveConfig(scoring=ConsistencyConfig(M=2, N=2, draws=1), sampling=WANTED.config, heldout=0.5)


@pytest.fixture
def seeds_file(tmp_path, toy_seeds, monkeypatch, toy_domain):
    """Six seeds in a file; the toy domain is known by name, and the human testing of each asks one number."""
    monkeypatch.setitem(evosyn.domains._made, toy_domain.name, toy_domain)
    ask = Testing("cases", {"cases": [{"input": [1], "output": 3}]})
    seeds = [replace(one, payload={}, human_testing=ask) for one in toy_seeds]
    seeds.append(replace(seeds[0], problem_id="seed-5", statement="add 0 to every fence"))
    write_pools(tmp_path / "seeds.jsonl", [Pool(one, (), ()) for one in seeds])
    return tmp_path / "seeds.jsonl"


class Crossexec:
    """Matrices in which the first solution is right and the last one wrong."""

    def matrices(self, items, *, on_done=None):
        found = []
        for index, (problem, solutions, testings) in enumerate(items):
            assert solutions and testings
            rows = np.full((len(solutions), len(testings)), "P", dtype="<U1")
            human = np.array(["P"] * (len(solutions) - 1) + ["F"])
            ids = tuple(one.id for one in solutions), tuple(one.id for one in testings)
            found.append(PassMatrix(problem.problem_id, rows, human_M=human, solution_ids=ids[0], testing_ids=ids[1]))
            if on_done is not None:
                on_done(index, found[-1])
        return found


def prepared(out, source, workbench, config=CONFIG):
    with RunDir(out) as run:
        claim(run, source, config)
        return prepare(run, source, config, workbench, lambda *_: None)


def test_a_seed_without_usable_replies_is_left_out_with_its_reasons_at_every_start(tmp_path, seeds_file, toy_domain):
    source = Source(str(seeds_file))
    bad = source.pools[2].problem
    endpoint = Endpoint(bad=[bad.statement])
    for _ in range(2):
        seeds = prepared(tmp_path / "out", source, Drawing(endpoint, toy_domain, Crossexec()))
        assert len(seeds.split.train) + len(seeds.split.heldout) == 5
        assert seeds.skipped == {"smaller than 2 x 2": 1}
        note = seeds.notes()[0]
        assert note.startswith("5 of 6 seeds usable; 1 left out: seed-2 (6 x no-fence, 6 x not-json; 0 solutions and")
        assert seeds.unusable == {"solution: no-fence": 6, "testing: not-json": 6}
    assert {one.problem_id for one in read_rejects(tmp_path / "out")} == {"seed-2"}
    assert len(load_pools(tmp_path / "out" / POOLS)) == 6


def test_a_model_that_gives_too_little_is_named_and_another_one_may_take_the_directory(
    tmp_path, seeds_file, toy_domain
):
    source = Source(str(seeds_file))
    useless = Endpoint(bad=[pool.problem.statement for pool in source.pools[:3]])
    with pytest.raises(
        TeacherUnavailable, match=r"only 3 of 6 seeds usable, 4 are needed; 3 left out: seed-0"
    ) as caught:
        prepared(tmp_path / "out", source, Drawing(useless, toy_domain, Crossexec()))
    assert "rejects.jsonl" in str(caught.value) and not (tmp_path / "out" / POOLS).exists()
    seeds = prepared(tmp_path / "out", source, Drawing(Endpoint(), toy_domain, Crossexec()))
    assert not seeds.left_out and not read_rejects(tmp_path / "out")


def test_other_sizes_and_settings_than_those_drawn_are_refused_in_words_of_the_command(
    tmp_path, seeds_file, toy_domain
):
    source = Source(str(seeds_file))
    prepared(tmp_path / "out", source, Drawing(Endpoint(), toy_domain, Crossexec()))
    other = CONFIG.model_copy(update={"scoring": ConsistencyConfig(M=4, N=2)})
    with pytest.raises(UsageError, match=r"3 solutions and 3 testings were drawn there.*asks for 5 solutions"):
        prepared(tmp_path / "out", source, Drawing(Endpoint(), toy_domain, Crossexec()), other)
    hotter = CONFIG.model_copy(update={"sampling": SearchSampling(attempts=3)})
    with pytest.raises(UsageError, match=r"drawn with sampling.attempts = 2, not 3"):
        prepared(tmp_path / "out", source, Drawing(Endpoint(), toy_domain, Crossexec()), hotter)
