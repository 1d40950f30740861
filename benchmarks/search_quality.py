"""How good the strategies are that a search finds, on problems it never saw: cross-evolution by task, in parts.

    python benchmarks/search_quality.py run --pool POOL --strong MATRICES --work DIR [--minutes 30] [--settings lists]
                                            [--processes 8]
    python benchmarks/search_quality.py report

Five folds by task (the same in all settings, every problem held out once) x three search seeds x three ways to search
with the same openings, budget and choice of the winner; held-out problems are scored on 60 draws of a seed of their
own. The statistic of a row is the mean over problems of its held-out score, averaged over search seeds first;
differences are paired bootstraps over problems, those of one task together, strata by the pools that have a task: they
hold for the winners that were found, and the differences of each search seed stand beside them. Two searches are
compared by the search seeds that both have. A share of the gap to the oracle is a paired bootstrap of the ratio. Each
winner is said to be a program that the search made, one that it started from, or a known rule; the best of the latter
two by the train problems is a row, over which evolution's own share is read. Each winner is also compared with the best
known rule of every other pool on the tasks that it did not see (with hindsight, and as its train problems choose it),
and of its own without texts and values. `run` does what is missing, part by part, and may be stopped at any time; what
is done stands in `benchmarks/search_quality/SETTING.jsonl`, which `report` reads; each part says by which code it was
made. Settings: `asserts` and `lists` (a pool with texts, each check or each list a testing), `strong` (recorded
matrices), `both` (asserts and strong, searched together).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from _quality.pools import Inputs
from _quality.protocol import SETTINGS
from _quality.report import lines, together
from _quality.rows import Setting
from _quality.running import run

from evosyn.errors import UsageError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--work", type=Path, help="where pools are executed")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_suffix(""))
    parser.add_argument("--pool", help="pool with solutions and testings")
    parser.add_argument("--strong", help="recorded matrices of a pool of strong models")
    parser.add_argument("--settings", default=",".join(SETTINGS), help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--evaluations", type=int, default=3000)
    parser.add_argument("--processes", type=int, default=1, help="parts at once, each on its share of the cores")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no part after so many")
    options = parser.parse_args()
    names = options.settings.split(",")
    if unknown := set(names) - set(SETTINGS):
        raise UsageError(f"--settings {', '.join(sorted(unknown))}: of {', '.join(SETTINGS)}")
    if options.what == "run":
        if options.work is None:
            parser.error("run needs --work DIR")
        inputs = Inputs(options.work, options.pool, options.strong, options.evaluations)
        run(inputs, options.results, names, processes=options.processes, minutes=options.minutes)
    settings = [Setting(options.results, name) for name in names]
    print("\n".join(line for setting in settings for line in (*lines(setting, settings), "")))
    print("\n".join(together(settings)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
