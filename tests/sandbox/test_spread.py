"""Spreading jobs over nodes: whatever becomes of nodes, each job is answered once, and nothing of a testing that we
compare ourselves travels."""

import pickle
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import Domains
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, ChecksJob, HarnessJob, ItemOutcome, Job, Limits, Protection, Status
from evosyn.ports import SandboxTools
from evosyn.records import Problem, Solution, Testing
from evosyn.sandbox import open_sandbox
from evosyn.sandbox._ray_node import Hello
from evosyn.sandbox._spread import ATTEMPTS, Answered, NodeFailed, Pulse, Spreader, longest_s
from evosyn.sandbox.ray import RayConfig, RayNodes
from evosyn.sources import code_version

POISON = 13
Work = Callable[[Sequence[Job]], Sequence[tuple[ItemOutcome, ...]]]


@dataclass
class Member:
    """A node, which is a thread of this process; `work` runs a batch there. It hangs where that raises `Hangs`."""

    work: Work
    workers: int = 1
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    hanging: float | None = None
    renewed: int = 0


class Hangs(Exception):
    """The node does not answer any more until it is renewed."""


class ThreadNodes:
    """Implements `_spread.Carrier`; keeps what was sent, as the bytes that would travel."""

    def __init__(self, **works: Work | Member) -> None:
        self.threads = {name: work if isinstance(work, Member) else Member(work) for name, work in works.items()}
        self.sent: list[tuple[str, bytes]] = []
        self._lock = threading.Lock()
        self._where: dict[Future[Answered], tuple[Member, ThreadPoolExecutor]] = {}

    def nodes(self) -> dict[str, int]:
        return {name: node.workers for name, node in self.threads.items()}

    def send(self, node: str, jobs: Sequence[Job]) -> Future[Answered]:
        if node not in self.threads:
            raise NodeFailed("is gone", gone=True)
        data = pickle.dumps(list(jobs), 5)
        self.sent.append((node, data))
        future: Future[Answered] = Future()
        member = self.threads[node]
        self._where[future] = (member, member.pool)
        member.pool.submit(self._run, member, data, future)
        return future

    def wait(self, tickets: Sequence[Future[Answered]], seconds: float) -> list[Future[Answered]]:
        return list(wait(tickets, min(seconds, 0.05), FIRST_COMPLETED).done)

    def answer(self, ticket: Future[Answered]) -> Answered:
        return ticket.result()

    def pulse(self, node: str) -> Pulse:
        since = self.threads[node].hanging
        return Pulse() if since is None else Pulse(time.monotonic() - since)

    def renew(self, ticket: Future[Answered]) -> None:
        found, pool = self._where[ticket]
        if found.pool is pool:
            found.hanging, found.pool, found.renewed = None, ThreadPoolExecutor(1), found.renewed + 1

    def sizes(self, node: str) -> list[int]:
        """Jobs in each batch that this node was sent."""
        return [len(pickle.loads(data)) for name, data in self.sent if name == node]

    def _run(self, node: Member, data: bytes, future: Future[Answered]) -> None:
        if node.hanging is not None:
            return
        try:
            outcomes = node.work(pickle.loads(data))
        except Hangs:
            node.hanging = time.monotonic()
        except NodeFailed as failure:
            if failure.gone:
                self.threads = {name: one for name, one in self.threads.items() if one is not node}
            future.set_exception(failure)
        except Exception as error:  # noqa: BLE001  as the sandbox of a node
            future.set_exception(error)
        else:
            future.set_result(Answered(outcomes, len(pickle.dumps(outcomes))))


def jobs(count):
    return [CallsJob("", "f", (Call((number,)), Call((number,)))) for number in range(count)]


def numbers(some):
    return [job.calls[0].args[0] for job in some]


def answer(some):
    return [(ItemOutcome(Status.OK, number), ItemOutcome(Status.OK, -number)) for number in numbers(some)]


def takes(seconds):
    """Works at this speed."""

    def work(some):
        time.sleep(seconds * len(some))
        return answer(some)

    return work


def dies(times):
    """Is lost under the first so many batches."""
    left = list(range(times))

    def work(some):
        if left:
            left.pop()
            raise NodeFailed("lost")
        return answer(some)

    return work


def poisoned(some):
    if POISON in numbers(some):
        raise NodeFailed("killed")
    return answer(some)


def spread(nodes, count, *, target_s=0.02, **more):
    told = []
    spreader = Spreader(nodes, target_s=target_s, **more)
    found = spreader.run(jobs(count), lambda place, outcomes: told.append((place, outcomes)))
    assert sorted(place for place, _ in told) == list(range(count)), "each job is told once"
    assert dict(told) == dict(enumerate(found))
    return found


@pytest.fixture(autouse=True)
def _short_rests(monkeypatch):
    monkeypatch.setattr("evosyn.sandbox._spread.LONGEST_PAUSE_S", 0.05)


@given(st.integers(0, 40), st.integers(0, 2), st.integers(0, 2))
@settings(max_examples=15, deadline=None)
def test_every_job_is_answered_once_and_in_order_whichever_nodes_are_lost(count, first, second):
    found = spread(ThreadNodes(a=dies(first), b=dies(min(second, ATTEMPTS - 1 - first))), count)
    assert found == answer(jobs(count))


def test_a_node_that_goes_for_good_leaves_its_work_to_the_others():
    def gone(_):
        raise NodeFailed("is gone", gone=True)

    nodes = ThreadNodes(a=gone, b=takes(0.001))
    assert spread(nodes, 30) == answer(jobs(30))
    assert len(nodes.sizes("a")) <= 2, "it was asked no more"


def test_a_job_under_which_nodes_die_is_infrastructure_and_its_neighbours_are_not():
    found = spread(ThreadNodes(a=poisoned, b=poisoned), 40)
    assert [one.status for one in found[POISON]] == [Status.INFRASTRUCTURE] * 2
    assert [one for place, one in enumerate(found) if place != POISON] == [
        one for place, one in enumerate(answer(jobs(40))) if place != POISON
    ]


def test_a_node_that_hangs_is_killed_and_its_batch_is_done_elsewhere():
    def hangs(some):
        if not nodes.threads["a"].renewed:
            raise Hangs
        return answer(some)

    nodes = ThreadNodes(a=hangs, b=takes(0.04))
    assert spread(nodes, 20, hung_s=0.2) == answer(jobs(20))
    assert nodes.threads["a"].renewed


def test_a_node_that_answers_and_ends_no_job_is_killed_once_no_job_may_take_that_long():
    limits, renewed = Limits(0.01, 0.01, 0.01), threading.Event()
    some = [CallsJob("", "f", (Call((number,)), Call((number,))), limits) for number in range(20)]

    def sits(some):
        renewed.wait()
        return answer(some)

    class Sitting(ThreadNodes):
        def pulse(self, _node):
            return Pulse() if renewed.is_set() else Pulse(0.0, time.monotonic() - since)

        def renew(self, ticket):
            super().renew(ticket)
            renewed.set()

    nodes, since = Sitting(a=sits), time.monotonic()
    assert Spreader(nodes, target_s=0.02, hung_s=0.2).run(some) == answer(some)
    assert time.monotonic() - since > 0.2 + longest_s(some)


def test_a_slow_node_holds_the_end_back_by_one_of_its_batches_at_most():
    target, fast, slow, count = 0.1, 0.004, 0.04, 200
    nodes = ThreadNodes(a=takes(fast), b=takes(slow))
    spread(nodes, count, target_s=target)
    assert max(nodes.sizes("b")) <= 2 * target / slow < max(nodes.sizes("a"))
    assert sum(nodes.sizes("b")) < count / 3


def test_batches_grow_to_the_seconds_that_are_wanted_and_are_small_at_the_end():
    nodes = ThreadNodes(a=takes(0.005), b=takes(0.005))
    spread(nodes, 600, target_s=0.25)
    for name in ("a", "b"):
        sizes = nodes.sizes(name)
        assert sizes[0] == 1
        assert 5 <= max(sizes) <= 100
    assert max(len(pickle.loads(data)) for _, data in nodes.sent[-3:]) <= 2
    assert len(nodes.sent) < 120


def test_large_answers_make_small_batches():
    def large(some):
        return [(ItemOutcome(Status.OK, b"x" * (1 << 18)), ItemOutcome(Status.OK)) for _ in some]

    nodes = ThreadNodes(a=large)
    Spreader(nodes, target_s=60.0).run(jobs(130))
    assert max(nodes.sizes("a")) <= 64


def test_a_node_on_which_nothing_works_is_given_up_without_blaming_a_job():
    def full(_):
        raise NodeFailed("OSError: no space left on device", by_itself=True)

    assert spread(ThreadNodes(a=full, b=takes(0.001)), 30) == answer(jobs(30))
    with pytest.raises(SandboxUnavailable, match="start nodes, then repeat the command"):
        Spreader(ThreadNodes(a=full), patience_s=0.1).run(jobs(3))


def test_what_a_sandbox_raises_for_the_sake_of_a_job_is_raised():
    def refuses(_):
        raise ValueError("an argument is not plain data")

    with pytest.raises(ValueError, match="not plain data"):
        spread(ThreadNodes(a=refuses), 3)


def test_several_threads_share_the_nodes():
    spreader = Spreader(ThreadNodes(a=takes(0.0005), b=dies(2)), target_s=0.01)
    found = {}
    threads = [
        threading.Thread(target=lambda at=at: found.update({at: spreader.run(jobs(at))})) for at in range(20, 24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {at: answer(jobs(at)) for at in range(20, 24)}


# ------------------------------------------------------------------------------------------------ actors of a cluster
class Lost(Exception):
    """Of a cluster that is stood in for: an actor died."""


@dataclass(eq=False)
class Remote:
    """An actor of it, or a method of one: what is asked of it is answered once somebody wants to know."""

    held: object
    method: str = ""
    dead: list[bool] = field(default_factory=list)

    def __getattr__(self, method):
        return Remote(self.held, method, self.dead)

    def options(self, **_):
        return self

    def remote(self, *given):
        return Promise(self, given)


@dataclass(eq=False)
class Promise:
    of: Remote
    given: tuple[object, ...]


class OneNode:
    """What `RayNodes` asks of the module `ray`, of a cluster of one node in this process."""

    exceptions = SimpleNamespace(RayError=Lost, ActorDiedError=Lost)

    def __init__(self, monkeypatch):
        self.actors: list[Remote] = []
        self.alive = True
        strategy = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda *_, **__: None)
        for name in ("ray", "ray.util", "ray.util.scheduling_strategies"):
            monkeypatch.setitem(sys.modules, name, strategy)

    def nodes(self):
        return [{"NodeID": "node", "Alive": self.alive, "NodeManagerAddress": "here", "Resources": {"CPU": 1}}]

    def remote(self, **_):
        return lambda _: SimpleNamespace(remote=self._begin)

    def wait(self, promises, *, num_returns=1, timeout=None, fetch_local=True):  # noqa: ARG002
        return promises[:num_returns], promises[num_returns:]

    def put(self, kept):
        return Promise(Remote(kept), ())

    def get(self, promise):
        if promise.of.dead:
            raise Lost("the actor died")
        return getattr(promise.of.held, promise.of.method)(*promise.given)

    def kill(self, actor, *, no_restart):  # noqa: ARG002
        actor.dead.append(True)

    def _begin(self, *_):
        self.actors.append(Remote(Answering()))
        return self.actors[-1]


class Answering:
    """What an actor holds."""

    def hello(self):
        return Hello(code_version(), Protection("local", "strong", "1"), 1, "", "process")

    def run(self, sent, _contexts):
        return pickle.dumps(("done", answer(pickle.loads(sent))))

    def pulse(self):
        return 0.0


@pytest.fixture
def cluster(monkeypatch):
    return OneNode(monkeypatch)


def test_an_actor_that_dies_with_two_batches_is_begun_anew_and_its_node_is_kept(cluster):
    nodes = RayNodes(cluster, RayConfig(), SandboxTools())
    died = []

    def wait_and_kill(tickets, seconds):
        if len(tickets) > 1 and not died:
            died.append(cluster.kill(cluster.actors[0], no_restart=True))
        return RayNodes.wait(nodes, tickets, seconds)

    nodes.wait = wait_and_kill
    assert Spreader(nodes, patience_s=0.5).run(jobs(30)) == answer(jobs(30))
    assert died
    assert len(cluster.actors) == 2


def test_a_node_whose_programs_see_other_packages_is_refused_by_name(cluster, caplog):
    shown = iter(("numpy 1", "numpy 2"))

    def begin(*_):
        held, name = Answering(), next(shown)
        protection = Protection("local", "strong", "1", packages=(name,), programs=name)
        held.hello = lambda: Hello(code_version(), protection, 1, "", "process")
        return cluster.actors.append(Remote(held)) or cluster.actors[-1]

    nodes, cluster._begin = [{**cluster.nodes()[0], "NodeID": name, "NodeManagerAddress": name} for name in "ab"], begin
    cluster.nodes = lambda: nodes
    assert len(RayNodes(cluster, RayConfig(), SandboxTools()).nodes()) == 1
    assert "numpy 1" in caplog.text and "numpy 2" in caplog.text


def test_a_cluster_holds_what_is_shared_for_as_long_as_its_key_is_held(cluster):
    nodes, sent = RayNodes(cluster, RayConfig(), SandboxTools()), []
    (node,) = nodes.nodes()
    cluster.actors[0].held.run = lambda jobs, contexts: sent.append((jobs, contexts))
    job, copy = HarnessJob("", "", nodes.share({"a": 1})), str(nodes.share({"b": 1}))
    cluster.get(nodes.send(node, [job]).answer)
    ((pickled, ((key, reference),)),) = sent
    assert pickle.loads(reference.of.held) == {"a": 1}
    assert type(pickle.loads(pickled)[0].context) is str and key == job.context
    with pytest.raises(KeyError, match="held no more"):
        nodes.send(node, [replace(job, context=copy)])
    assert nodes.nodes() == {"here/node": 1}


@pytest.mark.parametrize("late", ["answer", "renew"])
def test_what_is_heard_late_of_a_dead_actor_leaves_the_one_in_its_place_alone(cluster, late):
    nodes = RayNodes(cluster, RayConfig(), SandboxTools())
    first, second = nodes.send("here/node", jobs(1)), nodes.send("here/node", jobs(2))
    cluster.kill(cluster.actors[0], no_restart=True)
    with pytest.raises(NodeFailed) as lost:
        nodes.answer(first)
    assert not lost.value.gone
    nodes.nodes()
    if late == "renew":
        nodes.renew(second)
    else:
        with pytest.raises(NodeFailed) as lost:
            nodes.answer(second)
        assert not lost.value.gone
    assert nodes.answer(nodes.send("here/node", jobs(3))).outcomes == answer(jobs(3))
    assert len(cluster.actors) == 2


def test_between_two_actors_a_node_is_not_gone_and_a_dead_node_is(cluster):
    nodes = RayNodes(cluster, RayConfig(), SandboxTools())
    sent, other = nodes.send("here/node", jobs(1)), nodes.send("here/node", jobs(1))
    nodes.renew(sent)
    with pytest.raises(NodeFailed) as none:
        nodes.send("here/node", jobs(1))
    assert not none.value.gone
    cluster.alive = False
    with pytest.raises(NodeFailed) as lost:
        nodes.answer(other)
    assert lost.value.gone


# ------------------------------------------------------------------------------------------ what leaves our process
SECRETS = ("human expects", "case expects", "reference text", "statement text", "meta text", "key of an endpoint")


class Spreading:
    """A sandbox over nodes each of which is this machine's own."""

    def __init__(self, behind, nodes):
        self.protection, self.share, self._spreader = behind.protection, behind.share, Spreader(nodes)

    def run(self, jobs, *, on_done=None):
        return self._spreader.run(jobs, on_done)


def test_what_we_compare_ourselves_is_never_sent_and_testing_code_only_where_it_runs(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key of an endpoint")
    human = Testing("cases", {"cases": [{"input": [1], "output": "human expects"}]})
    problem = Problem(
        "p", "python-function", "statement text", {"entry_point": "f"}, human, "reference text", {"m": "meta text"}
    )
    solutions = [Solution(f"def f(x):\n    return 'case' + ' expects' * {number}") for number in (1, 2)]
    testings = [
        Testing("cases", {"cases": [{"input": [2], "output": "case expects"}]}),
        Testing("asserts", {"asserts": ["assert f(3) == 'case ' + 'expects', 'asserts text'"]}),
        Testing(
            "program",
            {"code": "def check(candidate):\n    for n in range(3):\n        assert candidate(n), 'program text'"},
        ),
    ]
    with open_sandbox(workers=1, allow_weak=True) as local:
        nodes = ThreadNodes(a=Member(local.run), b=Member(local.run))
        spread_judge = Judge(Spreading(local, nodes), Domains())
        (found,) = CrossExecutor(spread_judge).matrices([(problem, solutions, testings)])
        (wanted,) = CrossExecutor(Judge(local, Domains())).matrices([(problem, solutions, testings)])
    assert found.verdicts_MN.tolist() == wanted.verdicts_MN.tolist() == [["P", "P", "P"], ["F", "F", "P"]]
    assert found.human_M.tolist() == ["F", "F"]
    blob = b"".join(data for _, data in nodes.sent)
    assert b"return 'case'" in blob
    assert not [secret for secret in SECRETS if secret.encode() in blob]
    every = [job for _, data in nodes.sent for job in pickle.loads(data)]
    taken = [job for job in every if b"s text" in pickle.dumps(job) or b"m text" in pickle.dumps(job)]
    assert len({job.program for job in taken}) == 3, "testing code travels with each solution, and with the canary"
    assert all(isinstance(job, ChecksJob) for job in taken), "and as checks only"
