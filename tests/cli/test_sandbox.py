"""`evosyn sandbox` on the real sandbox of this machine."""

from __future__ import annotations

import json

from click.testing import CliRunner

from evosyn.cli.sandbox import command


def test_probe_says_what_held() -> None:
    result = CliRunner().invoke(command, ["probe", "--json"])
    assert result.exit_code == 0, result.output
    seen = json.loads(result.output)
    assert seen["level"] in ("strong", "medium")
    assert "no TCP" in seen["holds"]


def test_probe_prints_a_line_for_each_thing_tried() -> None:
    result = CliRunner().invoke(command, ["probe"])
    assert "holds  host files cannot be read" in result.output
