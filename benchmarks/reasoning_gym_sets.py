"""Which of reasoning-gym's own data sets the ladder's fifth rung finds at fault. Figures, not assertions.

    python benchmarks/reasoning_gym_sets.py [--seed 1] [--seconds 60] [NAME...]

It needs `pip install reasoning-gym==0.1.25`, beside evosyn in an environment that is thrown away. Of each set 40
instances are drawn; what is tried on its `score_answer` is what `evosyn env check` tries on a verifier, with the
thresholds for verifiers that accept several answers, since the sets do not say which do. A set that takes more
processor seconds than that, or gives no answer, is counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import random
import resource
import warnings
from collections import Counter
from collections.abc import Sequence
from multiprocessing.connection import Connection

from reasoning_gym.factory import DATASETS, create_dataset

from evosyn.environments.contract import Environment
from evosyn.environments.ladder import tried
from evosyn.environments.runner import MadeInstance, Verified, Worth

INSTANCES = 40
KNOWN = ("coin_flip", "game_of_life_halting", "string_insertion")
"""Sets whose faults were found by hand before."""
NO_ANSWER, SLOW = "no answer", "too slow"


def judged(name: str, seed: int) -> str:
    """Why a set is at fault; "" where it is not."""
    drawn = create_dataset(name, size=INSTANCES, seed=seed)
    entries = [drawn[at] for at in range(INSTANCES)]
    if not all(isinstance(entry["answer"], str) and entry["answer"] for entry in entries):
        return NO_ANSWER

    def verify(_: Environment, pairs: Sequence[tuple[MadeInstance, str]]) -> list[Verified]:
        return [worth(made.instance, text) for made, text in pairs]

    def worth(at: int, text: str) -> Verified:
        random.seed(0)
        try:
            return Worth(float(drawn.score_answer(text, entries[at])))
        except Exception as error:  # noqa: BLE001 - whatever a verifier raises counts as 0
            return Worth(0.0, type(error).__name__)

    environment = Environment("", name, "other", "feasible", {}, solves=False)
    instances = [(MadeInstance(at, None, ""), entry["question"], entry["answer"]) for at, entry in enumerate(entries)]
    return tried(environment, instances, verify, verify).reason


def _apart(to: Connection, name: str, seed: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):  # some of the sets talk
        to.send(judged(name, seed))


def in_a_process(name: str, seed: int, seconds: int) -> str:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_apart, args=(theirs, name, seed, seconds))
    child.start()
    theirs.close()
    try:
        return str(ours.recv())
    except EOFError:
        child.join()
        return SLOW if child.exitcode in (-24, -9) else f"failed: {child.exitcode}"
    finally:
        child.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="all but `composite`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60)
    asked = parser.parse_args()
    found = {}
    for name in asked.names or sorted(set(DATASETS) - {"composite"}):
        found[name] = in_a_process(name, asked.seed, asked.seconds)
        if found[name]:
            print(f"{name}: {found[name]}", flush=True)
    apart = Counter(one for one in found.values() if one in (NO_ANSWER, SLOW) or one.startswith("failed"))
    flagged = [name for name, reason in found.items() if reason and reason not in apart]
    print(f"{len(found)} sets, {len(found) - apart.total()} judged ({dict(apart)}); {len(flagged)} at fault")
    print(f"known faults found: {[one for one in KNOWN if one in flagged]} of {list(KNOWN)}; "
          f"further: {[one for one in flagged if one not in KNOWN]}")  # fmt: skip


if __name__ == "__main__":
    main()
