"""AgentBench's file is read as it is: forms of its tasks, and what cannot be brought in is named."""

import json

import pytest

from evosyn.domains import is_named, load_pools, scan_pools
from evosyn.errors import InputError

SCRIPTS = {
    "scripts/1/init/a.sh": "touch /root/a",
    "scripts/1/check/integer-match.py": "not read",
    "scripts/4/checking/0.sh": "exit 0",
}
MATCH = {"language": "python", "file": "check/integer-match.py"}


def task(name, evaluation, split="test", **more):
    return {"id": name, "split": split, "task": {"description": "How many?", "evaluation": evaluation, **more}}


ROWS = (
    task("data/1/a.json#0", {"check": [None, MATCH], "example": {"code": "ls | wc -l"}},
         create={"local": "default", "init": {"file": "init/a.sh"}}),
    task("data/4/b.json#0", {"match": " yes ", "example": "echo yes"}, start="x=1"),
    task("data/4/c.json#1", {"check": {"file": "checking/0.sh"}, "example": "true"},
         create={"init": ["a", {"code": "useradd b"}]}),
    task("data/4/d.json#0", {"check": [{"code": "ls -l /usr/bin/find"}, {"language": "python", "code": "exit(0)"}]}),
    task("data/4/e.json#0", {"match": {"regex": ".*"}}),
    task("data/4/f.json#0", {"check": {"file": "checking/9.sh"}}),
    task("train_1#0", {"check": [None, MATCH], "example": "echo 1"}, split="train"),
    {"id": "scripts", "split": "scripts", "files": SCRIPTS},
)  # fmt: skip


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "os.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return f"agentbench:{path}"


def test_every_form_becomes_a_problem_or_a_reason(source):
    assert is_named(source)
    found = list(scan_pools(f"{source}@host"))
    problems = [one.problem for one in found if not isinstance(one, InputError)]
    reasons = [str(one) for one in found if isinstance(one, InputError)]
    counted, matched, checked, observed = problems
    assert counted.payload["world"]["init"] == [{"language": "bash", "code": "touch /root/a"}]
    assert counted.payload["world"]["image"] == "host"
    assert counted.human_testing.to_json() == {"kind": "answer", "script": {"code": "ls | wc -l"}, "compare": "integer"}
    assert matched.human_testing.body["expected"] == "yes" and matched.payload["world"]["start"]["code"] == "x=1"
    assert [one["code"] for one in checked.payload["world"]["init"]] == ["a", "useradd b"]
    views = [one["body"]["view"] for one in observed.human_testing.body["checks"]]
    assert views == ["open", "guarded"] and observed.payload["asks"] == "state"
    assert [one.payload["world"]["needs"] for one in problems] == [[], [], ["uids"], []]
    assert len(reasons) == 2 and "match-by-pattern" in reasons[0] and "scripts/4/checking/9.sh" in reasons[1]


def test_splits_are_named_and_the_first_bad_line_ends_a_load(source):
    assert [pool.problem.problem_id for pool in load_pools(f"{source}#train")] == ["train_1#0"]
    with pytest.raises(InputError, match="match-by-pattern"):
        load_pools(source)
    with pytest.raises(InputError, match="Splits: test, train"):
        load_pools(f"{source}#dev")
