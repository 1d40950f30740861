"""Decontamination: does a new problem repeat a problem of a named benchmark?

The rule is the n-gram overlap of the field: the words of the new problem that lie in an n-gram shared with one
benchmark item, as a share of the shorter of the two texts (Lambert 2025, Tulu 3, section 3.2: n = 8, share 0.5). It
knows no benchmark by itself: the user names files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from evosyn.datafiles import data_rows
from evosyn.errors import InputError
from evosyn.synthesis.dedup import words

TEXT_FIELDS = ("statement", "question_content", "prompt", "question", "problem", "text", "description", "instruction")
NAME_FIELDS = ("problem_id", "task_id", "question_id", "id", "name")


class DecontaminateConfig(BaseModel):
    """What is compared with what.

    Attributes:
        files: benchmark files: JSON lines (also gzipped), a JSON list, or parquet; `FILE::field` names the text field.
        ngram: words in one n-gram.
        overlap: share of the shorter text from which a problem is contaminated, in (0, 1].
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[str, ...] = ()
    ngram: int = Field(default=8, ge=2, le=50)
    overlap: float = Field(default=0.5, gt=0.0, le=1.0)


@dataclass(frozen=True)
class BenchmarkItem:
    """One text of a benchmark: `name` is `file#id`."""

    name: str
    text: str


@dataclass(frozen=True)
class Contamination:
    """The benchmark item that a text overlaps most with, and the share in [0, 1]."""

    of: str
    overlap: float


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
        raise InputError(path, "no such benchmark file", hint="give --decontaminate a file that exists")
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
        items.append(BenchmarkItem(f"{path.name}#{identifier}", row[key]))
    if not items:
        raise InputError(path, "is empty", hint="a benchmark file holds one item a line")
    return items


class OverlapIndex:
    """The n-grams of all benchmark items."""

    def __init__(self, items: Sequence[BenchmarkItem], config: DecontaminateConfig) -> None:
        self._config = config
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

    def find(self, text: str) -> Contamination | None:
        """The item that `text` overlaps most with, if the overlap reaches the limit; ties go to the earliest."""
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


def open_index(config: DecontaminateConfig) -> OverlapIndex:
    """Read all files of the configuration into one index.

    Raises:
        InputError: see `load_benchmark`.
    """
    return OverlapIndex([item for spec in config.files for item in load_benchmark(spec)], config)
