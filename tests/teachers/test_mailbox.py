"""A person can answer: files say what they are, empty and unfinished ones are waited for, and nothing is lost."""

import asyncio
import logging
from pathlib import Path

import pytest

from evosyn import registry
from evosyn.chat import Message, Reply, Request
from evosyn.errors import UsageError
from evosyn.ports import TeacherTools
from evosyn.records import Problem

PROBLEM = Problem("HumanEval/26", "python-function", "Remove duplicates.", {"entry_point": "f"})
ASKED = Request(
    (Message("system", "Be short."), Message("user", "Solve it.")), "solution", {"max_tokens": 9}, 3, PROBLEM
)


def mailbox(folder: Path, replies: Path | None = None) -> object:
    return registry.make("teachers", f"mailbox:{folder}", TeacherTools(replies=replies), {"poll_s": 0.02})


async def prompt_in(folder: Path) -> Path:
    while not (found := list(folder.glob("*.prompt.md"))):
        await asyncio.sleep(0.01)
    return found[0]


def test_a_reply_is_read_when_it_holds_text_and_no_longer_changes(tmp_path: Path) -> None:
    async def main() -> Reply:
        waiting = asyncio.create_task(mailbox(tmp_path).complete(ASKED))  # type: ignore[attr-defined]
        prompt = await prompt_in(tmp_path)
        answer = prompt.with_name(prompt.name.replace(".prompt.", ".reply."))
        for text in ("", "\n", "<think>well"):
            answer.write_text(text)
            await asyncio.sleep(0.01)
        for number in range(30):
            with answer.open("a") as file:
                file.write(f"{number} ")
            await asyncio.sleep(0.005)
        answer.write_text("<think>well</think>done")
        return await waiting

    reply = asyncio.run(asyncio.wait_for(main(), 20))
    assert (reply.text, reply.reasoning, reply.failure) == ("done", "well", None)
    assert (reply.input_tokens, reply.output_tokens, reply.estimated, reply.cost) == (5, 6, True, 0.0)


def test_a_prompt_says_what_it_is_and_where_the_answer_belongs(tmp_path: Path) -> None:
    async def main() -> Path:
        waiting = asyncio.create_task(mailbox(tmp_path).complete(ASKED))  # type: ignore[attr-defined]
        prompt = await prompt_in(tmp_path)
        waiting.cancel()
        return prompt

    prompt = asyncio.run(asyncio.wait_for(main(), 20))
    assert prompt.name.startswith("HumanEval-26.solution-003.r_")
    text = prompt.read_text()
    assert prompt.name.replace(".prompt.", ".reply.") in text.splitlines()[0]
    assert text.index("<!-- system -->\nBe short.") < text.index("<!-- user -->\nSolve it.")
    assert "reply.md" in (tmp_path / "README.md").read_text()


def test_a_readme_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "README.md", tmp_path / "EVOSYN-MAILBOX.md"
    theirs.write_bytes(b"# My thesis\xff\n")
    mailbox(tmp_path)
    mailbox(tmp_path)
    assert theirs.read_bytes() == b"# My thesis\xff\n" and "reply.md" in ours.read_text()
    ours.write_text("mine as well")
    with pytest.raises(UsageError, match="files of something else; name another folder"):
        mailbox(tmp_path)
    assert ours.read_text() == "mine as well"


def test_a_guide_of_an_earlier_version_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# A mailbox of evosyn\n\nold words\n")
    mailbox(tmp_path)
    assert "old words" not in (tmp_path / "README.md").read_text()
    assert not (tmp_path / "EVOSYN-MAILBOX.md").exists()


def test_what_was_answered_is_kept_with_the_run_and_the_folder_can_go(tmp_path: Path) -> None:
    async def main(folder: Path, *, answer: bool) -> str:
        teacher = mailbox(folder, tmp_path / "replies.sqlite")
        waiting = asyncio.create_task(teacher.complete(ASKED))  # type: ignore[attr-defined]
        if answer:
            prompt = await prompt_in(folder)
            prompt.with_name(prompt.name.replace(".prompt.", ".reply.")).write_text("by hand")
        reply = await waiting
        await teacher.aclose()  # type: ignore[attr-defined]
        return str(reply.text)

    assert asyncio.run(asyncio.wait_for(main(tmp_path / "a", answer=True), 20)) == "by hand"
    assert asyncio.run(asyncio.wait_for(main(tmp_path / "b", answer=False), 20)) == "by hand"
    assert not list((tmp_path / "b").glob("*.prompt.md"))


def test_a_run_says_that_it_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        teacher = mailbox(tmp_path)
        asked = [Request((Message("user", "q"),), "solution", sample=number) for number in range(4)]
        waiting = [asyncio.create_task(teacher.complete(one)) for one in asked]  # type: ignore[attr-defined]
        while len(list(tmp_path.glob("*.prompt.md"))) < 4 or not caplog.records:
            await asyncio.sleep(0.01)
        for one in waiting:
            one.cancel()

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(main(), 20))
    assert f"4 prompts wait for replies in {tmp_path}" in caplog.text
