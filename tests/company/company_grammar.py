"""Programs of a language of the company policy, drawn at random: each holds a token of its own in many places and looks
for those of others wherever the language leads.

A program is a list of *probes*, small functions whose results are all returned. They are drawn from the tables of the
language (so a weaker language is used at once) and from what no language should admit; what the policy refuses is drawn
again. The grammar knows kinds of values, so that most probes work, and mixes them up now and then.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from company_forms import ATOMS, FORMS, FUNCTIONS, HEAD, NAMES, SPARE, STATEMENTS, TAIL

from evosyn.sandbox.company import Language, admits

PROBES, FRESH = 16, 5
"""Of a program, and those of them that are drawn for it."""


def _words(text: str) -> list[str]:
    return text.split()


KINDS = ("int", "float", "str", "bytes", "list", "tuple", "dict", "set", "func", "iter", "bool")
FORBIDDEN_ATTRIBUTES = _words(
    "__globals__ __class__ __dict__ __self__ __func__ __code__ __closure__ __defaults__ __builtins__ __subclasses__ "
    "__mro__ __base__ __init__ __wrapped__ __module__ __doc__ __reduce__ __traceback__ __context__ with_traceback args "
    "gi_frame gi_code f_back f_locals f_globals f_builtins tb_frame tb_next co_consts cell_contents cache_parameters "
    "func keywords format format_map modules _getframe get_objects base data ctypes view flags tobytes tofile"
)
FORBIDDEN_NAMES = _words(
    "getattr setattr hasattr type vars dir globals locals id hash object super memoryview bytearray callable slice "
    "classmethod property format __builtins__ __spec__"
)
FORBIDDEN_NUMPY = _words("empty empty_like ndarray frombuffer resize lib core dtype asanyarray put copyto")
SIZES = (3, 6, 12, 24, 48, 96, 192, 384)


class Program(NamedTuple):
    """One drawn program and the token that is its own."""

    source: str
    token: str


class Grammar:
    """Draws programs of one language.

    Args:
        rng: the only source of chance.
        focus: words that are to come up often: what a weakened language admits more.
        arrays: the language has numpy; programs are strategies.
    """

    def __init__(self, language: Language, rng: random.Random, focus: Sequence[str] = ()) -> None:
        self.language, self.rng, self.focus = language, rng, list(focus)
        self.arrays = "numpy" in language.modules
        self.modules = sorted(name for name in language.modules if "." not in name)
        self.methods = sorted(language.methods)
        self.refused = 0
        self._aliases: dict[str, str] = {}
        self._quiet = sorted(name[7:] for name in language.silent if name.startswith("typing."))
        self._known: list[str] = []

    # ---------------------------------------------------------------------------------------------------- programs
    def program(self) -> Program:
        """A program that the policy admits; some of its probes are new, some were seen in other programs."""
        while True:
            token = f"tk{self.rng.getrandbits(88):022x}"
            self._aliases = {module: self.rng.choice([module, module, f"m_{module}"]) for module in self.modules}
            fresh = [self._probe() for _ in range(FRESH)]
            probes = [*fresh, *self.rng.choices([*self._known, *fresh], k=PROBES - FRESH)]
            body = [text.replace("def p(", f"def p{number}(") for number, text in enumerate(probes)]
            tail = TAIL.replace("SPARE", SPARE if self.arrays else "pass").replace("SIZES", str(SIZES))
            tail = tail.replace("PROBES", ", ".join(f"p{number}" for number in range(len(probes))))
            chunks = [int.from_bytes(token[at : at + 8].encode(), "little") for at in (0, 8, 16)]
            head = HEAD.replace("NUMBER", str(int.from_bytes(token.encode(), "big"))).replace("CHUNKS", str(chunks))
            text = self._imports() + self._named(head + "\n".join(body) + tail, token)
            if admits(text, self.language):
                self._known += fresh  # of a refused program none: one that no whole program may hold would spoil all
                return Program(text, token)
            self.refused += 1

    def _probe(self) -> str:
        """A probe that the policy admits, with places for the names of modules and the token."""
        around = self._named(f"{self._imports()}{NAMES}\n{FUNCTIONS}\n", "tk")
        while True:
            text = self._function()
            if admits(around + self._named(text, "tk"), self.language):
                return text
            self.refused += 1

    def _imports(self) -> str:
        lines = [f"import {name}" + (f" as {alias}" if alias != name else "") for name, alias in self._aliases.items()]
        lines.append(f"from typing import {', '.join(self._quiet)}")
        lines.append("from collections import Counter as Counter_, deque")
        lines.append("from functools import lru_cache, partial")
        if self.rng.random() < 0.3:
            lines.insert(0, "from __future__ import annotations")
        return "\n".join(lines) + "\n"

    def _named(self, text: str, token: str) -> str:
        """Put in what modules are called in this program, and its token."""

        def name(match: re.Match[str]) -> str:
            word = match.group()
            if word == "TOKEN":
                return token
            return self._aliases.get("numpy" if word == "NP" else word.lower(), word)

        return re.sub(r"\b[A-Z]{2,}\b", name, text).replace("LEFT", "<<")

    # --------------------------------------------------------------------------------------------------- functions
    def _function(self) -> str:
        rng = self.rng
        lines = self._statements(rng.choice([0, 1, 1, 2]))
        direct = self.focus and rng.random() < 0.4
        lines.append(f"return {self._focused(rng.choice(self.focus), 1) if direct else self.expr('any', 3)}")
        note = rng.choice(["", "", f": {rng.choice(self._quiet)}"])
        head = f"def p(x{note}={rng.choice(['None', 'own', 'keep', '0.5'])}, *rest, y=1, **more):\n"
        if rng.random() < 0.1:
            head = f"@{rng.choice(['keep', 'same', 'FUNCTOOLS.cache', 'lru_cache(maxsize=2)'])}\n{head}"
        return head + "".join(f"    {line}\n" for line in lines)

    def _annotation(self) -> str:
        rng = self.rng
        inner = rng.choice(["int", "str", "list", "None", "'x'", "float", "...", "1", "True"])
        name = rng.choice(self._quiet)
        forms = (name, f"{name}[{inner}]", f"{name}[{inner}, int]", f"dict[{inner}, {name}]", f"{inner} | {name}")
        return rng.choice([inner, *forms, *(["NP.ndarray"] if self.arrays else []), "TYPING.Any"])

    def _statements(self, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            block = self.rng.choice(STATEMENTS)
            lines += self._filled(block).strip("\n").split("\n")
        return lines

    def _filled(self, template: str, depth: int = 3) -> str:
        """Replace every word in brackets: a kind of value by an expression of it, others by what they stand for."""
        first, *parts = template.split("<")
        for part in parts:
            word, _, rest = part.partition(">")
            made = _WORDS.get(word)
            first += (made(self) if made else self.expr(word, depth - 1)) + rest
        return first

    # -------------------------------------------------------------------------------------------------- expressions
    def expr(self, kind: str, depth: int) -> str:
        """Source of an expression that most likely has a value of this kind."""
        rng = self.rng
        if rng.random() < 0.06 or kind == "any":
            kind = rng.choice((*KINDS, "array") if self.arrays else KINDS)
        if kind == "array" and not self.arrays:
            kind = "list"
        if depth > 0 and rng.random() < 0.16:
            return self._wild(depth)
        choices = ATOMS[kind] if depth <= 0 else FORMS[kind]
        return f"({self._filled(rng.choice(choices), depth)})"

    def _wild(self, depth: int) -> str:
        """An attribute, a call or a look at whatever there is."""
        rng = self.rng
        if self.focus and rng.random() < 0.5:
            return self._focused(rng.choice(self.focus), depth)
        some = self.expr("any", depth - 1)
        kind = rng.choices(range(8), (6, 6, 6, 6, 1, 1, 6, 6))[0]
        if kind == 0:
            return f"{some}.{self._attribute()}"
        if kind == 1:
            return f"{some}.{self._attribute()}({self._arguments(depth)})"
        if kind == 2:
            return f"{self._callable()}({self._arguments(depth)})"
        if kind == 3:
            return f"{self._callable()}.{self._attribute()}({self._arguments(depth)})"
        if kind == 4:
            return f"{self._path()}.format({some}, {self._callable()})"
        if kind == 5:
            return f"{rng.choice(FORBIDDEN_NAMES)}({self._arguments(depth)})"
        if kind == 6:
            return f"{self._callable()}.{self._attribute()}"
        return f"{some}[{self.expr('any', depth - 1)}]"

    def _focused(self, word: str, depth: int) -> str:
        """An expression around a word that a weakened language admits."""
        rng = self.rng
        some = rng.choice(
            [self.expr("any", depth - 1), self._callable(), "waiting", "failure()", "keep", "table.merge"]
        )
        if "=" in word:
            name = rng.choice(["add", "divide", "multiply", "maximum", "sqrt", "exp", "equal"])
            size = rng.choice(SIZES)
            arrays = ", ".join([f"NP.arange({size})"] * (1 if name in ("sqrt", "exp") else 2))
            return f"NP.{name}({arrays}, {word}{self.expr('bool', 0)})"
        if "." in word:
            module, _, name = word.partition(".")
            called = f"{_place(module)}.{name}"
            form = rng.choice([f"{called}({self._arguments(1)})", f"{called}({rng.choice(SIZES)})", called])
            return f"{form}.{self._attribute()}({self._arguments(1)})" if rng.random() < 0.4 else form
        if word in ("getattr", "type", "vars"):
            named = f", '{rng.choice(FORBIDDEN_ATTRIBUTES)}'" if word == "getattr" else ""
            return f"{word}({some}{named})"
        if word == "format":
            return f"{self._path()}.format({some}, keep, cached)"
        tail = "".join(f".{rng.choice(self.focus)}" for _ in range(rng.choice([0, 0, 1, 2])) if word != "__globals__")
        return f"{some}.{word}{tail}"

    def _path(self) -> str:
        rng = self.rng
        steps = [rng.choice([f".{rng.choice(FORBIDDEN_ATTRIBUTES)}", "[0]", "[_sys]", "[__main__]"]) for _ in range(3)]
        return f"'{{{rng.choice(['0', '1'])}{''.join(steps[: rng.choice([1, 1, 2, 3])])}}}'"

    def _attribute(self) -> str:
        if self.focus and self.rng.random() < 0.3:
            return self.rng.choice(self.focus).rpartition(".")[2].strip("=")
        return self.rng.choice(FORBIDDEN_ATTRIBUTES if self.rng.random() < 0.04 else self.methods)

    def _callable(self) -> str:
        """A builtin, an export of a module, or a function of the program."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(sorted(self.language.builtins))
        if kind < 0.75:
            module = rng.choice(self.modules)
            names = sorted(self.language.modules[module]) or ["Any"]
            if self.arrays and (module == "numpy" or rng.random() < 0.4):
                module = "numpy"
                called = [name[6:] for name in self.language.called if name.startswith("numpy.")]
                names = [*called, *names, *(FORBIDDEN_NUMPY if rng.random() < 0.05 else [])]
            return f"{_place(module)}.{rng.choice(names)}"
        if kind < 0.76:
            return rng.choice(FORBIDDEN_NAMES)
        return rng.choice(["keep", "cached", "stay", "failure", "same", "fill", "iter", "Counter_", "partial", "List"])

    def _arguments(self, depth: int) -> str:
        rng = self.rng
        given = [self.expr("any", depth - 1) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
        if rng.random() < 0.1 and given:
            given[-1] = f"*{given[-1]}"
        if rng.random() < 0.25:
            names = [*self.language.keywords, "key", "reverse", "default", "start", "maxlen", "file", "sep", "encoding"]
            given.append(f"{rng.choice(sorted(names))}={self.expr('any', depth - 1)}")
        if rng.random() < 0.03:
            given.append(f"**{self.expr('dict', 1)}")
        return ", ".join(given)

    def _export(self) -> str:
        module = self.rng.choice([name for name in self.modules if name != "typing"])
        names = sorted(self.language.modules[module]) + [
            name.partition(".")[2] for name in self.language.called if name.startswith(f"{module}.")
        ]
        return f"{_place(module)}.{self.rng.choice(names)}"

    def _numpy_call(self) -> str:
        names = [name[6:] for name in self.language.called if name.startswith("numpy.")]
        name = self.rng.choice(names)
        size = self.rng.choice([1, 1, 2, 2, 3])
        arrays = [self.expr(self.rng.choice(["array", "array", "int", "list"]), 1) for _ in range(size)]
        if self.rng.random() < 0.35:
            keyword = self.rng.choice(sorted(self.language.keywords))
            value = self.expr(self.rng.choice(["int", "bool", "array", "float"]), 1)
            if keyword == "dtype":
                value = self.rng.choice(_DTYPES)
            if keyword == "where" and self.rng.random() < 0.5:
                arrays.append("out=NP.zeros_like(a)")
            arrays.append(f"{keyword}={value}")
        return f"NP.{name}({', '.join(arrays)})"


_DTYPES = [
    "float",
    "int",
    "bool",
    "'int64'",
    "'float'",
    "'V8'",
    "'S24'",
    "a.dtype",
    "object",
    "[('a', 'i4')]",
    "NP.float64",
]
_WORDS: dict[str, Callable[[Grammar], str]] = {
    "attr": lambda grammar: grammar._attribute(),
    "call": lambda grammar: grammar._callable(),
    "size": lambda grammar: str(grammar.rng.choice(SIZES)),
    "module": lambda grammar: _place(grammar.rng.choice(grammar.modules)),
    "export": lambda grammar: grammar._export(),
    "npcall": lambda grammar: grammar._numpy_call(),
    "kind_of": lambda grammar: grammar.rng.choice(_DTYPES),
    "op": lambda grammar: grammar.rng.choice(_words("+ - * / // % @ | & ^ >>")),
    "cmp": lambda grammar: grammar.rng.choice(["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"]),
    "anno": lambda grammar: grammar._annotation(),
}


def _place(module: str) -> str:
    """The word that stands for a module until a program gives it a name."""
    return "NP" if module == "numpy" else module.upper()


def coverage(sources: Sequence[str]) -> set[str]:
    """Kinds of node, and names with a prefix that says what they are, that occur in programs."""
    seen: set[str] = set()
    for source in sources:
        tree = ast.parse(source)
        imported: dict[str, str] = {}
        for node in ast.walk(tree):
            seen.add(type(node).__name__)
            if isinstance(node, ast.Import):
                imported.update((alias.asname or alias.name, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                imported.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
                if node.module == "__future__":  # used by being imported
                    seen.update(imported.values())
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                seen.add(imported.get(node.id, node.id))
            elif isinstance(node, ast.Attribute):
                base = ast.unparse(node.value)
                inner, _, last = base.partition(".")
                place = imported.get(inner, "") + (f".{last}" if last else "")
                seen.add(f"{place}.{node.attr}" if inner in imported else f".{node.attr}")
                seen.add(f".{node.attr}")
            elif isinstance(node, ast.keyword):
                seen.add(f"{node.arg}=")
    return seen
