"""The drawing of pools against a plain client: the same requests, one after the other at the same llama-server.

    PYTHONPATH=. python benchmarks/real_speed.py --seeds SEEDS --model openai/NAME --base-url URL
                                                 [--problems 16] [--at-once 16]

Tokens a second of both, their ratio, and the tokens of prompts that the server computed a reply, by its own count: what
the beginnings of prompts that it still holds save. The plain client sends what the drawing sent, in that order, so many
at once as the server has slots; nothing else may run on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import ClientSession, ClientTimeout, TCPConnector
from real_prompts import draw

from evosyn.configs.loading import load_config
from evosyn.records import Json
from evosyn.workbench import Workbench, WorkbenchConfig
from tests.real.meter import Meter
from tests.real.server import counted


def plain(base_url: str, bodies: Sequence[Mapping[str, Any]], at_once: int) -> None:
    """aiohttp and a semaphore."""

    async def every() -> None:
        gate = asyncio.Semaphore(at_once)

        async def one(session: ClientSession, body: Mapping[str, Any]) -> None:
            async with gate, session.post(f"{base_url}/chat/completions", json=body) as answer:
                answer.raise_for_status()
                await answer.read()

        async with ClientSession(timeout=ClientTimeout(total=None), connector=TCPConnector(limit=0)) as session:
            await asyncio.gather(*(one(session, body) for body in bodies))

    asyncio.run(every())


def measured(meter: Meter, server: str, work: Callable[[], object]) -> dict[str, Json]:
    """What the server gave while something asked it through the meter."""
    first, before, began = len(meter.answered), counted(server), time.monotonic()
    work()
    seconds, after, replies = time.monotonic() - began, counted(server), meter.answered[first:]
    computed, count = after["prompt_tokens_total"] - before["prompt_tokens_total"], len(replies)
    return {
        "replies": count,
        "seconds": round(seconds, 1),
        "tokens_per_s": round(sum(one.output_tokens for one in replies) / seconds, 2),
        "prompt_tokens_a_reply": round(sum(one.input_tokens for one in replies) / count, 1),
        "computed_prompt_tokens_a_reply": round(computed / count, 1),
    }


def compared(meter: Meter, given: argparse.Namespace) -> dict[str, Json]:
    """A drawing, then its requests by the plain client."""
    asked = {"teacher.model": given.model, "teacher.base_url": meter.base_url}
    first = len(meter.answered)
    with Workbench(load_config(WorkbenchConfig, flags=asked)) as workbench:
        ours = measured(meter, given.base_url, lambda: draw(given.seeds, given.set, workbench, given.problems))
    bodies = [one.body for one in meter.answered[first:]]
    theirs = measured(meter, given.base_url, lambda: plain(meter.base_url, bodies, given.at_once))
    return {"ours": ours, "plain": theirs, "ratio": round(ours["tokens_per_s"] / theirs["tokens_per_s"], 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--problems", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the drawing")
    given = parser.parse_args()
    with Meter(given.base_url) as meter:
        print(json.dumps(compared(meter, given), indent=1))


if __name__ == "__main__":
    main()
