"""Reading replies: arbitrary text never raises, and what was fenced or edited properly is always found."""

from hypothesis import given
from hypothesis import strategies as st

from evosyn.codeblocks import completed, read_program
from evosyn.edits import Edit, apply_edits, extract_edits

NOISE = st.text(alphabet=st.sampled_from("`<>=SEARCHREPLACEpython\n \tdef():x#@+-é"), max_size=200)
LINES = st.lists(st.text(alphabet="abc =+()", max_size=12), min_size=1, max_size=12)


@given(NOISE | st.text(max_size=300), NOISE)
def test_arbitrary_text_never_raises(reply: str, parent: str) -> None:
    found = read_program(reply, [parent], ["rank"])
    assert (found.value is None) == bool(found.reason)
    apply_edits(parent, extract_edits(reply))
    completed(reply, [parent, reply])


@given(st.text(alphabet="abc .,!\n", max_size=80), st.integers(0, 999))
def test_a_fenced_program_is_always_found(prose: str, number: int) -> None:
    program = f"def rank(evidence):\n    return {number}\n"
    assert read_program(f"{prose}\n```python\n{program}```\n{prose}", [""], ["rank"]).value == program


@given(LINES, st.data())
def test_an_edit_of_lines_that_stand_there_always_applies(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    stop = data.draw(st.integers(start + 1, len(lines)))
    search = "\n".join(lines[start:stop]) + "\n"
    edited = apply_edits("\n".join(lines) + "\n", [Edit(search, "new\n")])
    assert edited is not None
    assert (edited.applied, edited.missed) == (1, 0)
    assert "new" in [line.strip() for line in edited.text.splitlines()]


def test_new_versions_in_several_blocks_all_take_the_place_of_the_old_ones() -> None:
    shown = "LIMIT = 3\n\n\ndef helper(x):\n    return x\n\n\ndef rank(evidence):\n    return helper(LIMIT)\n"
    blocks = ["LIMIT = 4", "def helper(x):\n    return x + 1", "def rank(evidence):\n    return helper(2 * LIMIT)"]
    reply = "\n".join(f"So:\n```python\n{block}\n```" for block in blocks[:2])
    assert read_program(reply, [shown], ["rank"]).value == shown.replace("= 3", "= 4").replace(
        "return x", "return x + 1"
    )
    assert read_program(reply, [shown], ["other"]).value == read_program(reply, [shown], ["rank"]).value
    for block in blocks:  # alone it is a new version as well, and what is quoted as it stood changes nothing
        alone = read_program(
            f"Before:\n```python\n{shown.split(chr(10) * 3)[1]}\n```\n```python\n{block}\n```", [shown], []
        )
        assert alone.value is not None and block in alone.value and len(alone.value) < len(shown) + 9
