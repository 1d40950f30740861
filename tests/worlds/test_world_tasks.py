"""Tasks are solvable by construction: chains without keys, distractors that do not disturb, near misses unpaid."""

import json

import pytest
from tool_shop import BUY, rows, shop

from evosyn.jobs import Limits
from evosyn.randomness import SeedTree
from evosyn.sandbox import open_sandbox
from evosyn.worlds.tools.chains import Chain, ChainStep, calls_of
from evosyn.worlds.tools.checking import check_world
from evosyn.worlds.tools.files import bundled, read_graph, read_tasks, read_world
from evosyn.worlds.tools.graph import Edge, ToolGraph, find_graph
from evosyn.worlds.tools.playing import Play, Player
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import TaskPlan, make_tasks, ungrounded

TASKS = [(name, task) for name in bundled() for task in read_tasks(f"builtin:{name}")]


@pytest.fixture(scope="module")
def player():
    with open_sandbox(workers=2) as opened:
        yield Player(opened)


@pytest.mark.parametrize(("name", "task"), TASKS, ids=[f"{name}-{task.index}" for name, task in TASKS])
def test_no_key_is_written_down_in_a_chain_and_all_it_says_is_in_the_instruction(name, task):
    world = read_world(f"builtin:{name}")
    keys = {row[world.table[table].key] for table, listed in task.state.items() for row in listed}
    for number, (tool, args) in enumerate(task.chain):
        for parameter in world.tool[tool].parameters:
            source = args.get(parameter.name, {"say": ""})
            if parameter.ref:
                assert source["from"][0] < number
            else:
                value = source.get("is", source.get("say"))
                assert value not in keys and str(value) in task.instruction
    assert task.misses >= 10 and task.distractors > 0
    used = {one for one, _ in task.chain}
    # as many others as the chain has, where the world has so many that work in the state
    assert used <= set(task.shown) and len(set(task.shown) - used) >= min(len(used), len(world.tools) - len(used) - 1)
    assert not keys & set(task.instruction.replace(".", " ").split())


@pytest.mark.parametrize("name", bundled())
def test_chains_run_and_leave_the_gold_state(player, name):
    tasks, world = read_tasks(f"builtin:{name}"), read_world(f"builtin:{name}")
    plays = [Play(task.state, calls_of([ChainStep(*one) for one in task.chain])) for task in tasks]
    for task, played in zip(tasks, player.play(world, plays), strict=True):
        assert played.smooth and played.rows == task.gold != task.state


def test_no_chain_begins_as_an_earlier_one_is():
    for name in bundled():
        forms = [[ChainStep(*one).form for one in task.chain] for task in read_tasks(f"builtin:{name}")]
        for at, form in enumerate(forms):
            assert not any(earlier[: len(form)] == form for earlier in forms[:at])


def test_no_chain_that_nobody_ran_begins_as_an_earlier_one_is(player):
    world, graph = read_world("builtin:library"), read_graph("builtin:library")
    made = make_tasks(world, graph, player, 12, SeedTree(0), TaskPlan((1,), attempts=12, executed=False))
    forms = [[ChainStep(*one).form for one in task.chain] for task in made.tasks]
    assert made.dropped["chain-known"] and len(forms) > 3
    for at, form in enumerate(forms):
        assert not any(earlier[: len(form)] == form for earlier in forms[:at])
    plays = [Play(task.state, calls_of([ChainStep(*one) for one in task.chain])) for task in made.tasks]
    found = player.play(world, plays)
    fails = {task.id for task, one in zip(made.tasks, found, strict=True) if not one.smooth or one.rows == task.state}
    assert set(made.failing) == fails


def test_a_believed_chain_that_never_ends_counts_as_one_that_fails(player):
    """It is no task, since it leaves nothing; left out of the share, tools that hang would look right."""
    world = shop(BUY.replace("if count < 1", "while count > 2:\n        pass\n    if count < 1"))
    graph = find_graph(shop(), player, SeedTree(0))
    with open_sandbox(workers=2) as opened:
        brief = Player(opened, Limits(cpu_s=0.5))
        made = make_tasks(world, graph, brief, 2, SeedTree(1), TaskPlan((1,), executed=False))
    lost = made.dropped["chain-lost"]
    assert lost and made.failing_share == (len(made.failing) + lost) / (len(made.tasks) + lost) > 0


def test_edges_of_a_graph_stand_on_states_that_show_them():
    graph = read_graph("builtin:library")
    data = {(one.first, one.then, one.parameter) for one in graph.edges if one.kind == "data" and len(one.states) >= 3}
    assert ("search_member", "place_hold", "member_id") in data and ("list_loans", "renew_loan", "loan_id") in data
    assert not any(one.first == "search_member" and one.parameter == "title_id" for one in graph.edges)
    assert "search_member" not in graph.wrote and "renew_loan" in graph.wrote


def test_an_edge_stands_whatever_the_refusal_of_a_stranger_is_called(player):
    given = json.loads(json.dumps(shop(BUY.replace("NotFound", "ItemUnknown")).model_dump(mode="json")))
    given["tools"][1]["raises"][0] = "ItemUnknown"
    graph = find_graph(ToolWorld.model_validate(given), player, SeedTree(0))
    assert ("find_item", "buy", "item_id") in {(one.first, one.then, one.parameter) for one in graph.edges}


def test_density_is_the_share_of_all_pairs_of_tools():
    graph = ToolGraph((Edge("data", "a", "b", "x"), Edge("pre", "a", "b"), Edge("state", "b", "a")), ("a",))
    assert graph.density(2) == 1.0 and graph.density(5) == 2 / 20 and ToolGraph((), ()).density(1) == 0.0


@pytest.mark.parametrize(
    ("sentence", "value", "reason"),
    [
        ("Please pay 37 cents.", 3, "instruction-lacks"),
        ("Please pay 3.5 euros.", 3, "instruction-lacks"),
        ("Please pay 13,5 euros.", 5, "instruction-lacks"),
        ("Please move Annabel.", "Anna", "instruction-lacks"),
        ("Please pay 3.", 3, ""),
        ("Please pay 3.5.", 3.5, ""),
        ("Please move Anna's box (red).", "box (red)", ""),
    ],
)
def test_a_value_is_said_where_it_stands_whole(sentence, value, reason):
    chain = Chain((ChainStep("buy", {"count": {"say": value}}),), (sentence,))
    assert ungrounded(shop(), chain, rows()) == reason


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_seed_gives_the_bundled_bytes_at_any_number_of_workers(workers):
    with open_sandbox(workers=workers) as opened:
        player, world = Player(opened), read_world("builtin:library")
        seeds = SeedTree(0).child("world", world.id)
        graph = find_graph(world, player, seeds)
        made = make_tasks(world, graph, player, 2, seeds).tasks
    assert graph == read_graph("builtin:library")
    assert [json.dumps(one.to_json(), sort_keys=True) for one in made] == [
        json.dumps(one.to_json(), sort_keys=True) for one in read_tasks("builtin:library")[:2]
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", bundled())
def test_a_bundled_world_passes_its_check(player, name):
    found = check_world(f"builtin:{name}", player)
    assert not found.faults and found.misses >= 10 * found.tasks
