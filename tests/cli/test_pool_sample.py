"""`evosyn pool sample`: killed in the middle nothing is paid twice, what is whole is there, and a search takes it."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from simulation.scripted_server import ScriptedServer

from evosyn.domains import load_pools
from evosyn.pools import POOLS
from evosyn.synthesis.search.pool_sampling import PART
from tests.cli.test_evolve_drawing import author
from tests.cli.test_evolve_drawing import seeds as seeds


def command(seeds, out, url, *more, m="4", n="3"):
    line = [sys.executable, "-m", "evosyn", "pool", "sample", str(seeds), "--out", str(out), "-M", m, "-N", n]
    return [*line, "--model", "openai/m", "--base-url", url, "--allow-weak-sandbox", *more]


def run(*args, **options):
    return subprocess.run(command(*args, **options), capture_output=True, text=True, timeout=100, check=False)


def ids(out):
    return [(pool.problem.id, *[one.id for one in (*pool.solutions, *pool.testings)]) for pool in load_pools(out)]


def test_a_killed_drawing_goes_on_pays_nothing_twice_and_shows_what_is_whole(seeds, tmp_path):
    answered = []

    def slowly(body, occurrence):
        answered.append(body["messages"][-1]["content"])
        time.sleep(0.02)
        return author(body, occurrence)

    with ScriptedServer(slowly) as server:
        out, calls = tmp_path / "pool", "--set=workbench.teacher.calls=2"
        killed = subprocess.Popen(command(seeds, out, server.base_url, calls), stderr=subprocess.PIPE)
        while not ((out / PART).is_file() and (out / PART).read_bytes().count(b"\n") >= 2):
            assert killed.poll() is None
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        whole = load_pools(out / PART)
        assert len(whole) >= 2 and all(pool.solutions and pool.testings for pool in whole)
        before = len(answered)
        ended = run(seeds, out, server.base_url, calls, "--json")
        report = json.loads(ended.stdout)
        assert report["calls"] >= 6 * 7 and len(answered) - before < report["calls"], "most were there already"
        assert len(answered) <= report["calls"] + 1 + 2, "the check, and the two calls under way at the kill"
        asked = len(answered)
        again = run(seeds, out, server.base_url, "--json")
        assert json.loads(again.stdout) == report and len(answered) == asked
    assert not (out / PART).exists() and len(load_pools(out)) == 6
    assert {one.problem.problem_id for one in whole} < {one.problem.problem_id for one in load_pools(out)}


def test_more_is_drawn_from_where_it_stands_and_in_another_way_into_another_directory(seeds, tmp_path):
    with ScriptedServer(author) as server:
        out, url = tmp_path / "pool", server.base_url
        assert run(seeds, out, url, "--limit", "2", n="2").returncode == 0
        small, before = ids(out), server.counts.requests
        assert run(seeds, out, url).returncode == 0
        assert server.counts.requests - before < 6 * 7
        assert len(ids(out)) == 6 and {*small[0]} <= {*ids(out)[0]}
        other = run(seeds, out, url, "--set", "sampling.testing.form=json")
        assert other.returncode == 2 and "sampling.testing" in other.stderr and "another --out" in other.stderr


def test_a_search_draws_what_a_pool_holds_and_takes_the_pool_without_a_call(seeds, tmp_path):
    sizes = ["-M", "4", "-N", "3", "--evaluations", "20", "--proposer", "genetic", "--quiet"]
    sets = [f"--set={one}" for one in ("scoring.draws=2", "pool.solutions=4", "pool.testings=3", "finalists=2")]

    def evolve(source, out, *more):
        line = [sys.executable, "-m", "evosyn", "evolve", str(source), "--out", str(out), *sizes, *sets]
        return subprocess.run([*line, *more], capture_output=True, text=True, timeout=100, check=False)

    with ScriptedServer(author) as server:
        url = server.base_url
        assert run(seeds, tmp_path / "pool", url).returncode == 0
        model = ["--model", "openai/m", "--base-url", url, "--allow-weak-sandbox"]
        own = evolve(seeds, tmp_path / "own", *model)
        assert own.returncode in (0, 1), own.stderr
        before = server.counts.requests
        for source in ("pool", f"pool/{POOLS}"):
            taken = evolve(tmp_path / source, tmp_path / f"of-{source.replace('/', '-')}", "--allow-weak-sandbox")
            assert taken.returncode in (0, 1), taken.stderr
        assert server.counts.requests == before
    own, drawn = ids(tmp_path / "own"), ids(tmp_path / "pool")
    assert [(one[0], len(one)) for one in own] == [(one[0], len(one)) for one in drawn]


def test_a_model_of_which_nothing_can_be_used_leaves_no_pool_and_says_why(seeds, tmp_path):
    with ScriptedServer(lambda _body, _times: "I cannot help.") as server:
        ended = run(seeds, tmp_path / "pool", server.base_url)
    assert ended.returncode == 4 and not (tmp_path / "pool" / POOLS).exists()
    assert re.search(r"nothing could be used.*no-", ended.stderr, re.DOTALL)
    assert (tmp_path / "pool" / "rejects.jsonl").read_text().count("\n") >= 6


@pytest.mark.parametrize(("source", "said"), [([], "SEEDS: name the problems"), (["none.jsonl"], "no such file")])
def test_what_cannot_be_asked_is_said_first(tmp_path, source, said):
    line = [
        sys.executable,
        "-m",
        "evosyn",
        "pool",
        "sample",
        *source,
        "--out",
        str(tmp_path / "x"),
        "--model",
        "openai/m",
    ]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2 and said in ended.stderr and not (tmp_path / "x").exists()
