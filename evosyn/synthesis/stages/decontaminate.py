"""The stage that drops a problem which repeats a problem of a named benchmark."""

from __future__ import annotations

from evosyn.synthesis.decontaminate import OverlapIndex
from evosyn.synthesis.instance import Instance


class Decontaminate:
    """Compares with the benchmarks of the index, which never changes."""

    name = "decontaminate"
    concurrency = None

    def __init__(self, benchmarks: OverlapIndex) -> None:
        self._benchmarks = benchmarks

    async def run(self, instance: Instance) -> Instance:
        found = self._benchmarks.find(instance.asked.statement)
        if found is None:
            return instance
        if found.by == "content":
            detail = f"is about the same as {found.of}, similarity {found.overlap:.2f}"
            return instance.drop("decontaminate", "benchmark-content", detail)
        detail = f"shares {found.overlap:.2f} of its words with {found.of}"
        return instance.drop("decontaminate", "benchmark-overlap", detail)
