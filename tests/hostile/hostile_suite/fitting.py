"""An attack becomes a program: for a function, for standard input, as a strategy; in plain dress or in another.

A dress changes how the text is written down (encodings, nesting), which API makes the call, and when; what is attacked
and what may come of it stay the same. docs/sandbox.md, "What was tried".
"""

from __future__ import annotations

import base64
import random
import zlib
from collections.abc import Callable
from dataclasses import replace

from hostile_suite.model import Attack, Dress
from hostile_suite.tasks import Task

LOOKING = '''
import marshal as _marshal, re as _re, zlib as _zlib
_MARKS = {marks}
_WANTED = dict((mark, call) for call, mark in _MARKS.items())
FOUND, _SCANNED = {{}}, []
_HEX, _DIGITS, _FLAT = _re.compile('[0-9a-f]{{24}}'), _re.compile('-?[0-9]{{6,80}}'), _re.compile('[[{{][^][{{}}]{{12,400}}[]}}]')
_FOUR, _RAW = _re.compile(b'i(....)', _re.S), _re.compile(b'[0-9a-f]{{24}}')
def right(value):
    """Keep a value whose checksum is that of a value wanted for some call."""
    kind = type(value)
    if kind is int or kind is str or (kind is list or kind is dict) and 2 < len(value) < 9:
        try: mark = _zlib.crc32(repr(value).encode())
        except Exception: return
        if mark in _WANTED: FOUND[_WANTED[mark]] = value
def _texts(text):
    if type(text) is not str:
        text = bytes(text)
        if len(text) > 50000:
            for found in _RAW.findall(text): right(found.decode())
            return
        for at in (0, 1, 2, 4, 5, 8, 9, 12, 13, 16) if len(text) < 3000 else ():
            try: right(_marshal.loads(text[at:]))
            except Exception: pass
        for four in _FOUR.findall(text):
            right(int.from_bytes(four, 'little'))
        text = text.decode('latin-1')
    for found in _HEX.findall(text): right(found)
    for found in _DIGITS.findall(text): right(int(found))
    for found in _FLAT.findall(text):
        if 'k0' in found or found[0] == '[':
            try: right(eval(found, {{}}))
            except Exception: pass
def look(things, given, depth=2, seen=None):
    """Search objects, and what they hold, for wanted values; gives the one for this call, if it was ever seen."""
    call = repr(given)
    if seen is None: seen = {{id(_MARKS), id(_WANTED), id(FOUND)}}
    for thing in things:
        if call in FOUND: break
        if id(thing) in seen: continue
        seen.add(id(thing))
        kind = type(thing)
        right(thing)
        if kind in (str, bytes, bytearray, memoryview) and 5 < len(thing) < 10 ** 6: _texts(thing)
        elif depth and (kind in (list, set, frozenset) or isinstance(thing, tuple)) and len(thing) < 5000: look(list(thing), given, depth - 1, seen)
        elif depth and kind is dict and len(thing) < 1000: look(list(thing.values()) + list(thing), given, depth - 1, seen)
    return FOUND.get(call)
'''
"""What an attack has to recognize hidden values by, wherever it finds them: `look(things, given)`."""


Fill = Callable[[str], str]
"""Puts the host's names (`HOST_...`) into a text."""


def program(attack: Attack, task: Task, fill: Fill) -> str:
    """The attack as a function solution."""
    if attack.whole is not None:
        return fill(blanks(attack.whole, task))
    return f"{_head(attack, task, fill)}def {task.entry}(*given):\n    return act(given)\n"


def accomplice(attack: Attack, task: Task, fill: Fill) -> str | None:
    return None if attack.before is None else fill(blanks(attack.before, task))


def stdin_program(attack: Attack, task: Task, fill: Fill) -> str:
    """The attack as a whole program over standard input."""
    if attack.whole is not None:
        return fill(blanks(attack.whole, task))
    return _head(attack, task, fill) + (
        "import json as _json, sys as _sys\n"
        "_value = act(tuple(_json.loads(_sys.stdin.readline())))\n"
        "if _value is not None: print(_value.decode('latin-1') if type(_value) is bytes else _json.dumps(_value))\n"
    )


def strategy(attack: Attack, task: Task, fill: Fill) -> str:
    """The attack inside a strategy program, outside the reach of the import guard around it."""
    if attack.whole is not None:
        return fill(blanks(attack.whole, task))
    inner = _head(attack, task, fill)
    return (
        f"import collections\n_space = {{'__name__': 'other', '__builtins__': collections._sys.modules['builtins']}}\n"
        f"exec(compile({inner!r}, 'other', 'exec'), _space)\n"
        "def rank(evidence):\n    found = _space['act']((evidence,))\n    m, n = evidence.passed.shape\n"
        "    if type(found) is tuple and len(found) == 2: return found\n"
        "    return [0.0] * m, [0.0] * n\n"
    )


def fenced(source: str) -> str:
    """A completion that holds this program."""
    fence = "~~~~~" if "```" in source else "```"
    return f"Here it is.\n\n{fence}python\n{source}\n{fence}\n"


def blanks(text: str, task: Task) -> str:
    """`ENTRY` is the entry point, `HONEST` an honest function `honest`."""
    return text.replace("HONEST", task.honest("honest")).replace("ENTRY", task.entry)


def dress(attack: Attack, stream: random.Random) -> Attack:
    """The same attack called by another API, at another depth, its text written down in another way."""
    if attack.whole is not None or not attack.dressed:
        return attack
    caller, writing = stream.choice(list(CALLERS)), stream.choice(list(WRITINGS))
    name = "_" + "".join(stream.choices("abcdefghij", k=6))
    given = Dress(CALLERS[caller].format(depth=stream.randint(2, 60)), WRITINGS[writing], name)
    return replace(attack, name=f"{attack.name}, {caller}, {writing}", dress=given)


def _head(attack: Attack, task: Task, fill: Fill) -> str:
    deed = "act" if attack.dress is None else attack.dress.name
    body = "".join(f"    {line}\n" for line in attack.act.strip("\n").splitlines())
    text = fill(blanks(f"{attack.setup.strip(chr(10))}\ndef {deed}(given):\n{body}", task))
    looking = LOOKING.format(marks=task.marks()) if "look(" in text else ""
    if attack.dress is None:
        return looking + text
    calls = attack.dress.act.replace("_deed", deed)
    calling = "".join(f"    {line}\n" for line in calls.splitlines())
    return f"{looking}{attack.dress.writing(text)}def act(given):\n{calling}"


# ---------------------------------------------------------------------------------------------------------- dresses
CALLERS = {
    "called": "return _deed(given)",
    "by sorted": "box = []\nsorted([1], key=lambda _: box.append(_deed(given)) or 0)\nreturn box[0]",
    "by a regular expression": "import re\nbox = []\nre.sub('x', lambda _: box.append(_deed(given)) or '', 'x')\nreturn box[0]",
    "by reduce": "import functools\nreturn functools.reduce(lambda _, x: _deed(x), [given], None)",
    "by a generator": "return next(_deed(x) for x in [given])",
    "by a property": "class A:\n    @property\n    def value(self): return _deed(given)\nreturn A().value",
    "by an index": "class A:\n    def __getitem__(self, at): return _deed(given)\nreturn A()[0]",
    "deep down": "def down(n): return _deed(given) if n == 0 else down(n - 1)\nreturn down({depth})",
    "in an exception": "try: raise ValueError(1)\nexcept ValueError: return _deed(given)",
    "in a finally": "box = []\ntry: pass\nfinally: box.append(_deed(given))\nreturn box[0]",
    "by json": "import json\nbox = []\njson.loads('{{}}', object_hook=lambda _: box.append(_deed(given)))\nreturn box[0]",
    "in a context": "import contextlib\n@contextlib.contextmanager\ndef around():\n    yield _deed(given)\nwith around() as found: return found",
    "by a coroutine": "async def go(): return _deed(given)\ntry: go().send(None)\nexcept StopIteration as stop: return stop.value",
    "by a metaclass": "box = []\nclass M(type):\n    def __new__(c, *a): box.append(_deed(given)); return type.__new__(c, *a)\nclass A(metaclass=M): pass\nreturn box[0]",
    "twice": "_deed(given)\nreturn _deed(given)",
}
"""Ways to come to a call of `_deed(given)` and hand its value on."""


def _exec(expression: str) -> str:
    return f"exec(compile({expression}, '<string>', 'exec'), globals())\n"


WRITINGS: dict[str, Callable[[str], str]] = {
    "in the open": lambda text: text,
    "in base64": lambda text: "import base64\n" + _exec(f"base64.b64decode({base64.b64encode(_bytes(text))!r})"),
    "compressed": lambda text: "import zlib\n" + _exec(f"zlib.decompress({zlib.compress(_bytes(text))!r})"),
    "as numbers": lambda text: _exec(f"bytes({list(_bytes(text))!r})"),
    "backwards": lambda text: _exec(f"{text[::-1]!r}[::-1]"),
    "as a literal": lambda text: _exec(repr(text)),
    "in hexadecimal": lambda text: _exec(f"bytes.fromhex({_bytes(text).hex()!r})"),
}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
