"""Our own process: what is evaluated there is bounded in time and memory, and no value or text of others raises in it.

Lifted asserts, comparisons of values, keys of calls and of verdicts, merging equal programs, admitting company: all of
it happens on texts and values that a model wrote. Each case here is dear, or raises, where that is done without care.
"""

from __future__ import annotations

import random
from typing import Any

from hostile_suite.families._make import Words, attack, solutions
from hostile_suite.model import OWN_CLAIM, TABLE, Attack, Family, Role, allow

OWN = {"*": OWN_CLAIM}
VALUE: Words = allow(
    "wrong not-plain-data exception killed output-limit timeout", rest="wrong exception killed timeout"
)


def lifted(name: str, text: str) -> Attack:
    return attack(name, "", text, modes=(TABLE,), dressed=False)


def _nested(word: str, depth: int) -> Attack:
    return lifted(f"{word} {depth} times", f"assert ENTRY(1) == {f'{word}(' * depth}'\\\\'{')' * depth}")


EXPRESSIONS = {
    "a list for each assert": "assert ENTRY(1) == list(range(10 ** 6 - 1))",
    "a list of lists": "assert ENTRY(1) == [list(range(10 ** 5))] * 10 ** 4",
    "a long range": "assert ENTRY(1) == list(range(10 ** 9))",
    "a sorted range": "assert ENTRY(1) == sorted(range(10 ** 8), reverse=True)",
    "a sum of a range": "assert ENTRY(1) == sum(range(10 ** 10))",
    "a text multiplied": "assert ENTRY(1) == 'x' * 10 ** 10",
    "a text multiplied twice": "assert ENTRY(1) == 'x' * 10 ** 5 * 10 ** 5",
    "a list multiplied": "assert ENTRY(1) == [0] * 10 ** 10",
    "a power": "assert ENTRY(1) == 10 ** 10 ** 10",
    "a power of 5,000 digits": "assert ENTRY(1) == 10 ** 5000",
    "an argument of 5,000 digits": "assert ENTRY(10 ** 5000) == 1",
    "a text of an integer of 5,000 digits": "assert ENTRY(1) == str(10 ** 5000)",
    "a shift": "assert ENTRY(1) == 1 << 10 ** 10",
    "a product of powers": "assert ENTRY(1) == 7 ** 9999 * 7 ** 9999 * 7 ** 9999",
    "a factorial": "import math\nassert ENTRY(1) == math.factorial(10 ** 6)",
    "percent with a width": "assert ENTRY(1) == '%0999999999d' % 1",
    "a format with a width": "assert ENTRY(1) == f'{1:0999999999}'",
    "format with a width": "assert ENTRY(1) == '{:0999999999}'.format(1)",
    "a centred text": "assert ENTRY(1) == 'x'.center(10 ** 10)",
    "expanded tabs": "assert ENTRY(1) == '\\t'.expandtabs(10 ** 10)",
    "replaced text": "assert ENTRY(1) == ('a' * 10 ** 5).replace('a', 'b' * 10 ** 5)",
    "joined text": "assert ENTRY(1) == ('b' * 10 ** 5).join(['a'] * 10 ** 5)",
    "bytes of a length": "assert ENTRY(1) == bytes(10 ** 10)",
    "an integer to bytes": "assert ENTRY(1) == (1).to_bytes(10 ** 10, 'big')",
    "zips of ranges": "assert ENTRY(1) == list(zip(range(10 ** 8), range(10 ** 8)))",
    "a set of colliding items": "assert ENTRY(1) == len({n * (2 ** 61 - 1) for n in range(30000)})",
    "a set of a list of colliding items": "assert ENTRY(1) == set(["
    + ", ".join(str(n * (2**61 - 1)) for n in range(1, 4000))
    + "])",
    "a dictionary of colliding keys": "assert ENTRY(1) == {"
    + ", ".join(f"{n * (2**61 - 1)}: 0" for n in range(1, 4000))
    + "}",
    "colliding negative ones": "assert ENTRY(1) == {-1: 0, -2: 0, (2 ** 61 - 2): 1}",
    "a chain of comparisons": "assert " + " == ".join(["ENTRY(1)"] * 3000),
    "a thousand calls": "assert [" + ", ".join(f"ENTRY({n})" for n in range(1000)) + "] == []",
    "nested calls": "assert " + "ENTRY(" * 200 + "1" + ")" * 200,
    "a divmod by nought": "assert ENTRY(1) == divmod(1, 0)",
    "an index far out": "assert ENTRY(1)[10 ** 30] == 1",
    "a slice far out": "assert ENTRY(1)[:: 10 ** 30] == 1",
    "a float of an integer": "assert ENTRY(1) == float(10 ** 400)",
    "an integer of a text": "assert ENTRY(1) == int('9' * 5000)",
    "an integer of a long text": "assert ENTRY(1) == int('9' * 1000000)",
    "a complex power": "assert ENTRY(1) == (1e308 + 1j) ** 9",
    "chr of a surrogate": "assert ENTRY(1) == chr(0xd800)",
    "a round of much": "assert ENTRY(1) == round(1.5, -10 ** 9)",
    "max of nothing": "assert ENTRY(1) == max([])",
    "an encoded surrogate": "assert ENTRY(1) == '\\ud800'.encode()",
    "a NaN": "assert ENTRY(1) == float('nan')",
    "itself": "assert ENTRY == ENTRY",
    "constants of many asserts": "assert ENTRY(1) == (" + ", ".join("'x' * 10 ** 6" for _ in range(300)) + ")",
    "nested multiplication": "assert ENTRY(1) == " + "[" * 8 + "0" + "] * 100" * 8,
    "nested tuples": "assert ENTRY(1) == " + "(" * 60 + "0" + ", 0) * 2" * 60,
    "sorted texts": "assert ENTRY(1) == sorted(['x' * 10 ** 6] * 10 ** 4)",
    "reversed twice": "assert ENTRY(1) == list(reversed(list(reversed(range(10 ** 7)))))",
    "enumerated": "assert ENTRY(1) == list(enumerate(range(10 ** 8)))",
    "mapped": "assert ENTRY(1) == list(map(str, range(10 ** 8)))",
    "a hash": "assert ENTRY(1) == hash((1,) * 10 ** 8)",
}
LIFTED = solutions(
    "dear asserts",
    "What an assert asks our own process to evaluate is bounded in time and memory by construction; beyond, it runs in "
    "the sandbox or is broken.",
    [lifted(name, text) for name, text in EXPRESSIONS.items()]
    + [_nested(word, depth) for word in ("repr", "ascii", "str") for depth in (20, 29, 60)]
    + [
        attack(
            "two hundred large constants",
            body={"kind": "asserts", "asserts": [f"assert ENTRY({n}) == list(range({10**6 - n}))" for n in range(200)]},
            modes=(TABLE,),
            dressed=False,
        ),
        attack(
            "a thousand long powers",
            body={"kind": "asserts", "asserts": [f"assert ENTRY({n}) == 7 ** {30000 + n}" for n in range(1000)]},
            modes=(TABLE,),
            dressed=False,
        ),
    ],
    words=OWN,
    role=Role.TESTING,
    draw=lambda stream: _draw_lifted(stream),
    draws=10,
)


def _draw_lifted(stream: random.Random) -> Attack:
    """A drawn tree of the operators that grow."""
    text = stream.choice(("'\\\\'", "[0]", "7", "'ab'", "(1, 2)"))
    for _ in range(stream.randint(3, 14)):
        text = stream.choice(
            ("repr({0})", "str({0})", "[{0}] * {n}", "({0}, {0})", "list(({0}, {0}))", "sorted([{0}, {0}])", "({0}) * {n}", "dict(a={0})", "str({0}) * {n}", "'%{n}s' % ({0},)", "{{0: {0}, 1: {0}}}", "len(str({0})) ** {n}")
        ).format(text, n=stream.choice((2, 9, 50, 1000, 99999)))  # fmt: skip
    return lifted(f"tree {text[:50]}", f"assert ENTRY(1) == {text}")


def cases(name: str, *pairs: tuple[object, object], **rest: Any) -> Attack:
    listed = [{"input": given, "output": wanted} for given, wanted in pairs]
    return attack(name, body={"kind": "cases", "cases": listed, **rest}, modes=(TABLE,), dressed=False)


def _deep(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


DATA = solutions(
    "hostile data",
    "A testing that is data is no more than data: deep, long, colliding or huge, it costs its own column.",
    [
        cases("input 900 deep", ([_deep(900)], 1)),
        cases("output 900 deep", ("INPUT", _deep(900))),
        cases("keywords that are none", ({"a b": 1, "": 2, "\0": 3}, 1)),
        cases("keywords that are hidden", ({"__class__": 1, "self": 2}, 1)),
        cases("surrogates", (["\ud800"], "\udfff")),
        cases("a million items", ([list(range(300000))], list(range(300000)))),
        cases("colliding keys", ("INPUT", {str(n): n * (2**61 - 1) for n in range(3000)})),
        cases(
            "colliding numbers", ([[n * (2**61 - 1) for n in range(20000)]], [n * (2**61 - 1) for n in range(20000)])
        ),
        cases("a long text", (["x" * 10**6], "x" * 10**6)),
        cases("a thousand cases", *[([n], n) for n in range(1000)]),
        cases("a huge tolerance", ("INPUT", 1), tolerance=1e299),
        cases("no arguments", ([], 1)),
        cases("too many arguments", ([1] * 3000, 1)),
        cases("an object that looks like a generator", (["x"], {"python": "1", "more": 2})),
        cases("floats at the edge", ([1e308, -1e308, 5e-324], 1e308)),
        cases("booleans and numbers", ([True], 1), ([1], True), ([1.0], 1), ([0], False), ([-0.0], 0)),
    ],
    words=OWN,
    role=Role.TESTING,
    draws=0,
)

DICTIONARY = "{'k0': 1, 'k1': 2, 'k2': 3}"
ASKED = {
    "count of different ones": ("len(set(CALL)) == 7", "return [n * (2 ** 61 - 1) for n in range(19899)]"),
    "keys": ("set(CALL) == {1, 2}", "return {n * (2 ** 61 - 1): 0 for n in range(19899)}"),
    "membership": ("5 in set(CALL)", "return [n * (2 ** 61 - 1) for n in range(19899)]"),
    "sorted": ("sorted(CALL)[0] == 'no'", "return list(range(60000, 0, -1)) * 2"),
    "text of it": ("len(str(CALL)) == 7", "return 10 ** 70000"),
    "representations": ("repr(repr(repr(repr(repr(repr(CALL)))))) == 'x'", "return '\\\\' * 100000"),
    "a power of it": ("CALL ** CALL == 7", "return 10 ** 7"),
    "a product of it": ("CALL * CALL == 7", "return 7 ** 80000"),
    "repeated": ("CALL * 10 ** 9 == 'x'", "return 'x' * 100000"),
    "repeated by it": ("[0] * CALL == []", "return 10 ** 10"),
    "shifted by it": ("1 << CALL == 7", "return 10 ** 10"),
    "range of it": ("list(range(CALL)) == []", "return 10 ** 10"),
    "sum of a range of it": ("sum(range(CALL)) == 7", "return 10 ** 11"),
    "format of it": ("'%s' % CALL == 'x'", "return 10 ** 50000"),
    "width from it": ("'%*d' % (CALL, 1) == 'x'", "return 10 ** 9"),
    "f-string of it": ("f'{CALL}' == 'x'", "return [10 ** 5000]"),
    "f-string with a width from it": ("f'{1:{CALL}}' == 'x'", "return 10 ** 9"),
    "compared with itself": ("CALL0 == CALL1 and False", "a = [0] * 100\nfor _ in range(2): a = [a] * 100\nreturn a"),
    "all against all": ("[x for x in CALL if x in CALL] == 7", "return list(range(60000))"),
    "a comprehension of comprehensions": (
        "sum(1 for a in CALL for b in CALL for c in CALL) == 7",
        "return list(range(3000))",
    ),
    "joined": ("CALL.join(CALL) == 'x'", "return 'x' * 100000"),
    "replaced": ("CALL.replace('x', CALL) == 'x'", "return 'x' * 100000"),
    "split and counted": ("len(CALL.split('x')) == 7 and False", "return 'x' * 200000"),
    "digits of it": ("sum(int(d) for d in str(CALL)) == 7", "return 10 ** 90000"),
    "an index": ("CALL[CALL[0]] == 7", "return [10 ** 30, 1]"),
    "an integer of it": ("int(CALL) == 7", "return '9' * 200000"),
    "a float of it": ("float(CALL) == 7.0", "return 10 ** 5000"),
    "rounded": ("round(CALL, CALL) == 7", "return 10 ** 9"),
    "zipped": ("dict(zip(CALL, CALL)) == {}", "return [n * (2 ** 61 - 1) for n in range(19899)]"),
    "as a key": ("{CALL: 1} == {}", "return 10 ** 5000"),
    "as keys": (f"CALL == {DICTIONARY}", "return {10 ** 5000 + n: n for n in range(3)}"),
    "as keys that fail": (f"CALL == {DICTIONARY}", "return {(10 ** 5000,): 1, float('nan'): 2, None: 3}"),
    "deep": ("CALL == [[[[1]]]]", "a = 1\nfor _ in range(180): a = [a]\nreturn a"),
    "deep against deep": ("CALL0 == CALL1 and False", "a = 1\nfor _ in range(180): a = [a]\nreturn a"),
    "a surrogate": ("CALL.encode() == b''", "return '\\ud800'"),
    "minimum of nothing": ("min(CALL) == 7", "return []"),
    "negative shift": ("1 << CALL == 7", "return -1"),
    "division by it": ("1 / CALL == 7", "return 0"),
    "an attribute of it": ("CALL.real == 7", "return 'x'"),
}
VALUES = solutions(
    "dear values",
    "What our own process does with a program's value is bounded by the value's size and kind, and raises nothing.",
    [
        attack(
            name,
            "",
            act,
            asked=(f"assert {text}",),
            modes=(TABLE,),
            dressed=False,
            kinds=("mapping",) if "key" in name else (),
        )
        for name, (text, act) in ASKED.items()
    ],
    words=VALUE,
    role=Role.VALUE,
    draws=0,
)

MAPPINGS = solutions(
    "keys in comparisons",
    "Keys of a value are compared with keys of an expected one without writing them out, hashing without end or raising.",
    [
        attack(name, "", body, kinds=("mapping",), dressed=False)
        for name, body in {
            "integers of 5,000 digits": "return {10 ** 5000 + n: n for n in range(3)}",
            "one integer of 5,000 digits": "return {10 ** 5000: 1, 'k1': 2, 'k2': 3}",
            "one integer of 100,000 digits": "return {'k0': 1, 7 ** 100000: 2, 'k2': 3}",
            "tuples with an integer of 5,000 digits": "return {(10 ** 5000, n): n for n in range(3)}",
            "floats and NaN": "return {float('nan'): 1, float('inf'): 2, 1.5: 3}",
            "bytes": "return {b'k0': 1, b'k1': 2, b'k2': 3}",
            "surrogates": "return {'\\ud800': 1, '\\udfff': 2, 'k2': 3}",
            "frozen sets": "return {frozenset([n, 10 ** 5000]): n for n in range(3)}",
            "texts of megabytes": "return {'x' * 200000 + str(n): n for n in range(3)}",
            "None and truth": "return {None: 1, True: 2, 'null': 3}",
            "complex": "return {1j: 1, complex('nan'): 2, 3: 3}",
            "an integer of 5,000 digits as a value": "return {'k0': 10 ** 5000, 'k1': -10 ** 5000, 'k2': [10 ** 5000]}",
        }.items()
    ],
    words=allow("wrong not-plain-data output-limit exception", rest="wrong exception killed"),
    draws=0,
)

NUMBERS = {
    "a whole fraction": "Fraction(10 ** {n})",
    "a fraction": "Fraction((1 << {n} % 32700) + 1, 3 ** ({n} % 20000))",
    "a decimal": "Decimal('1.' + '7' * ({n} % 1900))",
    "a far decimal": "Decimal('1E+{n}')",
    "a near decimal": "-Decimal('3E-{n}')",
    "an integer": "3 ** {n}",
    "infinity": "complex('inf')",
    "half infinity": "complex(1, float('-inf'))",
    "no number": "Decimal('sNaN')",
}
NUMBERS_ASKED = {
    "the base": "CALL ** 2 == 9",
    "the exponent": "3 ** CALL == 9",
    "the exponent of a decimal": "(CALL + 0) ** CALL0 == 9",
    "summed": "sum([CALL, CALL0, CALL1]) == 9",
    "the largest": "max([CALL, 10 ** 9000, 1.5]) == 9",
    "in order": "sorted([CALL0, 10 ** 9000, CALL1]) == []",
    "looked for": "CALL in [10 ** 9000] * 99",
    "a key": "{CALL: 1, 10 ** 9000: 2} == {}",
    "halved": "10 ** 9000 / CALL == 9",
    "the rest": "divmod(CALL, 10 ** 9000) == (9, 9)",
    "rounded": "round(CALL, 300) == 9",
    "an integer": "int(CALL) == 9",
    "equal": "CALL == 10 ** 9000",
}


def _number(number: str, size: int, asked: str, many: int) -> Attack:
    one = NUMBERS[number].format(n=size)
    given = one if many == 1 else f"[{one} for _ in range({many})]"
    texts = NUMBERS_ASKED[asked] if many == 1 else "sum(CALL) == sorted(CALL0)[0]"
    act = f"from decimal import Decimal\nfrom fractions import Fraction\nreturn {given}"
    name = f"{number} of {size} {asked}" if many == 1 else f"{many} times {number} of {size}"
    return attack(name, "", act, asked=(f"assert {texts}",), modes=(TABLE,), dressed=False)


DEAR_NUMBERS = solutions(
    "dear numbers",
    "Whatever a number's type, size or finiteness, work on it is paid before it is done, and none passes for another.",
    [
        _number(number, size, asked, 1)
        for number, size, asked in zip(list(NUMBERS) * 3, (300, 5000, 20000, 99999) * 7, list(NUMBERS_ASKED) * 3)
    ]
    + [_number(number, 5000, "", 40) for number in NUMBERS],
    words=VALUE,
    role=Role.VALUE,
    draw=lambda stream: _number(
        stream.choice(list(NUMBERS)), stream.choice((50, 999, 8000, 30000)), stream.choice(list(NUMBERS_ASKED)), 1
    ),
    draws=4,
)

FAMILIES: tuple[Family, ...] = (LIFTED, DATA, VALUES, MAPPINGS, DEAR_NUMBERS)
