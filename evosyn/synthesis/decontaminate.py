"""Decontamination by text: does a new problem repeat a problem of a named benchmark?

Two rules. The n-gram overlap of the field: the words of the new problem that lie in an n-gram shared with one benchmark
item, as a share of the shorter of the two texts (Lambert 2025, Tulu 3, section 3.2: n = 8, share 0.5). And the content:
the words that carry meaning, rare ones weighing more, whatever their order, which finds what was only told anew. What a
problem asks to be computed is compared by `stages.behaviour`. It knows no benchmark by itself: the user names files.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from evosyn.datafiles import data_rows
from evosyn.errors import FormatError, InputError
from evosyn.pools import pool_from_json
from evosyn.records import Json, Problem
from evosyn.textual import words

TEXT_FIELDS = ("statement", "question_content", "prompt", "question", "problem", "text", "description", "instruction")
_ENDING = re.compile(r"(?:ies|es|ed|ing|s|y|e)$")
_COMMON = frozenset(
    """the and for that this with are not from but all its has have which each one two any can may must will there than
    then them they their given example examples return returns list lists string strings number numbers integer integers
    function int str bool float none true false def pass typing import input output first line lines value values write
    program print into where when only such other should between self type also""".split()  # noqa: SIM905
)
FEWEST_WORDS = 8
"""Different words of content that a text must have to be compared by them."""
NAME_FIELDS = ("problem_id", "task_id", "question_id", "id", "name")


class DecontaminateConfig(BaseModel):
    """What is compared with what.

    Attributes:
        files: benchmark files: JSON lines (also gzipped), a JSON list, or parquet; `FILE::field` names the text field.
        ngram: words in one n-gram.
        overlap: share of the shorter text from which a problem is contaminated, in (0, 1].
        content: similarity of what the texts are about from which a problem is contaminated, in (0, 1]; 1 for never
            but by equal words.
        behaviour: benchmark problems, those of the most similar texts first, on whose human testings the best solution
            is run; 0 for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[str, ...] = ()
    ngram: int = Field(default=8, ge=2, le=50)
    overlap: float = Field(default=0.5, gt=0.0, le=1.0)
    content: float = Field(default=0.4, gt=0.0, le=1.0)
    behaviour: int = Field(default=20, ge=0)


@dataclass(frozen=True)
class BenchmarkItem:
    """One text of a benchmark.

    Attributes:
        name: `file#id`.
        problem: with a human testing, where the file is a pool of evosyn; None elsewhere.
    """

    name: str
    text: str
    problem: Problem | None = None


@dataclass(frozen=True)
class Contamination:
    """The benchmark item that a text is most like, by which rule (`words` or `content`), and how much, in [0, 1]."""

    of: str
    overlap: float
    by: str = "words"


def load_benchmark(spec: str) -> list[BenchmarkItem]:
    """Read the texts of one benchmark file.

    Args:
        spec: a path, or `path::field`; without a field the first of `TEXT_FIELDS` that a row has is taken.

    Raises:
        InputError: missing, not readable, or a row without a text.
    """
    name, _, field = spec.partition("::")
    path = Path(name)
    if not path.is_file():
        raise InputError(path, "no such benchmark file", hint="Give --decontaminate a file that exists")
    items = []
    for line, row in data_rows(path):
        key = field or next((key for key in TEXT_FIELDS if isinstance(row.get(key), str)), None)
        if key is None or not isinstance(row.get(key), str):
            known = ", ".join(TEXT_FIELDS)
            raise InputError(
                path,
                "has no text to compare with",
                line=line,
                field=key,
                hint=f"name the field as {path}::FIELD (looked for {known})",
            )
        identifier = next((row[key] for key in NAME_FIELDS if key in row), line)
        try:
            problem = _problem(row)
        except FormatError as error:
            raise error.at(path, line) from error
        items.append(BenchmarkItem(f"{path.name}#{identifier}", row[key], problem))
    if not items:
        raise InputError(path, "is empty", hint="a benchmark file holds one item a line")
    return items


class ContentIndex:
    """What benchmark items are about: their words but for the commonest, each weighing more the fewer items have it.

    Two texts are as similar as the cosine of their weighted words.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [set(content_words(text)) for text in texts]
        counts = Counter(word for bag in bags for word in bag)
        self._weights = {word: math.log((len(bags) + 1) / (count + 0.5)) for word, count in counts.items()}
        self._unseen = math.log((len(bags) + 1) / 1.5)  # as a word that one item has
        self._norms = [self._norm(bag) for bag in bags]
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for at, bag in enumerate(bags):
            for word in bag if len(bag) >= FEWEST_WORDS else ():
                self._holding[word].append(at)

    def similar(self, text: str, count: int) -> list[tuple[int, float]]:
        """The `count` items that are most alike, with the similarity in [0, 1]; ties go to the earliest."""
        bag = set(content_words(text))
        if len(bag) < FEWEST_WORDS:
            return []
        shared: defaultdict[int, float] = defaultdict(float)
        for word in sorted(bag):
            for at in self._holding.get(word, ()):
                shared[at] += self._weights[word] ** 2
        norm = self._norm(bag)
        found = [(at, common / (norm * self._norms[at])) for at, common in shared.items() if common]
        return heapq.nsmallest(count, found, key=lambda one: (-one[1], one[0]))

    def _norm(self, bag: set[str]) -> float:
        return math.sqrt(sum(self._weights.get(word, self._unseen) ** 2 for word in sorted(bag))) or 1.0


def content_words(text: str) -> list[str]:
    """The words that carry meaning, without endings: what is left when a text is told in other sentences."""
    return [_ENDING.sub("", word) for word in words(text) if len(word) > 2 and word.isalpha() and word not in _COMMON]


class OverlapIndex:
    """The n-grams and the contents of all benchmark items."""

    def __init__(self, items: Sequence[BenchmarkItem], config: DecontaminateConfig) -> None:
        self._config = config
        self._items = items
        self._content = ContentIndex([item.text for item in items])
        self._names = [item.name for item in items]
        self._lengths: list[int] = []
        self._grams: defaultdict[int, list[int]] = defaultdict(list)
        self._exact: dict[str, int] = {}
        for at, item in enumerate(items):
            tokens = words(item.text)
            self._lengths.append(len(tokens))
            self._exact.setdefault(" ".join(tokens), at)
            for gram in {gram for _, gram in self._ngrams(tokens)}:
                self._grams[gram].append(at)

    def nearest(self, text: str, domain: str) -> list[BenchmarkItem]:
        """Items of a domain that come with a human testing, those of the most similar texts first."""
        found = [self._items[at] for at, _ in self._content.similar(text, len(self._items))]
        fitting = [item for item in found if item.problem is not None and item.problem.domain == domain]
        return fitting[: self._config.behaviour]

    def find(self, text: str) -> Contamination | None:
        """The item that `text` is most like, if it reaches the limit of a rule; ties go to the earliest."""
        return self._by_words(text) or self._by_content(text)

    def _by_content(self, text: str) -> Contamination | None:
        best = self._content.similar(text, 1)
        if not best or best[0][1] < self._config.content:
            return None
        return Contamination(self._names[best[0][0]], best[0][1], "content")

    def _by_words(self, text: str) -> Contamination | None:
        tokens = words(text)
        same = self._exact.get(" ".join(tokens))
        if same is not None:
            return Contamination(self._names[same], 1.0)
        covered: defaultdict[int, set[int]] = defaultdict(set)
        for start, gram in self._ngrams(tokens):
            for at in self._grams.get(gram, ()):
                covered[at].update(range(start, start + self._config.ngram))
        shares = {at: min(1.0, len(hit) / min(len(tokens), self._lengths[at])) for at, hit in covered.items()}
        best = max(sorted(shares), key=lambda at: shares[at], default=None)
        if best is None or shares[best] < self._config.overlap:
            return None
        return Contamination(self._names[best], shares[best])

    def _ngrams(self, tokens: list[str]) -> Iterator[tuple[int, int]]:
        size = self._config.ngram
        for start in range(len(tokens) - size + 1):
            yield start, hash(tuple(tokens[start : start + size]))


def _problem(row: dict[str, Json]) -> Problem | None:
    """The problem of a row of a pool, if it has a human testing; raises FormatError where it is not well formed."""
    asked = {"problem_id", "domain", "statement", "human_testing"} <= row.keys() and row["human_testing"] is not None
    return pool_from_json(row).problem if asked else None


def open_index(config: DecontaminateConfig) -> OverlapIndex:
    """Read all files of the configuration into one index.

    Raises:
        InputError: see `load_benchmark`.
    """
    return OverlapIndex([item for spec in config.files for item in load_benchmark(spec)], config)
