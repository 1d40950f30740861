"""Every experiment that the registry finds brings its options, explains itself, and imports no trainer to do so."""

import subprocess
import sys
from typing import Any, get_args, get_type_hints

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from evosyn import registry
from evosyn.cli import group

NAMES = registry.names("experiments")


def config_of(name: str) -> type[BaseModel]:
    hints: dict[str, Any] = get_type_hints(registry.factory("experiments", name))
    assert list(hints) == ["tools", "config", "return"]
    found: type[BaseModel] = hints["config"]
    return found


def test_the_table_of_the_paper_is_there() -> None:
    assert "table2" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_sizes_seeds_and_arms_and_a_default_for_everything(name: str) -> None:
    config = config_of(name)
    assert get_args(config.model_fields["size"].annotation) == ("smoke", "cpu", "gpu")
    assert {"seeds", "first_seed", "arms"} <= set(config.model_fields)
    config()


@pytest.mark.parametrize("name", NAMES)
def test_its_help_names_every_field(name: str) -> None:
    shown = CliRunner().invoke(group, ["experiment", name, "--help"], catch_exceptions=False).output
    for key, field in config_of(name).model_fields.items():
        option = f"--{key.replace('_', '-')}"
        assert option in shown or f"{key}.KEY" in shown
        assert field.description


def test_help_imports_no_trainer() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom evosyn.cli import group\n"
        "for name in ('--help', *sys.argv[1:]):\n    CliRunner().invoke(group, ['experiment', name, '--help'])\n"
        "assert not {'torch', 'trl', 'transformers', 'datasets'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, *NAMES], check=True, timeout=120)
