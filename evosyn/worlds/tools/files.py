"""A world on disk: `world.json`, `schema.sql`, `tools/NAME.py`, `policy.md`, `graph.json`, `tasks.jsonl`, `digests.json`.

Those that come with evosyn are named `builtin:NAME`. What each file is stands in docs/worlds.md; nothing is run here.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evosyn.codec import dump, load
from evosyn.domains_model import model_of
from evosyn.errors import FormatError, UsageError
from evosyn.jsonlines import read_lines
from evosyn.records import Json, canonical_json
from evosyn.rundir import RunDir
from evosyn.worlds.tools.ddl import schema
from evosyn.worlds.tools.graph import Edge, ToolGraph
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import WorldTask
