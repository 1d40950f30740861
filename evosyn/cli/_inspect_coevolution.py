"""The answers about a directory of `evosyn coevolve` as text: a summary, and where a problem came from."""

from __future__ import annotations

from evosyn.cli._inspect_world import PRINTERS as OF_WORLDS
from evosyn.cli._inspect_world import print_why

PRINTERS = {**OF_WORLDS, "lineage": print_why}
