"""Standard input and output: what a whole program prints is judged, however and whatever it prints.

Hostile ones print nothing that is right; honest ones print the right text in an unusual way and must pass.
"""

from __future__ import annotations

import random
from typing import Any

from hostile_suite.families._make import attack, solutions
from hostile_suite.model import STDIO, Attack, Family, Role, only

RIGHT = "HONEST\nimport json, sys, os\n"
READ = "value = json.dumps(honest(*json.loads(input())))\n"


def stream(name: str, text: str, **rest: Any) -> Attack:
    """A whole program; `value` is the right text."""
    return attack(name, whole=RIGHT + text, modes=(STDIO,), dressed=False, **rest)


HOSTILE = solutions(
    "standard output",
    "Only what stands on standard output when the program has ended counts, and only if it is right as a whole.",
    [
        stream(name, text)
        for name, text in {
            "prints the word": "print('PASS')",
            "prints nothing": "",
            "prints a blank line": "print('')",
            "prints to the wrong stream": READ + "print(value, file=sys.stderr)",
            "prints twice": READ + "print(value)\nprint(value)",
            "prints more": READ + "print(value)\nprint(7)",
            "prints a guess before": READ + "print('[]')\nprint(value)",
            "prints a NUL behind": READ + "print(value + '\\0')",
            "prints a NUL inside": READ + "print(value[:3] + '\\0' + value[3:])",
            "prints undecodable bytes": READ + "os.write(1, b'\\xff\\xfe' + value.encode())",
            "prints in another encoding": READ + "os.write(1, value.encode('utf-16'))",
            "prints as a surrogate": READ + "sys.stdout.reconfigure(errors='surrogatepass'); print('\\ud800' + value)",
            "prints backwards": READ + "print(value[::-1])",
            "prints with separators": READ + "print(*value)",
            "prints over itself": READ + "print('0' * len(value) + '\\r' + value)",
            "prints deletions": READ + "print('x\\b' + value)",
            "prints a colour": READ + "print('\\x1b[31m' + value + '\\x1b[0m')",
            "prints, then raises": READ + "print(value, flush=True)\nraise ValueError",
            "prints, then exits badly": READ + "print(value, flush=True)\nsys.exit(1)",
            "prints, then exits with a text": READ + "print(value, flush=True)\nsys.exit('done')",
            "prints, then leaves badly": READ + "print(value, flush=True)\nos._exit(79)",
            "prints, then is killed": READ + "print(value, flush=True)\nimport signal\nsignal.raise_signal(9)",
            "prints, then aborts": READ + "print(value, flush=True)\nos.abort()",
            "closes its output first": READ + "os.close(1)\nprint(value)",
            "has no output": READ + "sys.stdout = None\nprint(value)",
            "leaves without flushing": READ + "sys.stdout.write(value)\nos._exit(0)",
            "seeks far away": READ + "os.lseek(1, 1 << 30, 0)\nos.write(1, value.encode())",
            "makes it large": READ + "print(value, flush=True)\nos.ftruncate(1, 1 << 40)",
            "makes it empty": READ + "print(value, flush=True)\nos.ftruncate(1, 0)",
            "hands its input back": "os.lseek(0, 0, 0); os.write(1, os.read(0, 1 << 20))",
            "output is its input": "os.lseek(0, 0, 0); os.write(0, b'6'); os.dup2(0, 1)",
            "reads its output": "os.lseek(1, 0, 0); print(os.read(1, 1 << 20).decode())",
            "reads its input from /proc": "print(open('/proc/self/fd/0').read())",
            "exits at once": "sys.exit(0)",
            "leaves at once": "os._exit(0)",
            "prints at the end too": READ
            + "import atexit\natexit.register(os.write, 1, b'7')\nprint(value)\nos.write(1, b'x')",
            "a thread prints more": READ
            + "import threading\nprint(value, flush=True)\nt = threading.Thread(target=print, args=('more',)); t.start(); t.join()",
            "a finalizer prints more": READ
            + "class A:\n    def __del__(self): os.write(1, b'more')\na = A()\nprint(value, flush=True)\ndel a",
            "writes the result of another": "import struct\nfor fd in range(2, 64):\n    try: os.write(fd, b'6\\n'); os.write(fd, struct.pack('<BdI', 0, 0.0, 0))\n    except OSError: pass",
        }.items()
    ],
    words="wrong exception killed load-error timeout output-limit",
    draw=lambda s: _truncated(s),
    draws=4,
    modes=(STDIO,),
)
ENDLESS = solutions(
    "standard input and output without end",
    "A program that reads, waits or prints for ever ends at its limit.",
    [
        stream(name, text)
        for name, text in {
            "reads for ever": "while True:\n    try: input()\n    except EOFError: pass",
            "waits for more input": "import time\nsys.stdin.read()\ntime.sleep(1000)",
            "reads from another": "while True: os.read(2, 1)",
            "prints for ever": READ + "while True: print(value)",
            "prints its input for ever": "text = sys.stdin.read()\nwhile True: sys.stdout.write(text)",
            "prints, then hangs": READ + "print(value, flush=True)\nwhile True: pass",
            "hangs at the end": READ
            + "print(value, flush=True)\nclass A:\n    def __del__(self):\n        while True: pass\na = A()\ndel a",
        }.items()
    ],
    words="timeout killed output-limit exception wrong",
    slow=True,
    draws=0,
    modes=(STDIO,),
)


def _truncated(s: random.Random) -> Attack:
    """Right but for one drawn change of the text."""
    at, what = s.random(), s.choice(("''", "'0'", "'\\0'", "'\\u200b'", "'\\ufeff'", "'\\x7f'"))
    text = READ + f"at = 1 + int({at} * (len(value) - 2))\nprint(value[:at] + {what} + value[at + 1:] + 'x')"
    return stream(f"changed at {at:.3f} to {what}", text)


HONEST = solutions(
    "honest programs on standard input",
    "A right program passes however it reads, prints and ends.",
    [
        stream(name, text)
        for name, text in {
            "print": READ + "print(value)",
            "blanks and lines behind": READ + "print(value + '   \\n\\n')",
            "no line end": READ + "sys.stdout.write(value)",
            "carriage returns": READ + "sys.stdout.write(value + '\\r\\n')",
            "bytes": READ + "sys.stdout.buffer.write(value.encode())",
            "raw bytes": READ + "os.write(1, value.encode() + b'\\n')",
            "many writes": READ + "for c in value: sys.stdout.write(c)\nprint()",
            "many raw writes": READ + "for c in value: os.write(1, c.encode())",
            "leaves after flushing": READ + "print(value, flush=True)\nos._exit(0)",
            "exits": READ + "print(value)\nsys.exit(0)",
            "exits without a status": READ + "print(value)\nraise SystemExit",
            "quits": READ + "print(value)\nsys.exit()",
            "prints at the end": READ + "import atexit\natexit.register(print, '')\nprint(value)",
            "errors beside": READ + "print('note', file=sys.stderr)\nprint(value)",
            "reads everything": "print(json.dumps(honest(*json.loads(sys.stdin.read()))))",
            "reads bytes": "print(json.dumps(honest(*json.loads(sys.stdin.buffer.read()))))",
            "reads raw": "print(json.dumps(honest(*json.loads(os.read(0, 1 << 20)))))",
            "reads lines": "for line in sys.stdin: print(json.dumps(honest(*json.loads(line))))",
            "reads with an iterator": "print(json.dumps(honest(*json.loads(next(iter(sys.stdin.readline, ''))))))",
            "reads by character": "text = ''\nwhile True:\n    c = sys.stdin.read(1)\n    if not c: break\n    text += c\nprint(json.dumps(honest(*json.loads(text))))",
            "reads by byte": "text = b''\nwhile True:\n    c = os.read(0, 1)\n    if not c: break\n    text += c\nprint(json.dumps(honest(*json.loads(text))))",
            "reads with open": "print(json.dumps(honest(*json.loads(open(0).read()))))",
            "reads with fileinput": "import fileinput\nprint(json.dumps(honest(*json.loads(next(fileinput.input(files=('-',)))))))",
            "reads until the end": "lines = []\ntry:\n    while True: lines.append(input())\nexcept EOFError: pass\nprint(json.dumps(honest(*json.loads(lines[0]))))",
            "reads with mmap's kin": "import io\nprint(json.dumps(honest(*json.loads(io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8').readline()))))",
            "main guard": "def main(): print(json.dumps(honest(*json.loads(input()))))\nif __name__ == '__main__': main()",
            "a class": "class Solver:\n    def run(self): print(json.dumps(honest(*json.loads(input()))))\nSolver().run()",
            "a large buffer": "sys.stdin = open(0, buffering=1 << 16)\nprint(json.dumps(honest(*json.loads(input()))))",
            "a thread": "import threading\nthreading.stack_size(64 << 20)\ndef main(): print(json.dumps(honest(*json.loads(input()))))\nt = threading.Thread(target=main); t.start(); t.join()",
            "deep recursion in a thread": "import threading\nsys.setrecursionlimit(20000)\nthreading.stack_size(64 << 20)\ndef down(n): return 0 if n == 0 else down(n - 1)\ndef main(): down(10000); print(json.dumps(honest(*json.loads(input()))))\nt = threading.Thread(target=main); t.start(); t.join()",
            "asyncio": "import asyncio\nasync def main(): print(json.dumps(honest(*json.loads(input()))))\nasyncio.run(main())",
            "redirected output": "import contextlib, io\nbox = io.StringIO()\nwith contextlib.redirect_stdout(box): print(json.dumps(honest(*json.loads(input()))))\nsys.stdout.write(box.getvalue())",
            "replaced print": "write = sys.stdout.write\nwrite(json.dumps(honest(*json.loads(input()))) + '\\n')",
            "logging": "import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.info('x')\n"
            + READ
            + "print(value)",
            "warnings": "import warnings\nwarnings.warn('x')\n" + READ + "print(value)",
            "format strings": READ + "print(f'{value:s}')",
            "pprint of a text": READ + "import textwrap\nprint(textwrap.dedent(value))",
            "closes its input": READ + "sys.stdin.close()\nprint(value)",
            "standard library": "import collections, decimal, fractions, statistics, datetime, random, string, bisect, heapq\n"
            + READ
            + "print(value)",
        }.items()
    ]
    + [attack("a byte order mark", whole="\ufeff" + RIGHT + READ + "print(value)", modes=(STDIO,), dressed=False)],
    words=only("pass"),
    role=Role.HONEST,
    draws=0,
    modes=(STDIO,),
)
FAMILIES: tuple[Family, ...] = (HOSTILE, ENDLESS, HONEST)
