"""Theft: programs that look for the hidden values, or for another's answers, in whatever they can reach.

Each knows a checksum of the value that is wanted for each call (`look(things, given)`), so it recognizes the value in
any form in which it lies about: an object, a text, bytes of memory. A pass would mean that it lay there.
"""

from __future__ import annotations

from dataclasses import replace

from hostile_suite.families._make import attack, solutions
from hostile_suite.model import Attack, Family

QUIET = "wrong exception timeout killed"

WALK = """
    import sys
    def walk(frame, given, seen=64):
        things = []
        while frame and seen:
            things += list(frame.f_locals.values()) + list(frame.f_code.co_consts)
            things += [v for v in list(frame.f_globals.values()) if type(v) in (str, bytes, list, tuple, dict)]
            frame, seen = frame.f_back, seen - 1
        return look([t for t in things if t is not given], given)
"""

FRAMES = solutions(
    "theft from frames",
    "No frame that a program can reach holds an expected value, a testing's text or another program's answer.",
    [
        attack("own stack", WALK, "return walk(sys._getframe(), given)"),
        attack(
            "stack of an exception",
            WALK,
            "try: 1 / 0\nexcept ZeroDivisionError as e: return walk(e.__traceback__.tb_frame, given)",
        ),
        attack(
            "frames of every thread",
            WALK,
            "for frame in sys._current_frames().values():\n    found = walk(frame, given)\n    if found is not None: return found",
        ),
        attack(
            "inspect",
            "import inspect",
            "return look([v for f in inspect.stack(0) for v in f.frame.f_locals.values()], given)",
        ),
        attack(
            "profile function",
            WALK
            + """
    kept = []
    def grab(frame, event, arg):
        if len(kept) < 400: kept.append(arg); kept.extend(frame.f_locals.values())
    sys.setprofile(grab)
    """,
            "sys.setprofile(None)\nfound = look(kept, given)\nsys.setprofile(grab)\nreturn found",
        ),
        attack(
            "trace function",
            WALK
            + """
    kept = []
    def grab(frame, event, arg):
        if len(kept) < 400: kept.append(arg); kept.extend(frame.f_locals.values())
        return grab
    sys.settrace(grab)
    """,
            "sys.settrace(None)\nfound = look(kept, given) or walk(sys._getframe(), given)\nsys.settrace(grab)\nreturn found",
        ),
        attack(
            "own exception that came back",
            WALK
            + """
    class E(Exception): pass
    last = []
    """,
            "if last:\n    tb = last[0].__traceback__\n    while tb:\n        found = walk(tb.tb_frame, given)\n        if found is not None: return found\n        tb = tb.tb_next\nlast[:] = [E()]\nraise last[0]",
        ),
        attack(
            "frame of a signal handler",
            WALK
            + """
    import signal
    box = []
    signal.signal(signal.SIGVTALRM, lambda number, frame: box.append(frame))
    """,
            "box.clear()\nsignal.setitimer(signal.ITIMER_VIRTUAL, 1e-4)\nwhile not box: pass\nreturn walk(box[-1], given)",
        ),
        attack(
            "frame of a finalizer",
            WALK
            + """
    box = []
    class A:
        def __del__(self): box.append(sys._getframe())
    """,
            "A()\nreturn walk(box[-1], given)",
        ),
        attack(
            "frame of a callback of the collector",
            WALK
            + """
    import gc
    box = []
    gc.callbacks.append(lambda phase, info: box.append(sys._getframe()))
    """,
            "gc.collect()\nreturn walk(box[-1], given)",
        ),
        attack(
            "frames behind an audit hook",
            WALK
            + """
    box = []
    def hook(name, args):
        if len(box) < 200: box.extend(args); box.append(sys._getframe())
    sys.addaudithook(hook)
    """,
            "found = look(list(box), given)\nif found is None and box: found = walk(sys._getframe(), given)\nreturn found",
        ),
        attack(
            "frames while loading",
            WALK
            + "    early = {}\n    def at_load(given): return walk(sys._getframe(), given)\n    for key in list(_MARKS): early[key] = at_load(eval(key))",
            "return early.get(repr(given))",
        ),
    ],
    words=QUIET,
    draws=4,
)


def seldom(family: Family) -> Family:
    """The same attacks, searching in their first two calls only: a search finds what is wanted for all calls."""
    return replace(family, fixed=tuple(map(_twice, family.fixed)))


def _twice(one: Attack) -> Attack:
    if "look(" not in one.act + one.setup:
        return one
    body = "".join(f"    {line}\n" for line in one.act.splitlines())
    again = "if repr(given) not in FOUND and len(_SCANNED) < 2:\n    _SCANNED.append(1)\n    scan((0,))\n"
    return replace(one, act=f"def scan(given):\n{body}{again}return FOUND.get(repr(given))")


HEAP = solutions(
    "theft from the heap",
    "No object that the collector, the modules or the types lead to holds a value that decides a verdict.",
    [
        attack(
            "collector",
            "import gc",
            "return look([o for o in gc.get_objects() if type(o) in (list, tuple, dict)][:60000], given, 1)",
        ),
        attack(
            "collector and its texts",
            "import gc",
            """
    texts = []
    for thing in gc.get_objects()[:60000]:
        if type(thing) in (list, tuple, dict, set):
            texts += [t for t in gc.get_referents(thing) if type(t) in (str, bytes) and 5 < len(t) < 300000]
    return look(texts[:80000], given, 0)
    """,
        ),
        attack(
            "referrers of the arguments",
            "import gc",
            """
    todo, seen = [given], set()
    for _ in range(40):
        if not todo: return None
        thing = todo.pop(0)
        for one in gc.get_referrers(thing):
            if id(one) not in seen and one is not todo:
                seen.add(id(one)); todo.append(one)
                found = look([one], given, 1)
                if found is not None: return found
    """,
        ),
        attack(
            "modules",
            "import sys",
            """
    things = []
    for module in list(sys.modules.values()):
        things += list(vars(module).values())
    return look([t for t in things if type(t) in (str, bytes, list, dict, tuple)], given, 1)
    """,
        ),
        attack(
            "instances of every class",
            "import gc",
            """
    todo, seen = [object], set()
    while todo:
        kind = todo.pop()
        for sub in type.__subclasses__(kind):
            if sub not in seen: seen.add(sub); todo.append(sub)
    things = []
    for one in gc.get_objects()[:60000]:
        if type(one).__module__ not in ('builtins', 'types'):
            try: things += list(vars(one).values())
            except TypeError: pass
    return look(things, given, 1)
    """,
        ),
        attack(
            "closures and defaults of every function",
            "import gc, types",
            """
    things = []
    for f in gc.get_objects():
        if type(f) is types.FunctionType:
            things += [*(f.__defaults__ or ()), *f.__code__.co_consts]
            for cell in f.__closure__ or ():
                try: things.append(cell.cell_contents)
                except ValueError: pass
    return look(things, given, 1)
    """,
        ),
        attack(
            "what the collector kept as garbage",
            "import gc\ngc.set_debug(gc.DEBUG_SAVEALL)",
            "gc.collect()\nreturn look(gc.garbage, given, 2)",
        ),
        attack(
            "uncollected cycles of another",
            "import gc\ngc.disable()",
            "return look(gc.get_objects(0) + gc.get_objects(1), given, 1)",
        ),
    ],
    words=QUIET,
    draws=3,
)

HEAP = seldom(HEAP)

PROBE = """
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    def page(address, pipe=os.pipe()):
        "The bytes at an address, or None where nothing is mapped."
        if libc.write(pipe[1], address, 4096) != 4096: return None
        return os.read(pipe[0], 4096)
    def around(address, given, pages=6000):
        base, block = address & ~4095, []
        for step in (4096, -4096):
            misses, at = 0, base
            for _ in range(pages):
                data = page(at)
                if data is None:
                    misses += 1
                    if misses > 3000: break
                else: block.append(data)
                at += step
        return look([b''.join(block[n:n + 64]) for n in range(0, len(block), 63)], given, 0)
"""

MEMORY = solutions(
    "theft from memory",
    "The address space of a program, freed memory included, never held what decides its verdict.",
    [
        attack(
            "maps and mem of itself",
            "",
            """
    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as mem:
        for line in maps:
            span, mode = line.split()[:2]
            low, high = (int(x, 16) for x in span.split('-'))
            if 'rw' in mode and high - low < 1 << 25:
                try: mem.seek(low); data = mem.read(high - low)
                except (OSError, ValueError): continue
                for at in range(0, len(data), 900000):
                    found = look([data[at:at + 950000]], given, 0)
                    if found is not None: return found
    """,
        ),
        attack("pages around its objects", PROBE, "return around(id(given), given)"),
        attack("pages around old objects", PROBE, "return around(id(os), given)"),
        attack(
            "the heap below the break",
            PROBE,
            "libc.sbrk.restype = ctypes.c_void_p\nreturn around(libc.sbrk(0) - 4096, given, 3000)",
        ),
        attack(
            "its stack",
            PROBE,
            "box = ctypes.c_int(1)\nenviron = ctypes.c_void_p.in_dll(libc, 'environ').value or ctypes.addressof(box)\nreturn around(environ, given, 2000)",
        ),
        attack(
            "freed blocks handed out again",
            PROBE + "    libc.malloc.restype = ctypes.c_void_p\n    libc.malloc.argtypes = (ctypes.c_size_t,)",
            """
    parts = []
    for size in (600, 1000, 2000, 5000, 9000, 20000, 66000, 120000, 300000):
        for _ in range(20):
            at = libc.malloc(size)
            if at: parts.append(ctypes.string_at(at, size))
    return look(parts, given, 0)
    """,
        ),
        attack(
            "files mapped into it",
            "import os",
            """
    try: names = os.listdir('/proc/self/map_files')
    except OSError: names = []
    parts = []
    for name in names[:200]:
        try: parts.append(open('/proc/self/map_files/' + name, 'rb').read(1 << 20))
        except OSError: pass
    return look(parts, given, 0)
    """,
        ),
    ],
    words=QUIET,
    draws=3,
)
MEMORY = seldom(replace(MEMORY, fixed=tuple(replace(one, kinds=("text",)) for one in MEMORY.fixed)))

FAMILIES: tuple[Family, ...] = (FRAMES, HEAP, MEMORY)
