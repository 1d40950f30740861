"""A model behind an endpoint works in a room: rounds, hints, cuts, both dialects, and a run that is killed."""

import asyncio
import json
import threading
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from simulation.scripted_server import Refusal, ScriptedServer

from evosyn.agents.dialects import CUT, HINT, LONGEST_SEEN, read_action
from evosyn.configs.sampling import SamplingConfig
from evosyn.errors import SandboxUnavailable, TeacherUnavailable
from evosyn.synthesis.generate import Want, drawn_pools
from evosyn.trajectories import trajectory_of
from evosyn.workbench import AgentConfig, TeacherConfig, Workbench, WorkbenchConfig


def bash(script):
    return f"I look.\n\nAct: bash\n\n```bash\n{script}\n```"


def says(*turns):
    """The n-th turn of an episode, by what the chat has already."""

    def reply(body, _times):
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return turns[min(turn, len(turns) - 1)]

    return reply


def episodes(problem, server_url, out=None, *, many=1, dialect="text", agent=None):
    """Solutions that were drawn, with all attempts."""
    teacher = TeacherConfig(model="openai/scripted", base_url=server_url, api_key_env="PATH", retries=0)
    config = WorkbenchConfig(teacher=teacher, agent=AgentConfig(**(agent or {"dialect": dialect})))
    drawn = []

    async def main(bench):
        opened = bench.teacher()
        want = Want(many, 0, actors=bench.actors([problem]))
        try:
            await drawn_pools(
                [problem], opened, bench.domains, want, SamplingConfig(attempts=1), lambda _, one: drawn.append(one)
            )
        finally:
            await opened.aclose()

    with Workbench(config, out=out) as bench:
        asyncio.run(main(bench))
    return drawn[0]


def run_of(problem, *turns):
    with ScriptedServer(says(*turns)) as server:
        drawn = episodes(problem, server.base_url)
    return trajectory_of(drawn.pool.solutions[0].text)


def test_an_agent_sees_what_its_commands_print_and_answers(problem):
    run = run_of(problem, bash("cd /root/d && ls -A"), bash("pwd; ls -A | wc -l"), "Act: answer(2)")
    assert [(call.tool, call.out, call.status) for call in run.calls] == [
        ("bash", ".b\na", 0), ("bash", "/root/d\n2", 0), ("answer", None, None)]  # fmt: skip
    assert (run.end, run.answer) == ("answer", "2") and run.state.startswith("st_")
    assert run.calls[0].say == "I look."


def test_a_reply_without_an_action_costs_a_round_and_two_in_a_row_end_it(problem):
    assert run_of(problem, "Hm.", bash("true"), "Hm.", "Act: finish").end == "finish"
    run = run_of(problem, bash("true"), "Hm.", "Hm.")
    assert (run.end, len(run.calls), run.state) == ("protocol", 1, None)
    assert run_of(problem, bash("true")).end == "limit"


def test_long_output_is_cut_and_a_shell_that_ended_is_told(problem):
    run = run_of(problem, bash("seq 1000"), bash("exit 3"), bash("echo well"), "Act: finish")
    assert len(run.calls[0].out) <= LONGEST_SEEN + len(CUT) and run.calls[0].out.endswith(CUT)
    assert "new one" in run.calls[1].out and run.calls[2].out == "well"


def test_the_chat_holds_what_was_said_and_shown(problem):
    bodies = []

    def reply(body, times):
        bodies.append(body["messages"])
        return says("Hm.", bash("echo hello"), "Act: finish")(body, times)

    with ScriptedServer(reply) as server:
        episodes(problem, server.base_url)
    assert [message["role"] for message in bodies[-1]] == ["user", "assistant", "user", "assistant", "user"]
    assert bodies[-1][2]["content"] == HINT and bodies[-1][4]["content"].endswith("hello")
    assert problem.statement in bodies[0][0]["content"] and "4 replies" in bodies[0][0]["content"]


def test_a_killed_run_pays_nothing_twice_and_rebuilds_its_room(problem, tmp_path):
    """The endpoint dies at the third turn; what the room said differs each time, so it must be what was kept."""
    turns = says(bash("date +%N > /root/n; cat /root/n"), bash("echo x >> /root/n; wc -l < /root/n"), "Act: finish")

    def dies(body):
        return Refusal(500) if sum(one["role"] == "assistant" for one in body["messages"]) == 2 else None

    with ScriptedServer(turns, refuse=[dies]) as server, suppress(TeacherUnavailable):
        assert not episodes(problem, server.base_url, tmp_path).pool.solutions
    with ScriptedServer(turns) as server:
        drawn = episodes(problem, server.base_url, tmp_path)
        assert server.counts.requests == 1
    (solution,) = drawn.pool.solutions
    run = trajectory_of(solution.text)
    assert run.calls[1].out == "2" and run.state
    assert solution.provenance.detail["replay"] == "drift"
    with ScriptedServer(turns) as server:
        again = episodes(problem, server.base_url, tmp_path)
        assert server.counts.requests == 0
    assert again.pool.solutions[0].text == solution.text


class _Native(BaseHTTPRequestHandler):
    """An endpoint with function calling: a command, then the answer that stands in the tool's message."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        last = body["messages"][-1]
        name, arguments = (
            ("answer", {"answer": last["content"]})
            if last["role"] == "tool"
            else ("bash", {"script": "ls -A /root/d | wc -l"})
        )
        call = {"id": "x", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        found = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_):
        pass


def test_function_calling_is_spoken_with_an_endpoint_that_has_it(problem):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Native)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        drawn = episodes(problem, f"http://127.0.0.1:{server.server_port}/v1", dialect="tools")
    finally:
        server.shutdown()
        server.server_close()
    run = trajectory_of(drawn.pool.solutions[0].text)
    assert (run.answer, run.calls[0].out) == ("2", "2")
    said, shown = server.bodies[-1]["messages"][-2:]
    assert said["tool_calls"][0]["id"] == shown["tool_call_id"]
    assert [tool["function"]["name"] for tool in server.bodies[0]["tools"]] == ["bash", "answer", "finish"]


def test_an_image_that_is_not_here_is_named_before_anybody_is_asked(problem):
    world = {**problem.payload["world"], "image": "debos-of-nobody"}
    with ScriptedServer(says("Act: finish")) as server:
        with pytest.raises(SandboxUnavailable, match="build-image --os --name debos-of-nobody"):
            episodes(replace(problem, payload={**problem.payload, "world": world}), server.base_url)
        assert server.counts.requests == 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Act: bash\n```bash\nls\n```\nAct: answer(3)", ("bash", "ls")),
        ("Act: answer(a (b) c)", ("answer", "a (b) c")),
        ("act: Finish", ("finish", "")),
        ("<think>Act: finish</think>Act: answer( 42 )", ("answer", "42")),
        ('<tool_call>{"name": "bash", "arguments": {"script": "id"}}</tool_call>', ("bash", "id")),
        ('<tool_call>{"name": "rm", "arguments": {}}</tool_call>', None),
        ("<function=bash>\n<parameter=script>\nid\n</parameter>\n</function>", ("bash", "id")),
        ('I look.\n{"name": "bash", "parameters": {"script": "id"}}', ("bash", "id")),
        ('Act: bash\n```bash\ncat <<E\n{"name": "finish"}\nE\n```', ("bash", 'cat <<E\n{"name": "finish"}\nE')),
        ("Act: bash\n```bash\necho '<tool_call>\n{{ name }}'\n```", ("bash", "echo '<tool_call>\n{{ name }}'")),
        ('<tool_call>{"name": "bash", "arguments": {"script": "id"}}</tool_call>\nAct: finish', ("bash", "id")),
        ('<tool_call>{"name": "bash", "arguments": {"script": "rm -rf a\nAct: finish\n', None),
        ("Act: answer()", None),
        ("Act: bash\nls", None),
        ("I act.", None),
    ],
)
def test_what_a_reply_does(text, wanted):
    act = read_action(text)
    assert (act and (act.name, *act.arguments.values())) == wanted
