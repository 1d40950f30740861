"""Calibration: how often a student solves each row of a dataset, and whether rates fall with the level.

Rates are kept with the dataset by student (`evosyn.rates`), row by row as they come, so that a killed calibration goes
on; what a teacher was paid for is in its reply cache. Environments whose rates do not fall are named, not dropped
(ReSyn, section 2.2 step 4; `evosyn.environments.calibration`). docs/calibrate.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from evosyn.dataset import Sample
from evosyn.environments.calibration import Rate, unfit, wald
from evosyn.rates import KIND, Band, RowRate, rate_events
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.train.config import CalibrateConfig
from evosyn.train.data import tasks_of
from evosyn.train.generation import Generator, TeacherGenerator
from evosyn.train.scoring import Scorer

BAND = Band(0.1, 0.9)
"""Whose rows are counted in the report; any other may be taken."""
FIFTHS = 5


def header_of(config: CalibrateConfig, student: str) -> dict[str, Json]:
    """All that decides a student's rates of a dataset's setting."""
    decides = ("setting", "samples", "temperature", "top_p", "max_tokens", "seed")
    return {"kind": KIND, "student": student, **{name: getattr(config, name) for name in decides}}


def measure(
    samples: Sequence[Sample],
    generator: Generator,
    scorer: Scorer,
    run: RunDir,
    header: dict[str, Json],
    on_done: Callable[[int], None] = lambda _: None,
) -> dict[str, RowRate]:
    """The rate of each row; what the journal has whole is not drawn again.

    Args:
        generator: the student; draws as `header` says.
        on_done: told how many rows are done.

    Raises:
        SandboxUnavailable: the sandbox is gone.
        BudgetSpent, TeacherUnavailable: from a teacher.
    """
    events = rate_events(run.journal)
    events.begin(header)
    found = {one.row: one for one in events}
    tasks = tasks_of(samples)
    missing = [row for row in tasks if row not in found or found[row].unknown]
    served = isinstance(generator, TeacherGenerator)
    on_done(len(tasks) - len(missing))
    for start in range(0, len(missing), generator.chunk):
        rows = missing[start : start + generator.chunk]
        asked = [
            scorer.judge.domains[tasks[row].problem.domain].ask("solution", tasks[row].problem, 0, {}) for row in rows
        ]
        for row, texts in zip(rows, generator.generate(asked, rows), strict=True):
            said = [text for text in texts if text or (text is not None and not served)]  # none says nothing of it
            scores = scorer.score([tasks[row]] * len(said), said, [generator.reasoning] * len(said))
            known = [score for score in scores if score.known]
            rate = RowRate(row, len(known), sum(score.passed for score in known), len(texts) - len(known))
            events.append(rate)
            found[row] = rate
        run.journal.sync()
        on_done(len(tasks) - len(missing) + start + len(rows))
    return {row: found[row] for row in tasks}


def report_of(samples: Sequence[Sample], rates: dict[str, RowRate], header: dict[str, Json]) -> dict[str, Json]:
    """What a calibration came to, as JSON."""
    rated = [one for one in rates.values() if one.n]
    fifths = [0] * FIFTHS
    for one in rated:
        fifths[min(FIFTHS - 1, int(FIFTHS * one.share))] += 1
    domains: defaultdict[str, list[float]] = defaultdict(list)
    for sample in {sample.id: sample for sample in samples}.values():
        if rates[sample.id].n:
            domains[sample.domain].append(rates[sample.id].share)
    return {
        **header,
        "rows": len(rates),
        "rated": len(rated),
        "unknown": sum(one.unknown for one in rates.values()),
        "solve_rate": _mean([one.share for one in rated]),
        "never": sum(not one.passed for one in rated),
        "always": sum(one.passed == one.n for one in rated),
        "in_band": sum(BAND.low <= one.share <= BAND.high for one in rated),
        "band": f"{BAND.low:g}:{BAND.high:g}",
        "fifths": fifths,
        "domains": [
            {"domain": name, "rows": len(shares), "solve_rate": _mean(shares)}
            for name, shares in sorted(domains.items())
        ],
        "levels": levels_of(samples, rates),
    }


def levels_of(samples: Sequence[Sample], rates: dict[str, RowRate]) -> list[dict[str, Json]]:
    """For what has rows at two levels or more, such as an environment: its rates by level, and whether they fall."""
    counted: defaultdict[str, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    titles = {}
    for sample in {sample.id: sample for sample in samples}.values():
        meta, rate = sample.held("meta"), rates[sample.id]
        if type(meta.get("level")) is int and rate.n:
            of = str(meta.get("environment", sample.domain))
            titles[of] = str(meta.get("title", of))
            counted[of][meta["level"]][0] += rate.n
            counted[of][meta["level"]][1] += rate.passed
    found = []
    for of, levels in counted.items():
        by_level = [Rate(level, n, solved) for level, (n, solved) in sorted(levels.items())]
        if len(by_level) < 2 or sum(one.n for one in by_level) < 3:
            continue
        slope = wald(by_level)
        found.append(
            {
                "of": of,
                "title": titles[of],
                "rates": " ".join(f"{one.level}:{one.solved}/{one.n}" for one in by_level),
                "slope": None if slope is None else round(slope.slope, 4),
                "unfit": unfit(by_level),
            }
        )
    return found


def _mean(shares: Sequence[float]) -> float | None:
    return round(sum(shares) / len(shares), 4) if shares else None
