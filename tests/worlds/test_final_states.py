"""The reward: a final state is the gold one or it is not, whatever its rows and new keys are called."""

import copy
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tool_shop import rows, shop

from evosyn.worlds.tools.diff import close, differences, similar
from evosyn.worlds.tools.files import bundled, read_tasks, read_world

WORLD = shop()


def gold(*sales, **item):
    """The first state, with sales (item, count, note), and a change of the first item."""
    state = rows()
    state["item"][0].update(item)
    for number, (item_id, count, note) in enumerate(sales, 5):
        state["sale"].append(
            {"sale_id": f"S{number:04d}", "item_id": item_id, "count": count, "note": note, "at": "2026-01-05T10:00:00"}
        )
    return state


GOLD = gold(("I1000", 2, "for the window seat"), ("I1002", 1, ""), stock=7)


@pytest.mark.parametrize(
    ("final", "name"),
    [
        (GOLD, ""),
        (gold(("I1002", 1, ""), ("I1000", 2, "for the window seat"), stock=7), ""),
        (gold(("I1000", 2, "For the window-seat."), ("I1002", 1, ""), stock=7), ""),
        (gold(("I1000", 2, "for the back seat row"), ("I1002", 1, ""), stock=7), "unmatched"),
        (gold(("I1000", 2, "for the window seat"), stock=7), "count"),
        (gold(("I1000", 3, "for the window seat"), ("I1002", 1, ""), stock=7), "new-row"),
        (gold(("I1001", 2, "for the window seat"), ("I1002", 1, ""), stock=7), "new-row"),
        (gold(("I1000", 2, "for the window seat"), ("I1002", 1, ""), stock=6), "value"),
        (gold(("I1000", 2, "for the window seat"), ("I1002", 1, ""), stock=7, kind="tool"), "collateral"),
        (rows(), "value"),
    ],
)
def test_a_final_state_is_the_gold_one_by_the_policies_of_its_columns(final, name):
    found = differences(WORLD, rows(), GOLD, final)
    assert (found[0].partition(":")[0] if found else "") == name


def test_texts_that_cost_much_are_not_compared_without_end():
    gold = {
        **rows(),
        "sale": [{**rows()["sale"][0], "sale_id": f"S{at:04d}", "note": f"{'ab' * 900} {at}"} for at in range(300)],
    }
    final = {**gold, "sale": [{**one, "note": one["note"].replace("ab", "ba", 880)} for one in gold["sale"]]}
    began = time.process_time()
    found = differences(WORLD, {**gold, "sale": [{**one, "note": None} for one in gold["sale"]]}, gold, final)
    assert len(found) == 300 and time.process_time() - began < 5


def test_what_is_exempt_or_of_the_clock_does_not_count():
    final = copy.deepcopy(GOLD)
    for number, row in enumerate(final["sale"][1:]):
        row.update(sale_id=f"S9{number:03d}", at="2026-01-05T11:30:00")
    assert not differences(WORLD, rows(), GOLD, final)


def test_hard_cells_of_new_rows_are_equal_by_the_rules_of_old_ones():
    world = shop()
    for column, want, got, equal in [
        ({"policy": "hard"}, "caf\u00e9", "cafe\u0301", True),
        ({"policy": "hard"}, "caf\u00e9", "cafe", False),
        ({"type": "timestamp", "policy": "hard"}, "2026-01-05T10:00:00", "2026-01-05T10:00:00.250", True),
        ({"type": "timestamp", "policy": "hard"}, "2026-01-05T10:00:00", "2026-01-05T10:00:01", False),
        ({"type": "number"}, 5, 5.0, True),
        ({"type": "number"}, 5, 6.0, False),
    ]:
        given = world.model_dump()
        given["tables"][0]["columns"][3].update(column)
        kept = [given["tables"][0]["columns"][3], given["tables"][0]["columns"][0]]
        given = {**given, "tables": [{**given["tables"][0], "columns": kept[::-1], "called": "x"}], "tools": [
            {"name": "look", "description": "Looks."}]}  # fmt: skip
        small = type(world).model_validate(given)
        new, old = [[{"sale_id": "S1", "note": one}] for one in (want, got)]
        assert (not differences(small, {"sale": []}, {"sale": new}, {"sale": old})) is equal, (column, got)
        assert (
            not differences(small, {"sale": [{"sale_id": "S1", "note": None}]}, {"sale": new}, {"sale": old})
        ) is equal


def test_a_deleted_row_counts():
    final = copy.deepcopy(GOLD)
    final["sale"] = final["sale"][1:]
    assert differences(WORLD, rows(), GOLD, final)[0].startswith("deleted")


def test_new_rows_are_matched_with_those_that_belong_to_them():
    """Two new parents that look alike, with children that do not: only one matching is right."""
    library = read_world("builtin:library")
    first = {table.name: [] for table in library.tables}
    first["member"] = [{"member_id": "M1", "name": "Ada", "status": "active"}]

    def state(order):
        made = copy.deepcopy(first)
        for number, title in enumerate(order):
            made["title"].append({"title_id": f"T{number}", "name": "Same", "author": "Same"})
            made["copy"].append(
                {"copy_id": f"C{number}", "title_id": f"T{number}", "shelf": title, "status": "available"}
            )
        return made

    assert not differences(library, first, state(["A1", "B2", "C3"]), state(["C3", "A1", "B2"]))
    assert differences(library, first, state(["A1", "B2", "C3"]), state(["A1", "B2", "B2"]))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [("Left at the door.", "left at the DOOR", True), ("", "", True), ("a", "", False), (None, "", True),
     ("call room 5", "call room 6", False), ("please call before noon", "please call me before noon", True),
     ("handle with care", "paid in cash", False), ("pay 3.5 now", "pay 5.3 now", False), ("pay -5", "pay 5", False),
     ("pay \u22125", "pay 5", False), ("room 4 for 2", "room 2 for 4", False), ("room-4 for 2", "room 4 for 2", True),
     ("at ２ pm", "at 2 pm", True), ("1.", "1", True), ("x " * 1500 + "7", "x " * 1500 + "8", False),
     ("\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}", False), ("\N{THUMBS UP SIGN}", "", False), ("!", "?", False), ("ok!", "ok", True),
     ("not asked for it in writing", "asked for it in writing", False), ("don\u2019t ring the bell", "do not ring the bell", True),
     ("she cannot come before the tenth of May", "she can come before the tenth of May", False),
     ("please hand all of it over to Mira Hansen", "please hand all of it over to Mira Hanson", False),
     ("Ada Adler pays for Ben Bauer", "Ben Bauer pays for Ada Adler", False), ("two of the boxes are dented", "ten of the boxes are dented", False),
     ("left at the front door of the house", "left at the back door of the house", False), ("the cover is torn", "Cover torn", True),
     ("call him before noon on any day", "call him after noon on any day", False), ("5% off", "5 off", False), ("$5", "\u20ac5", False),
     ("open 8 am", "open 8", False), ("move to room A", "move to room", False), ("a grade A paper", "grade paper", False),
     ("you owe me", "I owe you", False), ("it will be delivered", "it was delivered", False), ("our bill", "your bill", False),
     ("leave it here", "leave it there", False), ("at 10:30", "at 10 30", False), ("ring a bell", "ring the bell", True),
     ("ok \N{THUMBS UP SIGN}", "ok \N{THUMBS DOWN SIGN}", False), ("the", "a", False), ("collect it tomorow", "collect it tomorrow", False)],
)  # fmt: skip
def test_texts_count_by_their_words_and_numbers(one, other, alike):
    assert similar(one, other) is similar(other, one) is alike


INF = float("inf")


@pytest.mark.parametrize(
    ("gold", "final", "same"),
    [(8.5, INF, False), (8.5, -INF, False), (INF, INF, True), (INF, -INF, False), (1.0, float("nan"), False), (10**400, 1.5, False),
     (10**400, 10**400, True), (1e308, -1e308, False), (5, 5.0, True), (0.1 + 0.2, 0.3, True), (1e20, 1e20 + 1e10, True)],
)  # fmt: skip
def test_a_number_without_end_is_no_other_number(gold, final, same):
    assert close(gold, final) is close(final, gold) is same


TASKS = [(read_world(f"builtin:{name}"), task) for name in bundled() for task in read_tasks(f"builtin:{name}")]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TASKS), st.randoms(use_true_random=False))
def test_row_order_and_new_keys_never_count_and_every_hard_cell_of_a_changed_row_does(pair, rng):
    world, task = pair
    shuffled = {name: rng.sample(listed, len(listed)) for name, listed in task.gold.items()}
    assert not differences(world, task.state, task.gold, renamed(world, task, shuffled))
    wrong = spoilt(world, task, rng)
    if wrong is not None:
        assert differences(world, task.state, task.gold, wrong)


def renamed(world, task, final):
    """The same with other keys for new rows."""
    known = {name: {row[world.table[name].key] for row in listed} for name, listed in task.state.items()}
    names = {
        (name, row[world.table[name].key]): f"{world.table[name].prefix}77{number:05d}"
        for name, listed in final.items()
        for number, row in enumerate(listed)
        if row[world.table[name].key] not in known[name]
    }
    made = copy.deepcopy(final)
    for name, listed in made.items():
        for row in listed:
            for at, column in enumerate(world.table[name].columns):
                table = name if at == 0 else column.references
                row[column.name] = names.get((table, row[column.name]), row[column.name])
    return made


def spoilt(world, task, rng: random.Random):
    """The gold state with one hard cell of a changed or new row changed; None where there is none."""
    cells = []
    for name, listed in task.gold.items():
        old = {row[world.table[name].key]: row for row in task.state[name]}
        for at, row in enumerate(listed):
            if old.get(row[world.table[name].key]) != row:
                columns = world.table[name].columns[1:]
                cells += [
                    (name, at, one) for one in columns if world.table[name].policy(one) == "hard" and not one.references
                ]
    if not cells:
        return None
    name, at, column = rng.choice(cells)
    wrong = copy.deepcopy(task.gold)
    value = wrong[name][at][column.name]
    wrong[name][at][column.name] = value + 1 if isinstance(value, int) else "something else"
    return wrong
