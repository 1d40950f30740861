"""A domain, a teacher and a proposer that live outside the package go the whole way, from a pool to a student."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from evosyn import domains
from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.dataset import read_dataset
from evosyn.errors import FormatError, UsageError
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox
from evosyn.train.client import RewardClient

EXAMPLE = Path(__file__).parents[2] / "examples" / "short_answer"
BITS = EXAMPLE.parent / "bit_strings" / "bit_strings.py"
ENTRY_POINTS = """
[evosyn.domains]
short-answer = short_answer:create
[evosyn.teachers]
script = scripted:create
[evosyn.proposers]
comments = commenting:create
flips = bit_strings:flipping
[evosyn.evolved]
bits = bit_strings:create
[evosyn.sandboxes]
noted = noting:create
[evosyn.axes]
length = lines:create
"""
MODULES = {
    "commenting.py": """
from evosyn.ports import PluginConfig, Proposal, ProposerTools
from evosyn.records import Candidate

class Config(PluginConfig):
    word: str = "seen"

class Commenting:
    name = "commenting"

    def __init__(self, word):
        self.word = word

    async def propose(self, context):
        parent = context.parent.candidate
        text = f"{parent.text}\\n{self.word} = {context.index}\\n"
        return Proposal((Candidate(text, (parent.id,), self.name),))

def create(tools: ProposerTools, config: Config):
    return Commenting(config.word)
""",
    "noting.py": """
import sys
from evosyn.ports import PluginConfig, SandboxTools
from evosyn.sandbox import local

class Config(PluginConfig):
    note: str = "nothing"

def create(tools: SandboxTools, config: Config):
    print("a sandbox of ours:", config.note, file=sys.stderr)
    return local.create(tools, PluginConfig())
""",
    "lines.py": """
from typing import Annotated
from evosyn.ports import Argument, Axis, AxisTools, PluginConfig

class Config(PluginConfig):
    most: Annotated[int, Argument("MOST")] = 64

class Lines:
    def __init__(self, most):
        self.axis = Axis("lines", 0, most, 8)

    def measure(self, behaviour):
        return float(min(self.axis.high, behaviour.text.count(chr(10))))

def create(tools: AxisTools, config: Config):
    return Lines(config.most)
""",
}
"""Plug-ins of the kinds of which there is no example."""
TESTINGS = ("--set", "scoring.unit=testing")
"""By joined cases the initial strategy is right everywhere here, and nothing could win."""
SCRIPTED = ("--teacher", "script", "--problems", "14", "-M", "6", "-N", "4")


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("short_answer", EXAMPLE / "short_answer.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def question(number: int, **payload: str) -> Problem:
    right = str(7 * number)
    return Problem(
        f"q{number}",
        "short-answer",
        f"A rectangle is {number} m wide and 7 m long. What is its area in square metres?",
        payload=payload or {"unit": "m"},
        human_testing=Testing("answer", {"accepts": [right]}),
        reference_solution=right,
    )


def line(number: int) -> dict[str, object]:
    """A pool line with right, wrong and odd answers, and testings that tell them apart more or less well."""
    right, wrong = str(7 * number), str(7 * number + 1)
    accepts = [[right], [right, f"{right} m"], [wrong], [str(number)]]
    return {
        "problem_id": f"q{number}",
        "domain": "short-answer",
        "statement": question(number).statement,
        "payload": {"unit": "m"},
        "human_testing": {"kind": "answer", "accepts": [right]},
        "reference_solution": right,
        "solutions": [right, f"{right} m", f" {right}.", wrong, f"# {right}", f"# {wrong}"],
        "testings": [{"kind": "answer", "accepts": one} for one in accepts],
    }


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine on which the example is installed."""
    site = tmp_path / "site"
    (site / "short_answer-0.1.dist-info").mkdir(parents=True)
    for source in (*EXAMPLE.glob("*.py"), BITS):
        (site / source.name).write_bytes(source.read_bytes())
    about = {"METADATA": "Metadata-Version: 2.1\nName: short-answer\nVersion: 0.1\n", "entry_points.txt": ENTRY_POINTS}
    for name, text in about.items():
        (site / "short_answer-0.1.dist-info" / name).write_text(text)
    for name, text in MODULES.items():
        (site / name).write_text(text)
    replies = {
        "problem": [
            "```json\n" + json.dumps({"title": f"Area {n}", "statement": question(n).statement, "unit": "m"}) + "\n```"
            for n in range(2, 60)
        ],
        "solution": ["I multiply.\n```\n14\n```", "```\n21\n```", "14 m", "```\n28\n```", "```\n```"],
        "testing": [
            '```json\n{"kind": "answer", "accepts": ["14"]}\n```',
            '{"accepts": ["14", "21"]}',
            '{"accepts": 1}',
        ],
    }
    (tmp_path / "script.json").write_text(json.dumps(replies))
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(line(number)) + "\n" for number in range(2, 14)))
    path = os.pathsep.join([str(site), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def evosyn(installed: dict[str, str], cwd: Path, *words: str, ends: tuple[int, ...] = (0,), both: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "evosyn", *words], cwd=cwd, env=installed, capture_output=True, text=True, check=False
    )
    assert done.returncode in ends, f"evosyn {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout + done.stderr if both else done.stdout


class Names(NamedTuple):
    """How plug-ins that are installed are named."""

    domain: str
    teacher: str
    proposer: str
    sandbox: str
    axis: str
    evolved: str
    flipping: str


DOTTED = Names(
    "short_answer:create", "scripted:create:script.json", "commenting:create", "noting:create", "lines:create:32",
    "bit_strings:create", "bit_strings:flipping",
)  # fmt: skip
ENTRIES = Names("short-answer", "script:script.json", "comments", "noted", "length:32", "bits", "flips")


@pytest.mark.parametrize(
    "names",
    [pytest.param(DOTTED, id="dotted paths", marks=pytest.mark.long), pytest.param(ENTRIES, id="entry points")],
)
def test_a_search_takes_a_plug_in_of_every_kind_with_its_options(
    installed: dict[str, str], tmp_path: Path, names: Names
) -> None:
    lines = [json.dumps({**line(number), "domain": names.domain}) for number in range(2, 8)]
    bare = [
        {key: value for key, value in json.loads(one).items() if key not in ("solutions", "testings")} for one in lines
    ]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(one) + "\n" for one in bare))
    said = evosyn(
        *(installed, tmp_path, "evolve", "pool.jsonl", "-M", "3", "-N", "2", "--iterations", "5", "--out", "run"),
        *("--teacher", names.teacher, "--sandbox", names.sandbox, "--proposer", names.proposer, "--quiet"),
        *("--set", "workbench.sandbox.note=hello", "--set", f"axes=[{names.axis}]", "--set", "finalists=1"),
        *("--set", f'proposers.options."{names.proposer}".word=noticed', "--set", "scoring.draws=1"),
        *("--set", "pool.solutions=4", "--set", "pool.testings=3"),
        ends=(0, 1),
        both=True,
    )
    assert "a sandbox of ours: hello" in said
    journal = (tmp_path / "run" / "journal.jsonl").read_text()
    assert "noticed = 3" in journal and '"seen = ' not in journal
    said = evosyn(
        *(installed, tmp_path, "evolve", "--config", "run/config.yaml", "--out", "again", "--quiet"),
        ends=(0, 1),
        both=True,
    )
    assert "a sandbox of ours: hello" in said, "the file of a run repeats the options of its plug-ins"
    assert (tmp_path / "again" / "journal.jsonl").read_text() == journal


@pytest.mark.parametrize("names", [DOTTED, ENTRIES], ids=["dotted paths", "entry points"])
def test_a_search_takes_something_else_to_evolve(installed: dict[str, str], tmp_path: Path, names: Names) -> None:
    words = ("evolve", "--evolved", names.evolved, "--proposer", names.flipping, "--iterations", "150")
    options = ("--set", f'proposers.options."{names.flipping}".chance=0.1', "--set", "proposers.burst=2")
    report = json.loads(evosyn(installed, tmp_path, *words, *options, "--out", "bits"))
    assert report["kind"] == "bit-strings" and report["best"]["score"] > 0.7
    again = json.loads(evosyn(installed, tmp_path, "evolve", "--config", "bits/config.yaml", "--out", "again"))
    assert {**again, "wall_s": 0} == {**report, "wall_s": 0}
    kept = (tmp_path / "again" / "config.yaml").read_bytes()
    more = ("evolve", "--config", "again/config.yaml", "--seed", "7", "--out", "again")
    assert "other settings" in evosyn(installed, tmp_path, *more, ends=(2,), both=True)
    assert (tmp_path / "again" / "config.yaml").read_bytes() == kept
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.yaml").write_text("mine: 1")
    assert "holds files of something else" in evosyn(installed, tmp_path, *words, "--out", "mine", ends=(2,), both=True)
    assert (tmp_path / "mine" / "config.yaml").read_text() == "mine: 1"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("workbench.sandbox.noot=1", "sandboxes 'noted': unknown key 'noot'; did you mean 'note'"),
        ("workbench.teacher.scrip=1", "teachers 'script': unknown key 'scrip'; did you mean 'script'"),
        ("proposers.options.comments.wort=1", "proposers 'comments': unknown key 'wort'; did you mean 'word'"),
        ("proposers.options.coments.word=1", "no arm is named 'coments'; did you mean 'comments'"),
        ("evolved.size=1", "evolved 'bits': unknown key 'size'; known: none"),
    ],
)
def test_an_option_that_no_plug_in_knows_is_refused(
    installed: dict[str, str], tmp_path: Path, option: str, says: str
) -> None:
    words = ("--evolved", "bits", "--proposer", "comments", "--iterations", "2", "--out", "run", "--quiet")
    parts = ("--sandbox", "noted", "--teacher", "script", "--set", option)
    assert says in evosyn(installed, tmp_path, "evolve", *words, *parts, ends=(2,), both=True)


@pytest.mark.slow
def test_every_command_takes_a_domain_that_is_installed(installed: dict[str, str], tmp_path: Path) -> None:
    def run(*words: str) -> str:
        return evosyn(installed, tmp_path, *words)

    assert "good" in run("pool", "check", "pool.jsonl", "--execute")
    run("crossexec", "pool.jsonl", "--out", "matrices")
    first = json.loads((tmp_path / "matrices" / "matrices.jsonl").read_text().splitlines()[0])
    assert (first["verdicts"][0], first["human"], first["groups"]) == ("PPFF", "PPPFFF", [0, 0, 0, 1, 2, 3])
    arms = ("--proposer", "comments=1", "--proposer", "genetic=3")
    run(
        "evolve",
        "pool.jsonl",
        "-M",
        "4",
        "-N",
        "4",
        "--evaluations",
        "120",
        "--out",
        "run",
        "--quiet",
        *arms,
        *TESTINGS,
    )
    assert '"commenting"' in (tmp_path / "run" / "journal.jsonl").read_text()
    run("synthesize", "run", "--out", "data", "--quiet", *SCRIPTED)
    assert "SIMULATED by scripted" in (tmp_path / "data" / "README.md").read_text()
    best = json.loads((tmp_path / "run" / "report.json").read_text())["best"]
    assert {json.loads(row.lineage)["strategy"] for row in read_dataset(tmp_path / "data")} == {best["id"]}
    run("inspect", "data")
    run("export", "data", "--format", "sft", "--out", "sft", "data")
    turns = json.loads((tmp_path / "sft" / "train.jsonl").read_text().splitlines()[0])["messages"]
    assert turns[-1] == {"role": "assistant", "content": turns[-1]["content"]}
    assert turns[-1]["content"].startswith("```\n")
    assert "python" not in turns[-1]["content"]
    run("export", "data", "--format", "jsonl", "--out", "rows", "data")
    row = json.loads((tmp_path / "rows" / "train.jsonl").read_text().splitlines()[0])
    task = json.loads(row["verification_info"])
    assert task["payload"] == {"unit": "m"}
    paid = "from evosyn.train.reward_function import compute_score\nimport json, sys\n"
    paid += "truth = json.load(sys.stdin)\nfor text in ('```\\n' + truth[1] + '\\n```', 'nothing'):\n"
    paid += "    print(compute_score('x', text, json.dumps(truth[0]))['score'])\n"
    done = subprocess.run(
        [sys.executable, "-c", paid],
        input=json.dumps([task, task["testing"]["accepts"][0]]),
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["1.0", "0.0"], done.stderr[-2000:]


@contextmanager
def rewards(installed: dict[str, str], cwd: Path, *words: str) -> Iterator[RewardClient]:
    """A client of `evosyn reward serve`, for as long as that runs."""
    command = [sys.executable, "-m", "evosyn", "reward", "serve", *words, "--port", "0", "--allow-weak-sandbox"]
    with subprocess.Popen(command, cwd=cwd, env=installed, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            told = re.match(r"rewards on (http://\S+) ", service.stdout.readline())
            assert told, "the service did not begin"
            yield RewardClient(told[1])
        finally:
            service.send_signal(signal.SIGTERM)


@pytest.mark.parametrize("names", [DOTTED, ENTRIES], ids=["dotted paths", "entry points"])
def test_the_reward_service_pays_answers_of_a_domain_that_is_installed(
    installed: dict[str, str], tmp_path: Path, names: Names
) -> None:
    row = json.dumps({**line(2), "domain": names.domain})
    (tmp_path / "pool.jsonl").write_text(row + "\n")
    task = {"domain": names.domain, "statement": "How far?", "payload": {"unit": "km"}}
    own = {**task, "testing": {"kind": "answer", "accepts": ["14"]}}
    with rewards(installed, tmp_path, "--pool", "pool.jsonl") as client:
        asked = [{"id": "q2", "completion": text} for text in ("I multiply.\n```\n14 m\n```", "15", "", "14 km")]
        asked += [{"task": own, "completion": text} for text in ("14 km", "14 m")]
        found = client.score([*asked, {"task": {**own, "testing": {"kind": "answer"}}, "completion": "14"}])
    assert [one["reward"] for one in found] == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, None]
    assert "accepts" in found[-1]["error"]


@pytest.mark.train
@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_a_student_learns_the_answers_of_a_domain_that_is_installed(installed: dict[str, str], tmp_path: Path) -> None:
    def run(*words: str) -> str:
        return evosyn(installed, tmp_path, *words)

    run("evolve", "pool.jsonl", "-M", "4", "-N", "4", "--evaluations", "60", "--out", "run", "--quiet", *TESTINGS)
    run("synthesize", "run", "--out", "data", "--quiet", *SCRIPTED)
    run("train", "data", "--model", "builtin:tiny", "--steps", "2", "--out", "trained")
    run("distill", "data", "--model", "builtin:tiny", "--steps", "2", "--out", "distilled")
    run("eval", "distilled/model", "--bench", "pool.jsonl", "--out", "measured")
    assert json.loads((tmp_path / "trained" / "report.json").read_text())["lineage"]["simulated"]


def test_answers_that_only_python_takes_for_the_same_are_told_apart() -> None:
    domain = loaded().ShortAnswer()
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        executor = CrossExecutor(Judge(sandbox, {domain.name: domain}))
        answers = [Solution(text) for text in ("# 14", "# 21", "14", " 14 M.", "14")]
        (matrix,) = executor.matrices([(question(2), answers, [Testing("answer", {"accepts": ["# 14"]})])])
    assert ["".join(row) for row in matrix.verdicts_MN] == ["P", "F", "F", "F", "F"]
    assert matrix.human_M is not None and "".join(matrix.human_M) == "FFPPP"
    assert matrix.groups_M is not None and matrix.groups_M.tolist() == [0, 1, 2, 2, 2]


def test_verdicts_of_one_payload_are_never_served_for_another() -> None:
    domain = loaded().ShortAnswer()
    testing = Testing("answer", {"accepts": ["14"]})
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        from evosyn.crossexec.verdict_cache import MemoryVerdicts

        executor = CrossExecutor(Judge(sandbox, {domain.name: domain}, cache=MemoryVerdicts()))
        found = [
            executor.matrices([(question(2, unit=unit), [Solution("14 m")], [testing])])[0].verdicts_MN[0, 0]
            for unit in ("m", "km")
        ]
    assert found == [Verdict.PASS.value, Verdict.FAIL.value]


@pytest.mark.parametrize(
    ("payload", "accepts", "message"),
    [
        ({"unti": "m"}, ["1"], "unti: is not a field here"),
        ({"unit": 5}, ["1"], "unit: "),
        ({"unit": "m"}, "14", "accepts: "),
        ({"unit": "m"}, ..., "accepts: is missing"),
    ],
)
def test_what_does_not_fit_is_named_by_its_field(payload: dict[str, object], accepts: object, message: str) -> None:
    domain = loaded().ShortAnswer()
    body = {} if accepts is ... else {"accepts": accepts}
    with pytest.raises(FormatError, match=message):
        domain.check_problem(Problem("p", domain.name, "What?", payload=payload))
        domain.check_shape(Testing("answer", body))


@pytest.mark.parametrize("name", ["os:abort", "os:getcwd", "evosyn.domains.python_function:PythonFunction"])
def test_a_name_in_a_file_calls_nothing_but_what_makes_a_domain(name: str) -> None:
    with pytest.raises(UsageError, match="does not name a plug-in of this kind"):
        domains.domain(name)


def test_what_the_domain_cannot_decide_is_unknown_and_ends_nothing() -> None:
    module = loaded()

    class Faulty(module.ShortAnswer):  # type: ignore[misc, name-defined]
        def decide(self, problem: Problem, solution: Solution, testing: Testing) -> bool:
            if solution.text == "deep":
                raise RecursionError("too deep")
            return bool(super().decide(problem, solution, testing))

    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        executor = CrossExecutor(Judge(sandbox, {"short-answer": Faulty()}))
        testing = Testing("answer", {"accepts": ["14"]})
        (matrix,) = executor.matrices([(question(2), [Solution("deep"), Solution("14")], [testing])])
    assert ["".join(row) for row in matrix.verdicts_MN] == ["U", "P"]
