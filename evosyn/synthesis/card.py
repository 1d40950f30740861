"""The dataset card: what it is, where it came from, what was dropped and why, how to load it.

The YAML head names the three settings as configurations, so that `datasets.load_dataset(directory, setting)` works
without a network. A card of simulated data says so in its first line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from evosyn import __version__
from evosyn.dataset import SETTINGS
from evosyn.jobs import Protection
from evosyn.records import Json, Unit, content_id
from evosyn.strategies import PROGRAM, strategy_id
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.inputs import Asked, Inputs
from evosyn.templates import render

SIZES = ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
SIMULATED = (
    "> **SIMULATED by {}.** No language model wrote these problems, solutions or testings: a program "
    "stood in for one. Use this data to try the tool chain, never as evidence about models.\n\n"
)


@dataclass(frozen=True)
class CardFacts:
    """What a card is written from.

    Attributes:
        name: of the dataset.
        report: the value of `report.json`.
        recipe: lines of (what, value) on how it was made.
        licence: SPDX name in lower case; empty for none declared.
        parts: whether a setting is in several files.
    """

    name: str
    report: Mapping[str, Json]
    recipe: Mapping[str, str]
    licence: str
    parts: bool = False


def render_card(facts: CardFacts, folder: str) -> str:
    """The text of README.md.

    Args:
        folder: where the parquet files lie as seen from the card: `dataset/` or empty.
    """
    settings = facts.report["settings"]
    kept = settings["evosyn"]["kept"]
    head: dict[str, Json] = {
        "pretty_name": facts.name,
        "language": ["en"],
        "license": facts.licence or "unknown",
        "task_categories": ["text-generation", "reinforcement-learning"],
        "tags": ["rlvr", "synthetic", "verifiable", "code", "evosyn"],
        "size_categories": [next((name for limit, name in SIZES if kept < limit), "n>1M")],
        "configs": [
            _config(setting, f"{folder}{setting}{'-*' if facts.parts else ''}.parquet") for setting in SETTINGS
        ],
    }
    body = render(
        "evosyn.synthesis",
        "prompts/card.md",
        title=facts.name,
        simulated=SIMULATED.format(", ".join(facts.report["models"])) if facts.report["simulated"] else "",
        version=__version__,
        settings=_settings_table(facts.report),
        stages=_stage_table(facts.report),
        reasons=_reason_table(facts.report),
        replies=_reply_table(facts.report),
        added=_added_table(facts.report),
        refuse_none=str(facts.report["refuse_none"]["evosyn"]),
        distributions=_distribution_table(facts.report),
        recipe="\n".join(f"- {what}: {value}" for what, value in {**facts.recipe, **_shift(facts.report)}.items()),
    )
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{body}"


def _shift(report: Mapping[str, Json]) -> dict[str, str]:
    shift = report["shift"]
    said = "not known" if shift is None else "; ".join(shift["said"]) or "within what its own problems vary by"
    lacking = "; ".join((report["lacking"] or {}).get("said", ()))
    told = {"what the strategy reads that they do not hold": lacking} if lacking else {}
    return {"its matrices against those on which the strategy was evolved": said, **told}


def _config(setting: str, files: str) -> dict[str, Json]:
    config: dict[str, Json] = {
        "config_name": setting,
        "data_files": [{"split": "train", "path": files}],
    }
    return {**config, "default": True} if setting == "evosyn" else config


def _settings_table(report: Mapping[str, Json]) -> str:
    rows = [f"| `{name}` | {value['kept']} | {report['asked']} |" for name, value in report["settings"].items()]
    return "\n".join(["| setting | rows | problems asked for |", "|---|---|---|", *rows])


def _stage_table(report: Mapping[str, Json]) -> str:
    rows = [f"| {name} | {at['entered']} | {at['dropped']} | {at['left']} |" for name, at in report["stages"].items()]
    return "\n".join(["| stage | entered | dropped | left |", "|---|---|---|---|", *rows])


def _reason_table(report: Mapping[str, Json]) -> str:
    settings = report["settings"]
    reasons = sorted({reason for value in settings.values() for reason in value["dropped"]})
    rows = [
        f"| {reason} | " + " | ".join(str(settings[name]["dropped"].get(reason, 0)) for name in SETTINGS) + " |"
        for reason in reasons
    ]
    if not rows:
        return "No problem was dropped."
    return "\n".join([f"| reason | {' | '.join(SETTINGS)} |", "|---|---|---|---|", *rows])


def _reply_table(report: Mapping[str, Json]) -> str:
    calls, tokens, cost = report["calls"], report["tokens"], report["cost"]
    money = "at an unknown price" if cost is None else f"for ${cost:.4f}"
    spent = f"{calls} model calls, {tokens['input']} + {tokens['output']} tokens, {money}."
    rows = [f"| {reason} | {count} |" for reason, count in report["unusable_replies"].items()]
    return "\n".join([f"{spent}\n", "| unusable replies | count |", "|---|---|", *rows]) if rows else spent


def _added_table(report: Mapping[str, Json]) -> str:
    rows = [
        f"| {name} | {at['rows']} | {_shown(at['different_solutions'])} | {at['all_alike']} | {_shown(at['lines'])} |"
        for name, at in report["relaxed_adds"].items()
    ]
    head = "| | rows | different solutions of M, mean | with all solutions alike | lines of the best solution, mean |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def _shown(value: Json) -> str:
    return "" if value is None else f"{value:g}"


def _distribution_table(report: Mapping[str, Json]) -> str:
    names = ("mean", "sd", "min", "p10", "median", "p90", "max")
    rows = [
        f"| {what} | " + " | ".join(f"{summary[name]:g}" for name in names) + " |"
        for what, summary in report["distributions"]["evosyn"].items()
        if summary is not None
    ]
    if not rows:
        return "The evosyn setting holds no row."
    return "\n".join([f"| evosyn | {' | '.join(names)} |", "|" + "---|" * (len(names) + 1), *rows])


def how_made(inputs: Inputs, config: SynthesizeConfig, asked: Asked, protection: Protection) -> dict[str, str]:
    """The lines of the card on how the data was made."""
    ranked_by, dedup = strategy_id(inputs.strategy), config.filter.dedup
    own = config.sampling
    asked_with = {"problem": own.problem, "solution": own.solution, "testing": own.testing.model_dump()}
    benchmarks = ", ".join(Path(spec.partition("::")[0]).name for spec in config.filter.decontaminate.files)
    return {
        "teacher": f"`{asked.names}`" + (" (SIMULATED)" if asked.simulated else ""),
        "strategy": f"`{ranked_by}`, from {inputs.strategy_from}; its text stands in `{PROGRAM}`",
        "its held-out score": "not known" if inputs.standing is None else inputs.standing.text,
        "seeds": f"{len(inputs.seeds)} problems from {inputs.seeds_from}, "
        f"`{content_id('i_', [seed.id for seed in inputs.seeds])}`, licences: {_licences(inputs)}",
        "M x N": f"{config.solutions} solutions x {config.testings} testings per problem",
        "sampling": "; ".join(f"{what} {_params(params)}" for what, params in asked_with.items()),
        "prompts": "the first request of each kind stands in `journal.jsonl`",
        "ranked": "single cases, each distinct one" if inputs.unit == "case" else "testings, as they were drawn",
        "reward": _reward(config, inputs.unit),
        "seed": str(config.seed),
        "deduplication": f"exact, and Jaccard similarity from {dedup.threshold:g} on word {dedup.shingle}-grams, "
        "against the seeds and each other",
        "decontamination": f"against {benchmarks}" if benchmarks else "none: no benchmark was named",
        "sandbox": f"{protection.level} {protection.backend}",
        "canary": content_id("evosyn-canary-", [ranked_by, config.seed, inputs.seeds_from]),
    }


def _params(params: Mapping[str, Json]) -> str:
    return ", ".join(f"{name} {value}" for name, value in params.items()) or "as the model is set"


def _licences(inputs: Inputs) -> str:
    counts = Counter(str(seed.meta.get("licence") or "not declared") for seed in inputs.seeds)
    return ", ".join(f"{name} ({count})" for name, count in counts.most_common())


def _reward(config: SynthesizeConfig, unit: Unit) -> str:
    reward, chosen = config.filter.reward, unit
    if not reward.union:
        return f"the chosen {chosen}" + (", and large inputs that the top solutions agree on" if reward.large else "")
    large = ", and of large inputs" if reward.large else ""
    if unit == "case":
        return f"the chosen case joined with all others that the best solutions pass{large}"
    return f"the chosen testing joined with the agreed cases of the others{large}"
