"""What every experiment must keep to: options that explain themselves without a trainer, and a run that goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args
from unittest import SkipTest

from evosyn.contracts.base import PluginContract
from evosyn.ports import Comparison, ExperimentTools
from evosyn.records import Json, canonical_json
from evosyn.sandbox import open_sandbox

TRAINERS = ("torch", "trl", "transformers", "datasets")
HELP = (
    "import sys\nfrom evosyn.cli import group\n"
    "try:\n    group(['experiment', sys.argv[1], '--help'])\n"
    "except SystemExit as end:\n    assert not end.code, end.code\n"
    f"print('loaded:', *sorted({set(TRAINERS)!r} & set(sys.modules)), file=sys.stderr)\n"
)


class ExperimentContract(PluginContract):
    """Subclass it, and set `create`.

    Attributes:
        small: options with which it is done in seconds; None leaves out to run it.
        compares_arms: whether it trains arms over seeds in three sizes, as those of evosyn do.
    """

    kind = "experiments"
    small: Mapping[str, Json] | None = None
    compares_arms = False

    def test_its_options_are_a_model_with_a_default_for_everything(self) -> None:
        fields = self.plugin.config.model_fields
        dumb = [name for name, field in fields.items() if not field.description]
        assert not dumb, f"config: {dumb} have no description, which is their help"
        if self.compares_arms:
            lacking = {"seeds", "first_seed", "arms", "size"} - set(fields)
            assert not lacking, f"config: lacks {sorted(lacking)}"
            assert get_args(fields["size"].annotation) == ("smoke", "cpu", "gpu"), "config: sizes smoke, cpu and gpu"

    def test_its_help_names_every_option_and_imports_no_trainer(self) -> None:
        create = self.plugin.create
        where = f"{create.__module__}:{create.__qualname__}"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        told = subprocess.run(
            [sys.executable, "-c", HELP, where], env=environment, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, f"evosyn experiment {where} --help: {told.stderr[-2000:]}"
        loaded = told.stderr.rpartition("loaded:")[2].split()
        assert not loaded, f"--help imports {loaded}: import them where the run needs them"
        for name in self.plugin.config.model_fields:
            assert f"--{name.replace('_', '-')}" in told.stdout or f"{name}.KEY" in told.stdout, f"--help: lacks {name}"

    def test_a_run_tells_what_it_found_and_the_same_call_tells_it_again(self) -> None:
        if self.small is None:
            raise SkipTest("`small` says no options with which it is done in seconds")
        with tempfile.TemporaryDirectory() as folder:
            first, again = (self._run(self.small, Path(folder)) for _ in range(2))
        assert first.text.strip(), "Comparison.text: nothing for people"
        assert canonical_json(dict(first.report)) == canonical_json(dict(again.report)), "run: again, another report"

    def _run(self, small: Mapping[str, Json], out: Path) -> Comparison:
        found: Comparison = self.plugin.make(ExperimentTools(opened, lambda _: None), small).run(out)
        return found


def opened(*, workers: int | None, packages: tuple[str, ...] | None = None, hash_seed: int = 0) -> Any:
    """The local sandbox; implements `ports.OpenSandbox`."""
    return open_sandbox("local", workers=workers, packages=packages or (), hash_seed=hash_seed, allow_weak=True)
