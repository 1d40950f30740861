"""The recording that comes with evosyn: the commands of `evosyn quickstart`, answered by a real model, and exported.

`python -m tests.real.record make RUN` serves the model and goes on where RUN stands, for hours on two idle cores;
`export RUN` exports what is there of a run that has not ended; `check` sees that prompts are as they were recorded.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

import evosyn
from evosyn.cli.quickstart import ENDED, EVOLVE, SYNTHESIZE
from evosyn.teachers.recordings import Recording, prompts_digest
from tests.real.server import LlamaServer
from tests.real.weights import MODELS

NAME, MODEL = "quickstart", "qwen-1.5b"
BUNDLED = Path(evosyn.__file__).parent / "builtin" / "replies"
MOST_BYTES = 1_500_000


def make(run: Path, base_url: str) -> None:
    """Ask for everything that RUN lacks, of a server that holds these weights."""
    if not base_url:
        with LlamaServer(MODEL) as served:
            return make(run, served.base_url)
    asked = f"--model openai/{MODELS[MODEL].name.split()[0].lower()} --base-url {base_url}"
    for line in (EVOLVE, SYNTHESIZE):
        _evosyn(run, *shlex.split(line.format(asked=asked))[1:])
    return None


def export(run: Path) -> None:
    out = BUNDLED / f"{NAME}.jsonl.gz"
    out.parent.mkdir(exist_ok=True)
    runs = [name for name in (f"runs/{NAME}", f"data/{NAME}") if (run / name).is_dir()]
    told = ("--weights", MODELS[MODEL].name, "--licence", MODELS[MODEL].licence)
    _evosyn(run, "export", "replies", *runs, "--out", str(out), *told)
    if (size := out.stat().st_size) > MOST_BYTES:
        raise SystemExit(
            f"{out}: {size:,} bytes, {MOST_BYTES:,} are allowed; take smaller sizes in `evosyn quickstart`"
        )
    print(f"{out}: {size:,} bytes")


def check() -> None:
    """
    Raises:
        SystemExit: a recording was made with other prompts than evosyn has.
    """
    found = sorted(BUNDLED.glob("*.jsonl.gz"))
    print(f"{len(found)} recordings come with evosyn")
    for path in found:
        head = Recording(path).head
        if head.prompts != prompts_digest():
            again = "record it again with `make recording`"
            raise SystemExit(f"{path}: recorded with prompts {head.prompts}, these are {prompts_digest()}; {again}")
        print(f"{path.name}: {head.told}, with the prompts that evosyn has")


def _evosyn(run: Path, *words: str) -> None:
    env = {"OPENAI_API_KEY": "none-is-needed", **os.environ}
    ended = subprocess.run([sys.executable, "-m", "evosyn", *words], cwd=run, env=env, check=False)
    if ended.returncode not in ENDED:
        raise SystemExit(ended.returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "export", "check"])
    parser.add_argument("run", type=Path, nargs="?", help="directory of the commands; the same one resumes")
    parser.add_argument("--base-url", default="", help="a server that is up and holds the weights")
    options = parser.parse_args()
    if options.what == "check":
        return check()
    if options.run is None:
        parser.error(f"{options.what} needs RUN")
    options.run.mkdir(parents=True, exist_ok=True)
    if options.what == "make":
        make(options.run, options.base_url)
    return export(options.run)


if __name__ == "__main__":
    main()
