"""The reward service over real HTTP, its client, and the functions for other trainers."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from evosyn.dataset import read_dataset
from evosyn.errors import UnavailableError, UsageError
from evosyn.jobs import Limits
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.train.client import RewardClient
from evosyn.train.data import tasks_of
from evosyn.train.scoring import Scorer, Task, domains_of
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
    scorer = Scorer(sandbox, domains_of(tasks.values()), Limits(wall_s=1.0))
    yield from serving(RewardService(scorer, tasks, port=0, limits=ServiceLimits(body_mb=0.1, items=3)))


@pytest.fixture
def guarded(sandbox: Sandbox, tasks: dict[str, Task]) -> Iterator[RewardService]:
    scorer = Scorer(sandbox, domains_of(tasks.values()), Limits(wall_s=1.0))
    yield from serving(RewardService(scorer, tasks, port=0, token="s3cret"))


def url_of(service: RewardService) -> str:
    return f"http://127.0.0.1:{service.port}"


def row_of(tasks: dict[str, Task], name: str) -> str:
    return next(row for row, task in tasks.items() if task.problem.problem_id == name)


def post(service: RewardService, body: bytes, **headers: str) -> tuple[int, Json]:
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
    assert right == {"reward": 1.0, "share": 1.0, "verdict": "P", "parsed": True}
    assert (wrong["reward"], wrong["share"]) == (0.0, 0.5)


def test_health_says_what_is_served(service: RewardService, tasks: dict[str, Task]) -> None:
    health = RewardClient(url_of(service)).health()
    assert (health["status"], health["tasks"]) == ("ok", len(tasks))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "must be JSON"),
        (b"[]", "must be JSON"),
        (b"[" * 100_000, "must be JSON"),
        (b'{"items": 3}', "a list of at most 3"),
        (json.dumps({"items": [{"id": "x", "completion": ""}] * 4}).encode(), "a list of at most 3"),
        (b'{"items": [{"id": "nope", "completion": "x"}]}', "no row 'nope'"),
        (b'{"items": [{"id": "nope", "completion": 3}]}', "needs a completion"),
        (b'{"items": [{"task": {"testing": "{"}, "completion": ""}]}', "testing"),
        (b'{"items": [{"task": {"testing": {"kind": "cases", "cases": 3}}, "completion": ""}]}', "cases"),
        (b'{"items": [{"task": {"domain": "os", "testing": {"kind": "asserts", "asserts": ["1"]}}, "completion": ""}]}',
         "not served"),
    ],
)  # fmt: skip
def test_what_a_client_gets_wrong_is_said_and_costs_nothing(service: RewardService, body: bytes, message: str) -> None:
    status, answer = post(service, body)
    assert status == 400
    assert message in answer["error"]
    assert RewardClient(url_of(service)).health()["executed"] == 0


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
    scorer = Scorer(sandbox, domains_of(tasks.values()), Limits())
    with pytest.raises(UsageError, match="token"):
        RewardService(scorer, tasks, host="0.0.0.0", port=0)


def test_a_full_service_says_when_to_come_back(sandbox: Sandbox, tasks: dict[str, Task]) -> None:
    scorer = Scorer(sandbox, domains_of(tasks.values()), Limits(wall_s=2.0))
    service = RewardService(scorer, tasks, port=0, limits=ServiceLimits(batches=1))
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


def test_functions_for_other_trainers_ask_the_service(service: RewardService, monkeypatch: pytest.MonkeyPatch) -> None:
    from evosyn.train.reward_function import compute_score, compute_scores, trl_reward

    monkeypatch.setenv("EVOSYN_REWARD_URL", url_of(service))
    truth, testing = json.dumps(TASK), json.dumps(TASK["testing"])
    assert compute_score("evosyn", RIGHT, truth)["score"] == 1.0
    assert compute_score("evosyn", WRONG, testing, {"entry_point": "total"}) == {
        "score": 0.0, "share": 0.5, "parsed": 1.0, "unknown": 0.0
    }  # fmt: skip
    assert [row["score"] for row in compute_scores(["d"] * 2, [RIGHT, "prose"], [truth] * 2)] == [1.0, 0.0]
    completions = [[{"role": "assistant", "content": RIGHT}], [{"role": "assistant", "content": WRONG}]]
    assert trl_reward(["p"] * 2, completions, [testing] * 2, entry_point=["total"] * 2) == [1.0, 0.0]


def test_functions_open_a_sandbox_of_their_own_without_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    from evosyn.train.reward_function import compute_score

    monkeypatch.delenv("EVOSYN_REWARD_URL", raising=False)
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    assert compute_score("evosyn", RIGHT, json.dumps(TASK))["score"] == 1.0
    with pytest.raises(UsageError, match="ground truth"):
        compute_score("evosyn", RIGHT, "not json")


@pytest.mark.train
def test_openrlhfs_function_returns_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from evosyn.train.reward_function import reward_func

    monkeypatch.delenv("EVOSYN_REWARD_URL", raising=False)
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    answer = reward_func(["Q: " + RIGHT, "Q: " + WRONG], ["Q: ", "Q: "], [json.dumps(TASK)] * 2)
    assert answer["rewards"].tolist() == [1.0, 0.0]
    assert answer["extra_logs"]["share"].tolist() == [1.0, 0.5]
