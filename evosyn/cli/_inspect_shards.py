"""The answers about a synthesis in shards as text: its tables, and single problems as those of one in one piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evosyn.cli import _inspect_data, _inspect_summary

PRINTERS: Mapping[str, Callable[[Any], None]] = {
    **_inspect_data.PRINTERS,
    "overview": _inspect_summary.print_summary,
}
