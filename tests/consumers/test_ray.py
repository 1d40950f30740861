"""`--runner ray` on a cluster of three nodes: the same results as here, whoever dies, hangs or is slow meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import ray_nodes
from simulation import TEACHER

from evosyn.contracts import SandboxContract
from evosyn.dataset import iterate_dataset
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Status
from evosyn.matrices import load_matrices
from evosyn.pools import write_pools
from evosyn.ports import PluginConfig, Sandbox, SandboxTools
from evosyn.records import Pool, Problem, Solution, Testing
from evosyn.sandbox import open_sandbox
from evosyn.sandbox import ray as ray_sandbox

pytestmark = pytest.mark.consumers
COUNT = 90
WAITING = [
    CallsJob(f"import time\ndef f():\n    time.sleep(0.1)\n    return {n}", "f", (Call(),)) for n in range(COUNT)
]
COMPUTING = [
    CallsJob(f"def f():\n    for _ in range(2_000_000): pass\n    return {n}", "f", (Call(),)) for n in range(COUNT)
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_nodes.running(3) as made:
        yield made
        import ray

        ray.shutdown()  # this process may be a driver of it


@pytest.fixture
def sandbox(cluster: Any) -> Iterator[Sandbox]:
    with open_sandbox(f"ray:{cluster.address}", allow_weak=True, options={"hung_s": 3.0}) as opened:
        yield opened


def workers(cluster: Any) -> list[Any]:
    return sorted(cluster.worker_nodes, key=lambda node: str(node.node_id))


def complete(sandbox: Sandbox, meanwhile: Callable[[], None], jobs: Sequence[CallsJob] = WAITING) -> float:
    """Run jobs, with something that happens after the tenth; the seconds that it took."""
    told: list[int] = []

    def on_done(place: int, _: object) -> None:
        told.append(place)
        if len(told) == 10:
            meanwhile()

    began = time.monotonic()
    found = sandbox.run(jobs, on_done=on_done)
    assert sorted(told) == list(range(COUNT)), "each job is told once"
    assert [(one.status, one.value) for (one,) in found] == [(Status.OK, n) for n in range(COUNT)]
    return time.monotonic() - began


class TestRay(SandboxContract):
    @pytest.fixture(autouse=True)
    def _named(self, cluster: Any) -> None:
        def create(tools: SandboxTools, config: PluginConfig) -> Sandbox:  # noqa: ARG001
            return ray_sandbox.create(tools, ray_sandbox.RayConfig(address=cluster.address))

        self.create = create


# ------------------------------------------------------------------------------------------------------------- faults
def test_an_actor_is_killed_in_the_middle_of_a_batch(cluster: Any, sandbox: Sandbox) -> None:
    node = workers(cluster)[0]
    (pid,) = ray_nodes.actors(node)
    complete(sandbox, lambda: os.kill(pid, signal.SIGKILL))
    complete(sandbox, lambda: None)
    assert [one for one in ray_nodes.actors(node) if one != pid], "the node works again"


def test_an_actor_that_hangs_is_killed_by_a_deadline_and_its_batch_is_done_elsewhere(
    cluster: Any, sandbox: Sandbox
) -> None:
    (pid,) = ray_nodes.actors(workers(cluster)[0])
    complete(sandbox, lambda: os.kill(pid, signal.SIGSTOP))
    deadline = time.monotonic() + 60
    while pid in ray_nodes.actors(workers(cluster)[0]) and time.monotonic() < deadline:
        complete(sandbox, lambda: None)
    assert pid not in ray_nodes.actors(workers(cluster)[0])


def test_a_node_that_is_ten_times_slower_holds_the_end_back_by_little(cluster: Any, sandbox: Sandbox) -> None:
    (pid,) = ray_nodes.actors(workers(cluster)[0])
    usual = complete(sandbox, lambda: None, COMPUTING)
    with ray_nodes.slowed(pid, 10):
        slow = complete(sandbox, lambda: None, COMPUTING)
    # that it is one batch at most is counted in tests/sandbox/test_spread.py; here the nodes share their cores
    assert slow < 5 * usual, "with an equal share on that node it would be ten times as long"


def test_a_node_is_killed(cluster: Any, sandbox: Sandbox) -> None:
    node = workers(cluster)[0]
    complete(sandbox, lambda: ray_nodes.lose(node))
    cluster.remove_node(node)
    ray_nodes.add(cluster)
    deadline = time.monotonic() + 60
    while not ray_nodes.actors(workers(cluster)[-1]) and time.monotonic() < deadline:
        complete(sandbox, lambda: None)
    assert ray_nodes.actors(workers(cluster)[-1]), "a node that comes takes part"


def test_a_node_with_another_version_is_refused_by_name(
    cluster: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import evosyn

    other = tmp_path / "other"
    other.mkdir()
    package = Path(evosyn.__file__).parent
    subprocess.run(["cp", "-r", str(package), str(other / "evosyn")], check=True)
    init = other / "evosyn" / "__init__.py"
    init.write_text(init.read_text().replace(f'"{evosyn.__version__}"', '"0.0.1"'))
    node = ray_nodes.add(cluster, env_vars={"PYTHONPATH": str(other)})
    try:
        with open_sandbox(f"ray:{cluster.address}", allow_weak=True) as opened:
            complete(opened, lambda: None)
        said = [record.getMessage() for record in caplog.records if "has evosyn 0.0.1" in record.getMessage()]
        assert said
        assert node.node_id[:8] in said[0]
    finally:
        cluster.remove_node(node)


def test_a_cluster_without_a_usable_node_says_why(cluster: Any) -> None:
    with pytest.raises(SandboxUnavailable, match=r"(?si)no node of the Ray cluster can be used: .*docker"):
        open_sandbox(f"ray:{cluster.address}", options={"backend": "docker"})


# ----------------------------------------------------------------------------------------------------------- commands
def line(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "evosyn", *arguments]


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**ray_nodes.environment(), **environment}
    return subprocess.run(line(*arguments), capture_output=True, text=True, env=env, timeout=600)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some seconds of work: solutions that wait, some of them wrong, raising or endless."""
    bodies = ("return x * 2", "return x + 1", "return 1 // 0", "while True: pass", "return x + x")
    problems = []
    for number in range(6):
        problem = Problem(
            f"p{number}", "python-function", "Double it.", {"entry_point": "f"},
            Testing("cases", {"cases": [{"input": [3], "output": 6}, {"input": [number], "output": 2 * number}]}),
        )  # fmt: skip
        solutions = tuple(
            Solution(f"import time\ndef f(x):\n    time.sleep(0.05)\n    # {number}.{at}\n    {body}")
            for at, body in enumerate(bodies)
        )
        testings = (
            Testing("cases", {"cases": [{"input": [2], "output": 4}, {"input": [5], "output": 10}]}),
            Testing("asserts", {"asserts": ["assert f(1) == 2", "assert f(0) == 0"]}),
            Testing(
                "program",
                {"code": "def check(candidate):\n    for n in range(4):\n        assert candidate(n) == 2 * n"},
            ),
        )
        problems.append(Pool(problem, solutions, testings))
    path = tmp_path_factory.mktemp("pool") / "pool.jsonl"
    write_pools(path, problems)
    return path


def crossexec(pool: Path, out: Path, *more: str) -> list[str]:
    return [
        "crossexec",
        str(pool),
        "--out",
        str(out),
        "--timeout",
        "0.5",
        "--budget",
        "60",
        "--allow-weak-sandbox",
        "--json",
        *more,
    ]


def begun(out: Path) -> None:
    """Wait until a command works on the first rows."""
    deadline = time.monotonic() + 240
    while not (out / "verdicts.sqlite").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)


def cells(out: Path) -> dict[str, Any]:
    return {
        one.problem_id: (one.verdicts_MN.tolist(), None if one.human_M is None else one.human_M.tolist())
        for one in load_matrices(out / "matrices.jsonl")
    }


@pytest.fixture(scope="module")
def wanted(pool: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("local")
    done = command(*crossexec(pool, out))
    assert done.returncode == 0, done.stderr
    return cells(out)


def test_crossexec_gives_the_same_cells_and_clean_json_while_an_actor_dies(
    cluster: Any, pool: Path, wanted: dict[str, Any], tmp_path: Path
) -> None:
    stop = threading.Event()

    def kill_one() -> None:
        while not stop.wait(0.5):
            if found := ray_nodes.actors(workers(cluster)[0]):
                time.sleep(1.0)
                os.kill(found[0], signal.SIGKILL)
                return

    thread = threading.Thread(target=kill_one)
    thread.start()
    done = command(*crossexec(pool, tmp_path, "--runner", f"ray:{cluster.address}"))
    stop.set()
    thread.join()
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["unknown"] == 0
    assert cells(tmp_path) == wanted


def test_a_driver_that_is_killed_goes_on_where_it_stopped(
    cluster: Any, pool: Path, wanted: dict[str, Any], tmp_path: Path
) -> None:
    asked = line(*crossexec(pool, tmp_path, "--runner", f"ray:{cluster.address}"))
    first = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ray_nodes.environment())
    begun(tmp_path)
    first.kill()
    first.wait()
    done = command(*crossexec(pool, tmp_path, "--runner", f"ray:{cluster.address}"))
    assert done.returncode == 0, done.stderr
    assert cells(tmp_path) == wanted


def test_a_synthesis_and_environments_are_the_same_as_on_this_machine(cluster: Any, tmp_path: Path) -> None:
    there, strategy = ["--runner", f"ray:{cluster.address}"], tmp_path / "gap.py"
    from evosyn.strategies import load_strategy

    strategy.write_text(load_strategy("gap"))
    made = {}
    for name, more in (("here", []), ("there", there)):
        data, folder = tmp_path / f"data-{name}", tmp_path / f"env-{name}"
        asked = [
            "synthesize",
            str(strategy),
            "--seeds",
            "builtin:python-seeds",
            "--problems",
            "4",
            "-M",
            "4",
            "-N",
            "4",
        ]
        done = command(*asked, "--teacher", TEACHER, "--allow-weak-sandbox", "--json", "--out", str(data), *more)
        assert done.returncode in (0, 1), done.stderr
        json.loads(done.stdout)
        asked = ["env", "make", "--limit", "2", "--teacher", TEACHER, "--allow-weak-sandbox", "--json"]
        ended = command(*asked, "--out", str(folder), *more)
        assert ended.returncode in (0, 1), ended.stderr
        json.loads(ended.stdout)
        rows = [list(iterate_dataset(data, setting)) for setting in ("evosyn", "relaxed", "random")]
        kept = (folder / "environments.jsonl").read_text() if (folder / "environments.jsonl").exists() else ""
        made[name] = ([[row.problem for row in some] for some in rows], kept)
    assert made["here"] == made["there"]


def test_a_search_is_the_same_as_on_this_machine(cluster: Any, tmp_path: Path) -> None:
    asked = ["evolve", "builtin:python-seeds", "--evaluations", "40", "--allow-weak-sandbox", "--json", "--quiet"]
    best = []
    for name, more in (("here", []), ("there", ["--runner", f"ray:{cluster.address}"])):
        done = command(*asked, "--set", "scoring.draws=2", "--out", str(tmp_path / name), *more)
        assert done.returncode in (0, 1), done.stderr
        best.append(json.loads(done.stdout)["best"])
    assert best[0] == best[1]


def test_a_driver_with_another_token_is_refused_and_the_token_is_nowhere_shown(
    cluster: Any, pool: Path, tmp_path: Path
) -> None:
    done = command(*crossexec(pool, tmp_path, "--runner", f"ray:{cluster.address}"), RAY_AUTH_TOKEN="f" * 64)
    assert done.returncode == 4, done.stderr
    assert "f" * 64 not in done.stdout + done.stderr


def test_processes_of_a_cluster_that_we_start_have_no_key_of_ours(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "from evosyn.running.cluster import join\n"
        "ray = join()\n"
        "from ray._common.usage.usage_lib import usage_stats_enabled\n"
        "seen = ray.get(ray.remote(lambda: dict(os.environ)).remote())\n"
        "print('OPENAI_API_KEY' in seen, 'OPENAI_API_KEY' in os.environ, usage_stats_enabled())\n"
    )
    env = {name: value for name, value in ray_nodes.environment().items() if not name.startswith("RAY_")}
    env["OPENAI_API_KEY"] = "secret"
    done = subprocess.run([sys.executable, "-P", str(script)], capture_output=True, text=True, env=env, timeout=300)
    assert done.stdout.split() == ["False", "True", "False"], done.stderr


def test_a_head_that_is_killed_with_its_cluster_goes_on_on_another(
    pool: Path, wanted: dict[str, Any], tmp_path: Path
) -> None:
    with ray_nodes.running(1) as doomed:
        asked = line(*crossexec(pool, tmp_path, "--runner", f"ray:{doomed.address}"))
        first = subprocess.Popen(
            asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ray_nodes.environment()
        )
        begun(tmp_path)
        for pid in (first.pid, ray_nodes.gcs(doomed), *map(ray_nodes.raylet, doomed.list_all_nodes())):
            os.kill(pid, signal.SIGKILL)
        first.wait()
    with ray_nodes.running(1) as other:
        done = command(*crossexec(pool, tmp_path, "--runner", f"ray:{other.address}"))
    assert done.returncode == 0, done.stderr
    assert cells(tmp_path) == wanted
