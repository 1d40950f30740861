"""`evosyn sandbox` on the real sandbox of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.sandbox import command
from evosyn.errors import UsageError


def test_probe_says_what_held() -> None:
    result = CliRunner().invoke(command, ["probe", "--json"])
    assert result.exit_code == 0, result.output
    seen = json.loads(result.output)
    assert seen["level"] in ("strong", "medium")
    assert "no TCP" in seen["holds"]


def test_probe_prints_a_line_for_each_thing_tried() -> None:
    result = CliRunner().invoke(command, ["probe"])
    assert "holds  host files cannot be read" in result.output


OF_HOST, OF_ROOMS = ("--package six", "--packages-from python3"), ("--base host", "--from-docker x", "--from-tar FILE")
UNUSED = [
    *(f"{source} {one}" for source in ("--os", "--dockerfile FILE", "--debootstrap bookworm") for one in OF_HOST),
    *(f"--os {one} {other}" for one in OF_ROOMS for other in (*OF_ROOMS, "--debootstrap bookworm") if one != other),
    *(f"{one} {more}" for one in OF_ROOMS for more in ("", "--os --tag x", "--os --mirror x")),
    *("--name x", "--mirror x", "--dockerfile FILE --mirror x", "--os --dockerfile FILE", "--os --tag x"),
    *("--dockerfile FILE --debootstrap bookworm", "--dockerfile FILE --name x", "--debootstrap bookworm --name x"),
]


@pytest.mark.parametrize("line", UNUSED)
def test_an_option_that_says_nothing_about_the_image_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = line.replace("FILE", str(tmp_path / "file")).split()
    with pytest.raises(UsageError, match="do not go together") as refused:
        CliRunner().invoke(command, ["build-image", *words], catch_exceptions=False)
    assert all(word in str(refused.value) for word in words if word.startswith("--"))
