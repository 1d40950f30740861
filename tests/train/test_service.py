"""The reward service over real HTTP, its client, and the functions for other trainers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from evosyn.dataset import read_dataset
from evosyn.errors import UnavailableError, UsageError
from evosyn.jobs import Limits
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.tasks import Task
from evosyn.train._http import HttpAnswer, HttpServer
from evosyn.train.client import RewardClient
from evosyn.train.data import tasks_of
from evosyn.train.scoring import Scorer, domains_of, reward_judge
from evosyn.train.service import RewardService, ServiceLimits

RIGHT = "```python\ndef total(xs):\n    return sum(xs)\n```"
WRONG = "```python\ndef total(xs):\n    return 0\n```"
TASK = {
    "domain": "python-function",
    "entry_point": "total",
    "testing": {"kind": "cases", "cases": [{"input": [[1, 2]], "output": 3}, {"input": [[]], "output": 0}]},
}


@pytest.fixture
def tasks(small_data: Path) -> dict[str, Task]:
    return tasks_of(read_dataset(small_data))


def serving(service: RewardService) -> Iterator[RewardService]:
    thread = threading.Thread(target=service.serve, daemon=True)
    thread.start()
    yield service
    service.close()
    thread.join(timeout=5)


@pytest.fixture
def service(sandbox: Sandbox, tasks: dict[str, Task]) -> Iterator[RewardService]:
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks.values()), Limits(wall_s=1.0)))
    yield from serving(RewardService(scorer, tasks, port=0, limits=ServiceLimits(body_mb=0.1, items=3)))


@pytest.fixture
def guarded(sandbox: Sandbox, tasks: dict[str, Task]) -> Iterator[RewardService]:
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks.values()), Limits(wall_s=1.0)))
    yield from serving(RewardService(scorer, tasks, port=0, token="s3cret"))


def url_of(service: RewardService) -> str:
    return f"http://127.0.0.1:{service.port}"


def row_of(tasks: dict[str, Task], name: str) -> str:
    return next(row for row, task in tasks.items() if task.problem.problem_id == name)


def post(service: RewardService, body: bytes, **headers: str) -> tuple[int, Json]:
    headers = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(url_of(service) + "/score", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_rows_are_scored_by_id_and_by_their_own_testing(service: RewardService, tasks: dict[str, Task]) -> None:
    client = RewardClient(url_of(service))
    items = [{"id": row_of(tasks, "total"), "completion": RIGHT}, {"task": TASK, "completion": WRONG}]
    right, wrong = client.score(items)
    assert right == {"reward": 1.0, "share": 1.0, "verdict": "P", "parsed": True, "cut": False, "detail": ""}
    assert (wrong["reward"], wrong["share"]) == (0.0, 0.5)


def test_health_says_what_is_served(service: RewardService, tasks: dict[str, Task]) -> None:
    health = RewardClient(url_of(service)).health()
    assert (health["status"], health["tasks"]) == ("ok", len(tasks))


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"3", b"null", b'{"items": 3}', b'{"items": {}}', b"[" * 100_000, b'{"item": []}',
             b'{"items": [' + b"9" * 5000 + b"]}", b"\xff{}"],
)  # fmt: skip
def test_a_body_that_cannot_be_read_is_refused_as_a_whole(service: RewardService, body: bytes) -> None:
    status, answer = post(service, body)
    assert status == 400
    assert answer["error"].startswith(("the body must be JSON", "items: must be a list"))


def test_more_items_than_the_service_takes_are_refused_and_its_client_sends_fewer(service: RewardService) -> None:
    items = [{"task": TASK, "completion": text} for text in (RIGHT, WRONG, "prose", RIGHT + "\n", WRONG + "\n")]
    status, answer = post(service, json.dumps({"items": items}).encode())
    assert (status, answer["error"]) == (413, "items: at most 3 in one request, these are 5")
    assert [one["reward"] for one in RewardClient(url_of(service)).score(items)] == [1.0, 0.0, 0.0, 1.0, 0.0]


BAD_ITEMS = {
    "": (3, "must be an object with a completion"),
    ".completion": ({"id": "nope", "completion": 3}, "must be a text, not int"),
    ".id": ({"id": "nope", "completion": "x"}, "no row 'nope'"),
    " neither": ({"completion": "x"}, "needs the id of a row (a text) or a task"),
    ".reason": ({"task": TASK, "completion": "x", "reason": "think"}, "Fields: id, task, completion, reasoning"),
    " both": ({"id": "a", "task": TASK, "completion": "x"}, "an id or a task, not both"),
    " number": ({"id": 7, "completion": "x"}, "needs the id of a row"),
    ".task": ({"task": [], "completion": ""}, "must be an object, not list"),
    ".task none": ({"task": None, "completion": ""}, "must be an object, not null"),
    ".task.testing missing": ({"task": {}, "completion": ""}, "testing: is missing"),
    ".task.testing": ({"task": {**TASK, "testing": "{"}, "completion": ""}, "is a text that is not JSON"),
    ".task.testing.cases": ({"task": {**TASK, "testing": {"kind": "cases", "cases": 3}}, "completion": ""}, "list"),
    ".task.entry_point": ({"task": {**TASK, "entry_point": [1]}, "completion": ""}, "must be a text, not list"),
    ".task.entry_point missing": ({"task": {**TASK, "entry_point": None}, "completion": ""}, "Add 'entry_point'"),
    ".task.starter_code": ({"task": {**TASK, "starter_code": 5}, "completion": ""}, "must be a text, not int"),
    ".task.statement": ({"task": {**TASK, "statement": {}}, "completion": ""}, "must be a text, not dict"),
    ".task.meta": ({"task": {**TASK, "meta": []}, "completion": ""}, "must be an object, not list"),
    ".task.domain": ({"task": {**TASK, "domain": "python-funktion"}, "completion": ""}, "Did you mean"),
    ".task.domain type": ({"task": {**TASK, "domain": 1}, "completion": ""}, "must be a text, not int"),
    ".task.entrypoint": ({"task": {**TASK, "entrypoint": "f"}, "completion": ""}, "Did you mean 'entry_point'?"),
    " unserved": ({"task": {**TASK, "domain": "os:getcwd"}, "completion": ""}, "the domain 'os:getcwd' is not served"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ITEMS)
def test_a_bad_item_is_answered_by_itself_and_the_others_are_scored(service: RewardService, name: str) -> None:
    bad, reason = BAD_ITEMS[name]
    items = [{"task": TASK, "completion": RIGHT}, bad, {"task": TASK, "completion": WRONG}]
    status, answer = post(service, json.dumps({"items": items}).encode())
    right, refused, wrong = answer["scores"]
    assert (status, right["reward"], wrong["reward"]) == (200, 1.0, 0.0)
    assert (refused["reward"], refused["verdict"], refused["parsed"]) == (None, "U", False)
    where = name.partition(" ")[0]
    assert refused["error"].startswith(f"items[1]{where}") or name == " unserved"
    assert reason in refused["error"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("id", "domain", "problem_id", "statement", "entry_point", "starter_code", "meta", "testing")
ODD_TASK = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=3).map(lambda odd: {**TASK, **odd})
ODD_ITEM = JSON | st.fixed_dictionaries({"completion": JSON | st.just(RIGHT), "task": JSON | ODD_TASK})


@pytest.mark.slow
@hypothesis.settings(max_examples=60, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(odd=ODD_ITEM)
def test_no_item_whatever_it_is_costs_another_its_score(service: RewardService, odd: Json) -> None:
    items = [{"task": TASK, "completion": RIGHT}, odd]
    status, answer = post(service, json.dumps({"items": items}).encode())
    assert (status, len(answer["scores"]), answer["scores"][0]["reward"]) == (200, 2, 1.0)
    assert ("error" in answer["scores"][1]) == (answer["scores"][1]["reward"] is None)


@pytest.mark.parametrize("depth", range(600, 1000, 7))
def test_an_item_nested_however_deeply_costs_another_nothing(service: RewardService, depth: int) -> None:
    deep = {**TASK, "testing": {"kind": "cases", "cases": [{"input": [1], "output": "DEEP"}]}}
    items = json.dumps([{"task": TASK, "completion": RIGHT}, {"task": deep, "completion": RIGHT}])
    answer = service.score(b'{"items": ' + items.replace('"DEEP"', "[" * depth + "]" * depth).encode() + b"}")
    assert answer.status == 400 or (answer.status == 200 and answer.value["scores"][0]["reward"] == 1.0)


def test_a_body_beyond_the_limit_is_refused_unread(service: RewardService) -> None:
    status, answer = post(service, b" " * 200_000)
    assert (status, "MB" in answer["error"]) == (413, True)


def test_without_the_token_nothing_is_scored(guarded: RewardService, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"items": [{"task": TASK, "completion": RIGHT}]}).encode()
    assert post(guarded, body)[0] == 401
    assert post(guarded, body, Authorization="Bearer wrong")[0] == 401
    monkeypatch.setenv("REWARD_TOKEN", "s3cret")
    assert RewardClient(url_of(guarded), token_env="REWARD_TOKEN").score([{"task": TASK, "completion": RIGHT}])
    with pytest.raises(UsageError, match="NO_SUCH"):
        RewardClient(url_of(guarded), token_env="NO_SUCH")


def test_an_address_others_can_reach_needs_a_token(sandbox: Sandbox, tasks: dict[str, Task]) -> None:
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks.values()), Limits()))
    with pytest.raises(UsageError, match="token"):
        RewardService(scorer, tasks, host="0.0.0.0", port=0)


def test_a_full_service_says_when_to_come_back(sandbox: Sandbox, tasks: dict[str, Task]) -> None:
    scorer = Scorer(reward_judge(sandbox, domains_of(tasks.values()), Limits(wall_s=2.0)))
    service = RewardService(scorer, tasks, port=0, limits=ServiceLimits(batches=1, waiting=0))
    loop = "```python\ndef total(xs):\n    while True: pass\n```"
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(post(service, json.dumps({"items": [{"task": TASK, "completion": loop}]}).encode())[0])

    for _ in serving(service):
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(statuses) == {200, 503}


def test_a_client_gives_up_with_the_reason() -> None:
    client = RewardClient("http://127.0.0.1:9", patience_s=0.3)
    with pytest.raises(UnavailableError, match="no answer"):
        client.health()


def test_a_client_of_several_services_spreads_the_load_and_survives_the_loss_of_one(
    sandbox: Sandbox, tasks: dict[str, Task]
) -> None:
    scorers = [Scorer(reward_judge(sandbox, domains_of(tasks.values()), Limits(wall_s=1.0))) for _ in range(3)]
    services = [RewardService(scorer, tasks, port=0) for scorer in scorers]
    threads = [threading.Thread(target=service.serve, daemon=True) for service in services]
    for thread in threads:
        thread.start()
    client = RewardClient(",".join(map(url_of, services)), patience_s=20)
    items = [{"task": TASK, "completion": f"{text}\n{n}"} for n in range(12) for text in (RIGHT, WRONG)]
    wanted = [1.0, 0.0] * 12
    assert [one["reward"] for one in client.score(items)] == wanted
    assert all(scorer.judge.executed + scorer.judge.cached for scorer in scorers), "each was asked"
    services[0].close()
    threads[0].join(timeout=5)
    assert [one["reward"] for one in client.score(items)] == wanted
    gone = RewardClient("http://127.0.0.1:9, http://127.0.0.1:10", patience_s=0.3)
    with pytest.raises(UnavailableError, match="no answer"):
        gone.score(items)
    for service in services[1:]:
        service.close()


@contextmanager
def losing(after_s: float) -> Iterator[str]:
    """The address of a service that takes every request and is gone so many seconds later, without an answer."""

    def lose(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(after_s or None)
            with suppress(OSError):
                connection.recv(1 << 16)
            time.sleep(after_s)

    def take() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=lose, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def saying(status: HTTPStatus, after_s: float = 0.0) -> Iterator[str]:
    """The address of a service that says the same to everything."""

    def score(_: bytes) -> HttpAnswer:
        time.sleep(after_s)
        return HttpAnswer(status, {"scores": [{"reward": 1.0}]})

    server = HttpServer("127.0.0.1", 0, None, ServiceLimits(), health=dict, score=score)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.close()
    thread.join(timeout=5)


def test_a_service_lost_after_longer_than_the_patience_loses_no_batch() -> None:
    with losing(0.6) as lost, saying(HTTPStatus.OK) as other:
        assert RewardClient(f"{lost},{other}", patience_s=0.2).score([{}]) == [{"reward": 1.0}]


def test_every_service_is_tried_before_a_client_gives_up() -> None:
    with saying(HTTPStatus.SERVICE_UNAVAILABLE, 0.6) as busy, saying(HTTPStatus.OK) as other:
        assert RewardClient(f"{busy},{other}", patience_s=0.2).score([{}]) == [{"reward": 1.0}]


def test_services_that_drop_each_request_are_given_up() -> None:
    with losing(0.0) as one, losing(0.0) as other, pytest.raises(UnavailableError, match="no answer for"):
        RewardClient(f"{one},{other}", patience_s=0.3).score([{}])


def test_functions_for_other_trainers_ask_the_service(service: RewardService, monkeypatch: pytest.MonkeyPatch) -> None:
    from evosyn.train.reward_function import compute_score, compute_scores, trl_reward

    monkeypatch.setenv("EVOSYN_REWARD_URL", url_of(service))
    truth = json.dumps(TASK)
    assert compute_score("evosyn", RIGHT, truth)["score"] == 1.0
    assert compute_score("evosyn", WRONG, TASK) == {
        "score": 0.0,
        "share": 0.5,
        "parsed": 1.0,
        "cut": 0.0,
        "unknown": 0.0,
    }
    assert [row["score"] for row in compute_scores(["d"] * 2, [RIGHT, "prose"], [truth] * 2)] == [1.0, 0.0]
    completions = [[{"role": "assistant", "content": RIGHT}], [{"role": "assistant", "content": WRONG}]]
    assert trl_reward(["p"] * 2, completions, [truth] * 2) == [1.0, 0.0]
    with pytest.raises(UsageError, match="no column `task`"):
        trl_reward(["p"], completions[:1], testing=["{}"])


def test_functions_open_a_sandbox_of_their_own_without_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    from evosyn.train.reward_function import compute_score

    monkeypatch.delenv("EVOSYN_REWARD_URL", raising=False)
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    assert compute_score("evosyn", RIGHT, json.dumps(TASK))["score"] == 1.0
    with pytest.raises(UsageError, match="ground_truth"):
        compute_score("evosyn", RIGHT, "not json")


def test_a_missing_reward_is_said_where_it_can_be_and_stood_in_for_where_it_cannot(
    service: RewardService, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evosyn.train.reward_function import compute_scores, trl_reward

    monkeypatch.setenv("EVOSYN_REWARD_URL", url_of(service))
    truths = [TASK, {**TASK, "domain": "evosyn.domains.python_function:create"}]  # the second is not served
    completions = [[{"role": "assistant", "content": RIGHT}]] * 2
    assert trl_reward(["p"] * 2, completions, truths) == [1.0, None]
    right, unknown = compute_scores(["d"] * 2, [RIGHT] * 2, truths)
    assert (right["score"], right["unknown"]) == (1.0, 0.0)
    assert unknown == {"score": 0.0, "share": 0.0, "parsed": 0.0, "cut": 0.0, "unknown": 1.0}
    monkeypatch.delenv("EVOSYN_REWARD_URL")
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    assert trl_reward(["p"] * 2, completions, truths) == [1.0, 1.0]  # the process's own sandbox takes any domain


def test_a_ground_truth_that_is_no_task_ends_the_run_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from evosyn.train.reward_function import compute_scores

    monkeypatch.delenv("EVOSYN_REWARD_URL", raising=False)
    with pytest.raises(UsageError, match=r"ground_truths\[1\].starter_code: must be a text, not int"):
        compute_scores(["d"] * 2, [RIGHT] * 2, [TASK, {**TASK, "starter_code": 1}])


FORKS = """
import json, os, sys
from evosyn.train.reward_function import compute_score
def reward(name):
    text = f"```python\\ndef total(xs):\\n    return sum(xs)  # {name}\\n```"
    return compute_score("d", text, json.loads(sys.argv[1]))["score"]
first = reward("parent")
child = os.fork()
if not child:
    os._exit(0 if reward("child") == 1.0 else 1)
status = os.waitpid(child, 0)[1]
print(first, status, reward("again"))
"""


def test_a_forked_trainer_process_opens_a_sandbox_of_its_own() -> None:
    environment = {**os.environ, "EVOSYN_ALLOW_WEAK_SANDBOX": "1"}
    environment.pop("EVOSYN_REWARD_URL", None)
    line = [sys.executable, "-W", "ignore", "-c", FORKS, json.dumps(TASK)]
    ended = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout.split() == ["1.0", "0", "1.0"], ended.stderr


def test_a_request_that_takes_too_long_is_not_asked_twice(service: RewardService) -> None:
    loop = "```python\ndef total(xs):\n    while True: pass\n```"
    before = RewardClient(url_of(service)).health()["executed"]
    with pytest.raises(UnavailableError, match=r"no answer in 0\.2 s"):
        RewardClient(url_of(service), timeout_s=0.2).score([{"task": TASK, "completion": loop}])
    assert RewardClient(url_of(service)).score([{"task": TASK, "completion": loop}])[0]["reward"] == 0.0
    assert RewardClient(url_of(service)).health()["executed"] - before <= 2


@pytest.mark.train
def test_openrlhfs_function_returns_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from evosyn.train.reward_function import reward_func

    monkeypatch.delenv("EVOSYN_REWARD_URL", raising=False)
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    answer = reward_func(["Q: " + RIGHT, "Q: " + WRONG], ["Q: ", "Q: "], [json.dumps(TASK)] * 2)
    assert answer["rewards"].tolist() == [1.0, 0.0]
    assert answer["extra_logs"]["share"].tolist() == [1.0, 0.5]
    answer = reward_func(["Q: " + RIGHT + "<|im_end|>", "another query"], ["Q: ", "Q: "], [json.dumps(TASK)] * 2)
    assert answer["rewards"].tolist() == [1.0, 0.0]
    assert answer["extra_logs"]["unknown"].tolist() == [0.0, 1.0]
