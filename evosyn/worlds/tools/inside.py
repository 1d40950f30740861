"""Runs in the sandbox: opens a state of a tool world, guards the database, plays calls of tools, and says what is left.

The text of this file goes into the sandbox (`playing.program`, `playing.play_job`); it is never imported by ours.
What it says are facts: no expectation and no gold state ever enters it. docs/worlds.md, "What a tool may do".
"""

import collections
import datetime
import json
import sqlite3

KIT = {}
"""The world: `ddl`, `tables`, `tools`."""
STEPS, EVERY = 2_000_000, 1000
"""Steps of SQLite's machine that one call may take, and how often they are counted."""
LONGEST, MOST_ROWS, MOST_CHARS = 1_000_000, 5000, 100_000
"""Of one value, of what `all` gives, of what a tool returns."""


def _words(text):
    return frozenset(text.split())


FUNCTIONS = _words(
    "abs avg coalesce count date_add days_between ifnull instr length like lower max min nullif replace round rtrim "
    "ltrim substr sum total trim upper group_concat"
)
REFUSED = _words(
    "open eval exec compile input getattr setattr delattr globals locals vars breakpoint exit quit help memoryview "
    "type object super dir id classmethod staticmethod property hash"
)
MODULES = _words("datetime math re json decimal itertools collections functools operator string")
_CODE = {}
_FREE = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
_NAMED = {sqlite3.SQLITE_READ: "reads", sqlite3.SQLITE_UPDATE: "writes"}
_WHOLE = {sqlite3.SQLITE_INSERT: "writes", sqlite3.SQLITE_DELETE: "writes"}
_WRITES = {sqlite3.SQLITE_UPDATE, *_WHOLE}


def _imported(name, *rest):
    if name not in MODULES:
        raise ImportError(name)
    return __import__(name, *rest)


_ALL = vars(__builtins__) if not isinstance(__builtins__, dict) else __builtins__
_BUILTINS = {name: one for name, one in _ALL.items() if name not in REFUSED and not name.startswith("_")}
_BUILTINS["__import__"] = _imported


def _date_add(day, days):
    return (datetime.date.fromisoformat(day[:10]) + datetime.timedelta(days=days)).isoformat()


def _days_between(first, last):
    return (datetime.date.fromisoformat(last[:10]) - datetime.date.fromisoformat(first[:10])).days


Database = collections.namedtuple("Database", "all new_id now one run")
"""What a tool is given; none of its five functions can be put in the place of another."""


def _said(error):
    return str(error)[:200].encode("utf-8", "backslashreplace").decode()


class State:
    """An open state: `play` plays one call."""

    def __init__(self, opened, clock):
        self.kept, counters = opened
        self._open()
        self.clock = datetime.datetime.fromisoformat(clock)
        self.counters = dict(counters)
        self.touched = {"reads": set(), "writes": set()}
        self.steps = self.minute = 0
        self.writing = self.changed = False
        self.db = Database(self._all, self._new_id, self._now, self._one, self._run)

    def _open(self):
        """The database as `kept` holds it. A call that goes wrong gets it anew: what SQL can end (a transaction, a
        savepoint) restores nothing."""
        self.base = base = _connection()
        base.deserialize(self.kept)
        base.execute("PRAGMA foreign_keys=ON")
        base.execute("PRAGMA temp_store=MEMORY")
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        base.create_function("date_add", 2, _date_add, deterministic=True)
        base.create_function("days_between", 2, _days_between, deterministic=True)

    # ----------------------------------------------------------------------------------------------- the five

    def _asked(self, sql, values, *, writing=False):
        """The one place where a text becomes SQL; `_allowed` is asked while it does."""
        self.writing = writing
        try:
            return self.base.execute(sql, values)
        finally:
            self.writing = False

    def _one(self, sql, *values):
        found = self._asked(sql, values)
        row = found.fetchone()
        return None if row is None else dict(zip([one[0] for one in found.description], row, strict=True))

    def _all(self, sql, *values):
        found = self._asked(sql, values)
        rows = found.fetchmany(MOST_ROWS)
        return [dict(zip([one[0] for one in found.description], row, strict=True)) for row in rows]

    def _run(self, sql, *values):
        return self._asked(sql, values, writing=True).rowcount

    def _new_id(self, table):
        self.counters[table] += 1
        prefix = next(one[3] for one in KIT["tables"] if one[0] == table)
        return f"{prefix}{self.counters[table]:04d}"

    def _now(self):
        return (self.clock + datetime.timedelta(minutes=self.minute)).isoformat()

    # ----------------------------------------------------------------------------------------------- guards

    def _allowed(self, action, first, second, *_):
        if action in _WRITES and not self.writing:
            return sqlite3.SQLITE_DENY
        if action in _NAMED:
            self.touched[_NAMED[action]].add(f"{first}.{second}")
        elif action in _WHOLE:
            self.touched[_WHOLE[action]].add(f"{first}.*")
        elif action not in _FREE and not (action == sqlite3.SQLITE_FUNCTION and second.lower() in FUNCTIONS):
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_DENY if str(first).lower().startswith("sqlite_") else sqlite3.SQLITE_OK

    def _tick(self):
        self.steps += EVERY
        return self.steps > STEPS

    def _guard(self, on):
        self.base.set_authorizer(self._allowed if on else None)
        self.base.set_progress_handler(self._tick if on else None, EVERY)

    # ----------------------------------------------------------------------------------------------- playing

    def play(self, name, args, minute):
        """One call: whatever goes wrong in it, nothing of it stays."""
        tool = KIT["tools"].get(name)
        if tool is None:
            return {"outcome": "failed", "detail": f"no tool {name}", "wrote": False, "reads": [], "writes": []}
        own = {one: type(one, (Exception,), {}) for one in tool["raises"]}
        space = {"__builtins__": dict(_BUILTINS), **own}
        kept, before = dict(self.counters), self.base.total_changes
        self.steps, self.minute = 0, minute
        self.touched = {"reads": set(), "writes": set()}
        self._guard(True)
        try:
            if name not in _CODE:
                _CODE[name] = compile(tool["source"], f"<{name}>", "exec")
            exec(_CODE[name], space)
            text = json.dumps(space[name](self.db, **args), allow_nan=False)
            told = {"outcome": "ok", "value": json.loads(text)}
            if "\\ud" in text:  # half of a pair is no text
                json.dumps(told, ensure_ascii=False).encode()
            if self.steps > STEPS or len(text) > MOST_CHARS:
                told = {"outcome": "failed", "detail": "too much work, or too long a result"}
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is data
            named = next((one for one, kind in own.items() if type(error) is kind), None)
            told = {"outcome": "failed", "detail": f"{type(error).__name__}: {_said(error)}"}
            if named is not None and self.steps <= STEPS:
                told = {"outcome": "rejected", "exception": named, "detail": _said(error)}
        self._guard(False)
        changed = self.base.total_changes != before
        self.changed |= changed
        wrote = told["outcome"] == "ok" and (changed or self.counters != kept)
        if told["outcome"] != "ok":
            self.counters = kept
            if changed:
                self._open()
        elif changed:
            self.kept = self.base.serialize()
        return {**told, "wrote": wrote, **{what: sorted(one) for what, one in self.touched.items()}}

    def rows(self):
        found = {}
        for table, key, columns, _ in KIT["tables"]:
            listed = self.base.execute(f'SELECT * FROM "{table}" ORDER BY "{key}"').fetchall()
            found[table] = [dict(zip(columns, row, strict=True)) for row in listed]
        return found


def _linked(value, told):
    """An argument; `{"from": [call, path]}` is the value there of what that call gave."""
    if not isinstance(value, dict):
        return value
    call, path = value["from"]
    found = told[call]["value"]
    for part in str(path).split(".") if path != "" else ():
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def _connection():
    return sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)


def _opened(rows):
    """A state as SQLite keeps it, and the last number of each table's keys; raises where it breaks the schema."""
    base = _connection()
    for statement in KIT["ddl"]:
        base.execute(statement)
    base.execute("PRAGMA foreign_keys=ON")
    base.execute("BEGIN")
    counters = {}
    for table, key, columns, prefix in KIT["tables"]:
        listed = sorted(rows.get(table, ()), key=lambda row, key=key: str(row[key]))
        if any(set(row) != set(columns) for row in listed):
            raise ValueError(f"a row of {table} has other columns")
        values = [[row[one] for one in columns] for row in listed]
        base.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(columns))})', values)
        found = [str(row[key])[len(prefix) :] for row in listed]
        counters[table] = max([int(one) for one in found if one.isascii() and one.isdigit()], default=0)
    base.execute("COMMIT")
    return base.serialize(), counters


def _one(opened, calls, clock):
    """What came of calls `[name, args, minute]`, one after the other, and the rows that they leave; None where
    nothing was ever written."""
    state, told = State(opened, clock), []
    for name, args, minute in calls:
        try:
            given = {key: _linked(value, told) for key, value in args.items()}
        except Exception as error:  # noqa: BLE001 - what a call refers to is not there
            told.append({"outcome": "failed", "detail": f"nothing to refer to: {_said(error)}", "wrote": False})
            continue
        told.append({**state.play(name, given, minute), "args": given})
    return {"calls": told, "rows": state.rows() if state.changed else None}


def play(rows, plays, clock):
    """Plays each list of calls over the same rows."""
    try:
        opened = _opened(rows)
    except Exception as error:  # noqa: BLE001 - a state that breaks its schema is data
        return [{"broken": f"{type(error).__name__}: {_said(error)}", "calls": [], "rows": None} for _ in plays]
    return [{"broken": "", **_one(opened, calls, clock)} for calls in plays]


def main(world, _, asked):
    """As a harness: the world is what it is put around."""
    KIT.update(json.loads(world))
    return play(*asked)
