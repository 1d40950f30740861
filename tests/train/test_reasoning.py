"""Reasoning of any family is no answer: what is paid stands behind the last mark that closes it, whichever way a text
comes in."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evosyn
from evosyn.budget import Budget, BudgetConfig
from evosyn.chat import Message, Request
from evosyn.crossexec.judge import Cell
from evosyn.domains import domain as domain_named
from evosyn.domains import domains_named
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.synthesis.exports._common import Target, task_column
from evosyn.synthesis.usable import read_reply
from evosyn.tasks import Task, task_from_json, task_to_json
from evosyn.teachers.cache import ReplyCache
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.completions import Answer as Sent
from evosyn.text.reasoning import FAMILIES as KNOWN
from evosyn.text.reasoning import FORMS, form_of_prompt
from evosyn.text.tokenizers import completion_texts, reasoning_of
from evosyn.thinking import without_thinking
from evosyn.train.evaluate import evaluate
from evosyn.train.generation import TokenSampling
from evosyn.train.reward_function import compute_scores, trl_reward
from evosyn.train.scoring import Scorer, reward_judge
from evosyn.train.service import RewardService
from tests.train.reasoning_forms import FAMILIES, probes
from tests.train.reward_rows import posed

GOOD, BAD = "def top(xs):\n    return max(xs)\n", "def top(xs):\n    return min(xs)\n"
KINDS: dict[str, tuple[Json, tuple[str, str, str]]] = {
    "math-answer": (
        {"statement": "How many clips?", "testing": {"kind": "answer", "answer": "72"}},
        ("So \\boxed{72}.", "\\boxed{72}.", "The answer is 72."),
    ),
    "python-function": (
        {"entry_point": "top", "testing": {"kind": "cases", "cases": [{"input": [[1, 9]], "output": 9}]}},
        (f"```python\n{GOOD}```", f"```python\n{GOOD}```", GOOD),
    ),
    "python-stdin": (
        {"testing": {"kind": "stdin", "cases": [{"input": "3\n", "output": "6\n"}]}},
        ("~~~py\nprint(2 * int(input()))\n~~~", "```\nprint(2 * int(input()))\n```", "print(2 * int(input()))"),
    ),
}
ENDS = ["", "<|im_end|>", " done.", "</s>"]
"""What stands behind a closing fence."""


class Form(NamedTuple):
    """A text for a task, the form that it is in, and what it is paid."""

    name: str
    task: Task
    text: str
    form: str
    paid: float


def forms() -> list[Form]:
    found = []
    for kind, (body, said) in KINDS.items():
        task = task_from_json({"domain": kind, "problem_id": kind, **body})
        for place, (family, written) in enumerate(FAMILIES.items()):
            right, draft, plain = said
            right += ENDS[place % len(ENDS)] if kind != "math-answer" else ""
            for probe, (text, paid) in probes(written, right, draft, plain).items():
                found.append(Form(f"{kind}, {family}, {probe}", task, text, written.form, paid))
    return found


ALL = forms()
Way = Callable[[Sandbox, Sequence[Form], str, Path], list[float | None]]
"""What texts in one form are paid."""


def by_api(sandbox: Sandbox, some: Sequence[Form], form: str, out: Path) -> list[float | None]:  # noqa: ARG001
    return evosyn.reward([one.task for one in some], [one.text for one in some], sandbox=sandbox, reasoning=form)


class Given:
    """Gives texts as a generator of an evaluation and as a transport of a teacher."""

    def __init__(self, texts: Sequence[str], form: str) -> None:
        self.chunk, self.reasoning, self._texts = 1, form, list(texts)

    def generate(self, requests: Sequence[Request], names: Sequence[str]) -> list[list[str]]:  # noqa: ARG002
        return [self._texts]

    async def send(self, request: Request) -> Sent:
        return Sent(self._texts[request.sample], "stop", None, 1, 1, None)

    async def aclose(self) -> None:
        return None


def by_eval(sandbox: Sandbox, some: Sequence[Form], form: str, out: Path) -> list[float | None]:
    scorer = Scorer(reward_judge(sandbox, domains_named(KINDS)))
    found: list[float | None] = []
    for number, one in enumerate(some):
        with RunDir(out / f"{form}{number}") as run:
            (outcome,) = evaluate("m", Given([one.text], form), TokenSampling(), [one.task], scorer, run).outcomes
        found.append(float(outcome.passed))
    return found


def by_drawing(sandbox: Sandbox, some: Sequence[Form], form: str, out: Path) -> list[float | None]:  # noqa: ARG001
    cache, budget = ReplyCache(), Budget(BudgetConfig())
    teacher = ChatTeacher("m", Given([one.text for one in some], form), ChatConfig(), cache, budget, reasoning=form)

    async def replies() -> list[object]:
        said = (Message("user", "Solve it."),)
        asked = [teacher.complete(Request(said, "solution", sample=sample)) for sample in range(len(some))]
        return list(await asyncio.gather(*asked))

    found: list[float | None] = []
    judge = reward_judge(sandbox, domains_named(KINDS))
    for one, reply in zip(some, asyncio.run(replies()), strict=True):
        domain = domain_named(one.task.problem.domain)
        value = read_reply(one.task.problem, domain, "solution", reply).value  # type: ignore[arg-type]
        cells = [] if value is None else [Cell(one.task.problem, value, one.task.testing)]
        found += [float(result.verdict.value == "P") for result in judge.verify(cells)] or [0.0]
    return found


def by_service(sandbox: Sandbox, some: Sequence[Form], form: str, out: Path) -> list[float | None]:  # noqa: ARG001
    service = RewardService(Scorer(reward_judge(sandbox, domains_named(KINDS))), {}, port=0)
    items = [{"task": task_to_json(one.task), "completion": one.text, "reasoning": form} for one in some]
    answers = service.score(json.dumps({"items": items}).encode()).value["scores"]
    service.close()
    assert [answer["cut"] for answer in answers] == [answer["detail"].startswith("cut-in") for answer in answers]
    return [answer["reward"] for answer in answers]


def by_trl(sandbox: Sandbox, some: Sequence[Form], form: str, out: Path) -> list[float | None]:  # noqa: ARG001
    tasks = [{**task_to_json(one.task), "reasoning": form} for one in some]
    return trl_reward([], [[{"content": one.text}] for one in some], task=tasks)


def by_verl(sandbox: Sandbox, some: Sequence[Form], form: str, out: Path) -> list[float | None]:  # noqa: ARG001
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("EVOSYN_REASONING", form)
        found = compute_scores([""] * len(some), [one.text for one in some], [task_to_json(one.task) for one in some])
    return [one["score"] for one in found]


WAYS: dict[str, Way] = {
    "api": by_api, "eval": by_eval, "drawing": by_drawing, "service": by_service, "trl": by_trl, "verl": by_verl
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_pays_the_same_for_the_same_forms(
    way: str, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    assert len(ALL) >= 120
    for form in {one.form for one in ALL}:
        some = [one for one in ALL if one.form == form]
        found = WAYS[way](sandbox, some, form, tmp_path)
        assert [(one.name, one.paid, got) for one, got in zip(some, found, strict=True) if got != one.paid] == []


def test_a_family_is_known_by_the_mark_that_begins_a_text(sandbox: Sandbox, tmp_path: Path) -> None:
    told = [one for one in ALL if FAMILIES[one.name.split(", ", 1)[1].rpartition(", ")[0]].told]
    assert len(told) >= 140
    found = by_api(sandbox, told, "auto", tmp_path)
    assert [(one.name, one.paid, got) for one, got in zip(told, found, strict=True) if got != one.paid] == []


UNKNOWN = {
    "a special token": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "a token without a name": ("[unused16]", "[unused17]"),
    "a token without a name, in a tag": ("<unused94>", "<unused95>"),
    "a tag with an attribute": ("<think effort='low'>", "</think>"),
    "a tag with a blank": ("<think >", "</think >"),
    "brackets": ("[BEGIN_THINKING]", "[END_THINKING]"),
    "a tag": ("<scratchpad>\n", "\n</scratchpad>\n"),
    "a tag with a prefix": ("<mm:think>", "</mm:think>"),
    "signs of another family's form": ("◁reflect▷", "◁/reflect▷"),
    "a token that names a text": ("<|begin_of_reasoning_text|>", "<|end_of_reasoning_text|>"),
    "wide bars": ("<｜thinking｜>", "<｜/thinking｜>"),
    "the name of a role": ("<|assistant|>thinking\n", "<|assistant|>answer\n"),
}


BEFORE = [
    "<|im_start|>assistant\n",
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "assistant\n",
    "<|eot_id|>",
    "<｜Assistant｜>",
]


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("opens", ["<think>", "[THINK]", "◁think▷", "<|channel|>analysis<|message|>"])
def test_what_a_tokenizer_leaves_before_reasoning_hides_no_mark_of_it(before: str, opens: str) -> None:
    assert without_thinking(f"{before}{opens}I draft: \\boxed{{72}}\nBut").fault.startswith("cut-in-reasoning: ")
    assert without_thinking(f"{before}\\boxed{{72}}").answer.endswith("\\boxed{72}")


AMID = ["Okay.\n", "\u200b", "So:\n\n \u2060", "Assistant: ", "AI Bot:\n", "```\n1\n```\n"]


@pytest.mark.parametrize("before", AMID)
@pytest.mark.parametrize("opens", ["<think>", "[THINK]", "<thought>", "◁think▷", "<|channel|>analysis", "<scratchpad>"])
def test_marks_that_begin_a_line_of_an_answer_begin_reasoning(before: str, opens: str) -> None:
    for draft in (f"{opens}I draft \\boxed{{72}} but", f"{opens}\n\\boxed{{72}}"):
        assert without_thinking(before + draft).fault
    if before != "```\n1\n```\n" and not before.isspace():
        fenced = f"{before}\n```\n{opens}\n```\n\\boxed{{72}}"
        assert without_thinking(fenced)[:3] == (fenced, None, "")


@pytest.mark.parametrize("name", ["plan", "internal", "Draft-1", "x:notes"])
def test_a_tag_that_begins_a_text_and_is_never_closed_is_told(name: str) -> None:
    assert without_thinking(f"<{name}>so \\boxed{{72}}").fault.startswith("other-reasoning: ")
    for whole in (f"<{name}>so</{name}>\\boxed{{72}}", "<answer>\\boxed{72}", "[rationale](a) \\boxed{72}", "<1, 2>"):
        assert without_thinking(whole)[:3] == (whole, None, "")


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_family_that_is_not_known_is_refused_and_told(name: str) -> None:
    opens, closes = UNKNOWN[name]
    for text in (f"{opens}It is \\boxed{{72}}", f"{opens}hm{closes}\\boxed{{72}}", f"{opens}\\boxed{{72}}{closes}"):
        thought = without_thinking(text)
        assert not thought.answer
        assert thought.fault.startswith("other-reasoning: ")
        assert opens.strip().removeprefix("<|assistant|>") in thought.fault
        assert without_thinking(text, "none").answer == text


@pytest.mark.parametrize("name", FAMILIES)
def test_a_text_that_begins_with_marks_of_another_family_is_refused(name: str) -> None:
    other = "kimi" if FAMILIES[name].form != "kimi" else "seed"
    text, _ = probes(FAMILIES[name], "72", "72", "72")["final"]
    known = name == "gpt-oss, special tokens left out" or not FAMILIES[name].before
    assert bool(without_thinking(text, other).fault) != known


ORDINARY = [
    "72",
    "<answer>72</answer>",
    '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    "<|im_start|>assistant\n72",
    "[1, 2]",
    "<ul><li>72</li></ul>",
    '<|python_tag|>f(1)',
    "<｜tool▁calls▁begin｜>f",
    "# Thinking\n72",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_a_reply_without_reasoning_is_its_answer(text: str) -> None:
    assert without_thinking(text)[:3] == (text, None, "")


PIECES = ["a", "\n", "b ", "```\n", "<|im_end|>", "'"]
MARKS = {
    name: (one.before.strip(), one.between.strip().partition("\n")[0])
    for name, one in FAMILIES.items()
    if one.before not in ("", "analysis")
}


@pytest.mark.parametrize("name", MARKS)
@given(data=st.data())
def test_what_is_paid_never_lies_before_the_last_closing_mark(name: str, data: st.DataObject) -> None:
    opens, closes = MARKS[name]
    parts = data.draw(st.lists(st.sampled_from([*PIECES, f"\n{opens}\n", closes]), max_size=20))
    text = "".join(f"{part}{number}" if part in ("a", "b ") else part for number, part in enumerate(parts))
    form = FAMILIES[name].form
    if "'" in text or (form == "think" and "```" in text):
        return  # tags of `think` in quotes and fences may be data
    thought = without_thinking(text, form)
    answer = "" if thought.fault else thought.answer
    behind = text.rpartition(closes)[2]
    assert answer.strip() in (behind if closes in text else text)
    assert f"\n{opens}\n" not in behind or not answer.strip()


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("auto", "none")])
def test_reasoning_that_is_opened_beforehand_must_be_closed(form: str) -> None:
    form = form if form.endswith("-prefilled") or form == "harmony" else f"{form}-prefilled"
    assert without_thinking("It is \\boxed{72}", form).fault.startswith("cut-in-reasoning: ")
    assert not without_thinking("", form).answer


def test_a_call_in_xml_ends_reasoning_and_a_call_to_functions_is_no_final_answer(sandbox: Sandbox) -> None:
    call = "<tool_call>\n<function=f>\n<parameter=x>\n72\n</parameter>\n</function>\n</tool_call>"
    for form, text in (("think", f"<think>\nhm\n{call}"), ("think-prefilled", f"hm\n{call}")):
        assert without_thinking(text, form)[:2] == (call, "hm")
    act = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 72}<|call|>'
    text = f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant{act}"
    thought = without_thinking(text, "harmony")
    assert thought.answer == act.removesuffix("<|call|>") or thought.answer == act
    assert not thought.fault
    task = ALL[0].task
    assert evosyn.reward([task, task], [text, f"<think>\\boxed{{72}}{call}"], sandbox=sandbox) == [0.0, 0.0]


PROMPTS = {
    "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n<think>\n": "think-prefilled",
    "<|im_start|>assistant\n<think>\n\n</think>\n\n": "none",
    "<|im_start|>assistant\n": "auto",
    "<seed:bos>assistant\n<seed:think>": "seed-prefilled",
    "<|turn>model\n<|channel>thought\n<channel|>": "none",
    "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>": "none",
    "<bos>◁think▷": "kimi-prefilled",
    "[|assistant|]<thought>\n": "thought-prefilled",
    "Use <think> tags.\n<|assistant|>\n": "auto",
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_end_of_a_rendered_prompt_says_the_form_of_replies(prompt: str) -> None:
    assert form_of_prompt(prompt) == PROMPTS[prompt]


def test_a_template_of_one_family_names_it() -> None:
    assert form_of_prompt("<|start|>assistant", "{{'<|channel|>final<|message|>'}}") == "harmony"
    assert form_of_prompt("[/INST]", "{{'[THINK]' + x + '[/THINK]'}}") == "mistral"
    assert form_of_prompt("<|im_start|>assistant\n", "{{'<think>' + x}}") == "auto"


def test_an_unknown_form_is_refused_with_the_nearest_names(sandbox: Sandbox) -> None:
    with pytest.raises(UsageError, match=r"reward: reasoning: 'harmon' .*harmony"):
        evosyn.reward([], [], sandbox=sandbox, reasoning="harmon")
    with pytest.raises(UsageError, match=r"task: 'thinks' is no form of reasoning.*think"):
        task_from_json({**task_to_json(ALL[0].task), "reasoning": "thinks"})
    for name in ("harmony-prefilled", "seed_prefilled", 3):  # of harmony no template opens reasoning
        with pytest.raises(UsageError, match=r"reward: reasoning: '.*' is no form"):
            evosyn.reward([], [], sandbox=sandbox, reasoning=name)  # type: ignore[arg-type]


def test_an_export_names_the_form_in_its_tasks(tmp_path: Path) -> None:
    sample = posed("math-answer", 0).sample
    task = task_from_json(task_column(sample, Target(tmp_path, "rows", reasoning="harmony")))
    assert task.reasoning == "harmony"


@pytest.mark.parametrize("form", ["auto", *KNOWN])
def test_the_work_for_a_text_is_linear_in_its_length(form: str) -> None:
    for shape in ("<think>", "</think>", "<|channel|>", "<|", "[THINK]", "◁think▷", "Here's ", " a\n", "<tool_call>\n"):
        began = time.thread_time()
        without_thinking(shape * (1_000_000 // len(shape)), form)
        assert time.thread_time() - began < 10, shape


WORDS = {1: "[THINK]", 2: "[/THINK]", 3: "</s>", 4: "a", 5: "b"}


class Tokens:
    """What is asked of a tokenizer: marks of Magistral are its special tokens 1 and 2, its end is 3."""

    chat_template = "{{'[THINK]'}}"

    def __init__(self, *special: int) -> None:
        self.added_tokens_decoder = {at: SimpleNamespace(content=WORDS[at], special=True) for at in special}

    def apply_chat_template(self, turns: Sequence[Json], **how: object) -> str:  # noqa: ARG002
        return f"[INST]{turns[0]['content']}[/INST]"

    def batch_decode(self, rows: Sequence[Sequence[int]], *, skip_special_tokens: bool) -> list[str]:
        kept = [[one for one in row if one > 3 or not skip_special_tokens] for row in rows]
        return ["".join(WORDS[one] for one in row) for row in kept]


def test_marks_that_are_special_tokens_stay_in_completions() -> None:
    assert completion_texts(Tokens(1, 2, 3), [[1, 4, 2, 5, 3, 3], [1, 4]]) == ["[THINK]a[/THINK]b", "[THINK]a"]
    assert completion_texts(Tokens(3), [[4, 5, 3]]) == ["ab"]


def test_a_named_form_stands_above_the_template_and_harmony_needs_channels(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert reasoning_of(Tokens(), "m") == "mistral"
    assert reasoning_of(Tokens(), "m", "none") == "none"
    assert not caplog.records
    assert reasoning_of(Tokens(), "m", "harmony") == "harmony"
    assert "no channels" in caplog.text
