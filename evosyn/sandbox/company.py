"""Company: which programs may follow each other in one process. One policy, and the only one.

A program may when it is written in a language from which nothing of the others can be reached or changed: no frame, no
module object, no class, no collector, no memory that was not filled, no code that would run outside its own turn. That
is seen from its syntax tree: what is not on the lists of this file is refused, and the program gets a process of its
own. `PLAIN` is the language of completions, `NUMPY` that of strategies, `CHECKS` that of testings in the testing
process that stays: three vocabularies under the same rules.

It is not the protection of the machine, which is the sandbox either way, and it runs nothing. It is one file of the
standard library, since it also goes into the sandbox as text. docs/sandbox.md, "Company"; tests/company attacks it.
"""

from __future__ import annotations

import ast
import builtins
from ast import AST
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

NODES: frozenset[type[AST]] = frozenset(
    (
        *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Delete, ast.Assign, ast.AugAssign),
        *(ast.AnnAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Try, ast.ExceptHandler, ast.Assert, ast.Import),
        *(ast.ImportFrom, ast.alias, ast.Global, ast.Nonlocal, ast.Expr, ast.Pass, ast.Break, ast.Continue),
        *(ast.NamedExpr, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
        *(ast.GeneratorExp, ast.comprehension, ast.Yield, ast.YieldFrom, ast.Compare, ast.Call, ast.keyword),
        *(ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred),
        *(ast.Name, ast.List, ast.Tuple, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Load, ast.Store, ast.Del),
        *(*ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(), *ast.boolop.__subclasses__()),
        *ast.cmpop.__subclasses__(),
    )
)
_LEAVES = frozenset(
    kind for kind in NODES if issubclass(kind, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop))
) | {ast.Constant}
"""Kinds of node that hold no other node and no name."""
_FIRM = (ast.List, ast.Tuple, ast.ListComp, ast.BinOp, ast.Constant)
"""Expressions whose value runs nothing of the program when it is gone through."""


class Called(NamedTuple):
    """A function that may only be called where it stands, never passed on.

    Attributes:
        most: positional arguments; behind them stands what must not be given, such as a type.
        reduces: it may be told `where`: what is left out of a sum has no place in the result.
        makes: it returns an array of its own, filled, so that `out` of such a call may go with `where`.
    """

    most: int = 9
    reduces: bool = False
    makes: bool = False


@dataclass(frozen=True, eq=False)
class Language:
    """One vocabulary under the rules of this file.

    Attributes:
        builtins: names that Python itself provides.
        modules: for each module that may be imported, what may be taken out of it.
        silent: exports (`module.name`) that may stand in annotations only, where the program never sees them.
        called: functions by name (`module.name` or a builtin) that may only be called.
        methods: attributes of everything that is not a module.
        keywords: arguments that functions of `called` may be given by name.
        kinds: what `dtype` and `astype` may be given: names of builtins, of modules' exports, and words.
        free: the program may use names that it does not define (its surroundings do).
        most_chars: longer texts are refused.
    """

    builtins: frozenset[str]
    modules: Mapping[str, frozenset[str]]
    silent: frozenset[str]
    called: Mapping[str, Called]
    methods: frozenset[str]
    keywords: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    free: bool = False
    most_chars: int = 20_000

    def admits(self, tree: ast.Module) -> bool:
        return _Reading(self, tree).passes()


def admits(source: str, language: Language, parse: Callable[[str], ast.Module] = ast.parse) -> bool:
    """Whether the text is a program of the language; `parse` is for processes with threads, as `evosyn.parsing`."""
    if len(source) > language.most_chars:
        return False
    try:
        return language.admits(parse(source))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


class _Reading:
    """One program as it is read; parents come before what they hold, and settle where it may stand."""

    def __init__(self, language: Language, tree: ast.Module) -> None:
        self._language = language
        self._nodes: list[AST] = [tree]
        self._imported: dict[str, str] = {}
        self._bound: set[str] = set()
        self._settled: set[int] = set()

    def passes(self) -> bool:
        return (
            self._collect()
            and self._names_are_its_own()
            and all(rule(self, node) for node in self._nodes if (rule := _RULES.get(type(node))))
        )

    def _collect(self) -> bool:
        """Put all nodes in order, parents first, and take down which names are bound to what."""
        nodes, bind = self._nodes, self._bound.add
        tries, yields = [], 0
        for node in nodes:
            kind = type(node)
            if kind not in NODES:
                return False
            if kind is ast.Name:
                if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                    bind(node.id)  # type: ignore[attr-defined]
                continue
            for value in vars(node).values():
                if type(value) is list:
                    nodes += [item for item in value if isinstance(item, AST) and type(item) not in _LEAVES]
                elif isinstance(value, AST) and type(value) not in _LEAVES:
                    nodes.append(value)
            if isinstance(node, ast.arg):
                bind(node.arg)
            elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler)):
                bind(node.name or "_")
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                if not self._imports(node):
                    return False
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                self._bound.update(node.names)
            elif kind is ast.Try:
                tries.append(node)
            yields += kind is ast.Yield or kind is ast.YieldFrom
        return not (tries and yields) or not any(
            isinstance(inner, (ast.Yield, ast.YieldFrom)) for node in tries for inner in ast.walk(node)
        )

    def _imports(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Take down what is imported; False where it must not be, or where a name would have two meanings."""
        language = self._language
        for alias in node.names:
            if isinstance(node, ast.Import):
                what = alias.name
                fine = what in language.modules and "." not in what
            else:
                what = f"{node.module}.{alias.name}"
                allowed = language.modules.get(node.module or "", frozenset())
                fine = node.level == 0 and (alias.name in allowed or what in language.silent)
            name = alias.asname or alias.name
            if not fine or self._imported.setdefault(name, what) != what:
                return False
        return True

    def _names_are_its_own(self) -> bool:
        """Whether no name that the program binds could mean something else where it is used."""
        language, names = self._language, self._bound | self._imported.keys()
        if any(map(_is_hidden, names)) or any(map(self._means_no_value, self._bound)):
            return False
        return _ALL_BUILTINS.isdisjoint(names - language.builtins)

    def _means_no_value(self, name: str) -> bool:
        """Whether the name stands for what may not be passed on: it must be settled wherever it stands."""
        what, language = self._imported.get(name, name), self._language
        return what in language.called or (
            name in self._imported and (what in language.modules or what in language.silent)
        )

    def _name(self, node: ast.Name) -> bool:
        name, settled = node.id, id(node) in self._settled
        if self._means_no_value(name):
            return settled
        if name in self._language.builtins or name in self._bound or name in self._imported:
            return True
        return self._language.free and name not in _ALL_BUILTINS and not _is_hidden(name)

    def _attribute(self, node: ast.Attribute) -> bool:
        if type(node.ctx) is not ast.Load:
            return False
        place = self._module(node.value)
        if place is None:
            return node.attr in self._language.methods and (node.attr != "astype" or id(node) in self._settled)
        language, what = self._language, f"{place}.{node.attr}"
        self._settled.add(id(node.value))
        if what in language.called or what in language.modules or what in language.silent:
            return id(node) in self._settled
        return node.attr in language.modules[place]

    def _module(self, node: AST) -> str | None:
        """Which module the expression stands for, if one."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            what = f"{self._imported.get(node.value.id)}.{node.attr}"
        else:
            what = self._imported.get(node.id, "") if isinstance(node, ast.Name) else ""
        return what if what in self._language.modules else None

    def _what(self, node: AST) -> str:
        """The builtin, or export of a module, that the expression names; something else if it names none."""
        if isinstance(node, ast.Attribute):
            return f"{self._module(node.value)}.{node.attr}"
        return self._imported.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def _call(self, node: ast.Call) -> bool:
        known = self._language.called.get(self._what(node.func))
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if any(name is None or name[0] == "_" for name in given):
            return False
        if "dtype" in given and not self._is_kind(given["dtype"]):
            return False
        out = given.get("out")
        made = isinstance(out, ast.Call) and self._language.called.get(self._what(out.func), Called()).makes
        if "where" in given and not (known and (known.reduces or made)):
            return False
        if known is not None:
            self._settled.add(id(node.func))
            starred = any(isinstance(value, ast.Starred) for value in node.args)
            return not starred and len(node.args) <= known.most and self._language.keywords.issuperset(given)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            self._settled.add(id(node.func))
            return len(node.args) == 1 and self._is_kind(node.args[0]) and given.keys() <= {"copy"}
        return True

    def _is_kind(self, node: AST) -> bool:
        """Whether it surely is the type of plain numbers."""
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            return True
        if isinstance(node, ast.Name) and node.id in self._bound:
            return False
        return (node.value if isinstance(node, ast.Constant) else self._what(node)) in self._language.kinds

    def _assigned(self, node: ast.Assign | ast.AugAssign) -> bool:
        """What a step takes must not run the program meanwhile: CPython 3.11 writes past a list that shrinks."""
        if isinstance(node, ast.AugAssign):
            self._settled.add(id(node.target))
        elif isinstance(node.value, _FIRM):
            self._settled.update(map(id, node.targets))
        return True

    def _subscript(self, node: ast.Subscript) -> bool:
        stepped = isinstance(node.slice, ast.Slice) and node.slice.step is not None
        return not stepped or type(node.ctx) is not ast.Store or id(node) in self._settled

    def _annotated(self, node: ast.arg | ast.FunctionDef | ast.AnnAssign) -> bool:
        note = node.returns if isinstance(node, ast.FunctionDef) else node.annotation
        parts: list[AST] = []
        if note is not None and self._is_type(note, parts):
            self._settled.update(map(id, parts))
        return True

    def _is_type(self, node: AST, parts: list[AST]) -> bool:
        """Whether the annotation does nothing but name types, none of them the program's, so that it can neither hand
        what is silent to the program nor raise an error that shows it; `parts` takes what may then stand there.
        """
        if isinstance(node, ast.Constant):
            return node.value in (None, ...) or isinstance(node.value, str)
        if isinstance(node, ast.BinOp):
            return self._is_type(node.left, parts) and self._is_type(node.right, parts)
        if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)):
            given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            what = self._what(node.value)
            if what == "typing.Callable" and given and isinstance(given[0], ast.List):
                given = [*given[0].elts, *given[1:]]
            one_too_many = what == "typing.Optional" and len(given) > 1
            return not one_too_many and all(self._is_type(one, parts) for one in (node.value, *given))
        parts.append(node)
        if isinstance(node, ast.Attribute):
            return self._module(node.value) is not None
        return isinstance(node, ast.Name) and node.id not in self._bound


_RULES: dict[type[AST], Callable[[_Reading, Any], bool]] = {
    ast.Name: _Reading._name,
    ast.Attribute: _Reading._attribute,
    ast.Call: _Reading._call,
    ast.Assign: _Reading._assigned,
    ast.AugAssign: _Reading._assigned,
    ast.Subscript: _Reading._subscript,
    **dict.fromkeys((ast.arg, ast.FunctionDef, ast.AnnAssign), _Reading._annotated),
}


def _is_hidden(name: str) -> bool:
    """Whether the name is one of Python's own; underscores alone are a placeholder."""
    return name.startswith("__") and name.strip("_") != ""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALL_BUILTINS = frozenset(dir(builtins)) | _words("aiter anext breakpoint copyright credits exit help license quit")
_BUILTINS = _words(
    "abs all any ascii bin bool bytes chr complex dict divmod enumerate filter float frozenset hex int isinstance len "
    "list map max min next oct ord pow print range repr reversed round set sorted str sum tuple zip __name__ "
    "ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NameError "
    "NotImplementedError OverflowError RuntimeError StopIteration TypeError ValueError ZeroDivisionError"
)
_METHODS = _words(
    "capitalize casefold center count encode endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit "
    "isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition "
    "removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip "
    "swapcase title translate upper zfill decode fromhex hex as_integer_ratio bit_count bit_length conjugate "
    "denominator from_bytes imag is_integer numerator real to_bytes append clear copy extend insert pop remove reverse "
    "sort fromkeys get items keys popitem setdefault update values add difference difference_update discard "
    "intersection intersection_update isdisjoint issubset issuperset symmetric_difference union "
    "symmetric_difference_update appendleft extendleft maxlen popleft rotate elements most_common subtract total"
)
_MATH = _words(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1 "
    "fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log "
    "log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau trunc ulp"
)
_ITERTOOLS = _words(
    "combinations combinations_with_replacement compress count dropwhile filterfalse groupby permutations product "
    "repeat starmap takewhile"
)
_TYPING = _words(
    "Any Callable Counter DefaultDict Deque Dict FrozenSet Generator Iterable Iterator List Mapping "
    "MutableMapping Optional Sequence Set Tuple Type Union"
)

PLAIN = Language(
    builtins=_BUILTINS,
    modules={
        "bisect": _words("bisect bisect_left bisect_right insort insort_left insort_right"),
        "collections": _words("Counter defaultdict deque"),
        "functools": _words("cache lru_cache partial reduce"),
        "heapq": _words("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
        "itertools": _ITERTOOLS,
        "math": _MATH,
        "operator": _words("add and_ eq floordiv ge gt itemgetter le lt mod mul ne neg or_ sub truediv xor"),
        "string": _words("ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation whitespace"),
        "typing": frozenset(),
    },
    silent=frozenset(f"typing.{name}" for name in _TYPING) | {"__future__.annotations"},
    called={"iter": Called(1), "collections.Counter": Called(1)},
    methods=_METHODS,
)
"""Completions: plain functions over plain data.

Not here although common, since in released versions of CPython they let a program run while C holds what it then frees:
`cmp_to_key`, `iter(function, end)`, `slice`, `bytearray`; `accumulate`, `batched`, `chain`, `cycle`, `islice`,
`pairwise`, `tee`, `zip_longest` of `itertools`. And `copy`, which does what objects say of themselves.
"""

_ARRAY_METHODS = _words(
    "passed known cases durations copies solution_groups testing_groups solution_texts testing_texts "
    "solution_similarity testing_similarity solution_logprob testing_logprob "
    "T all any argmax argmin argsort astype clip cumprod cumsum diagonal dot dtype fill flatten item max mean min ndim "
    "nonzero prod ravel repeat reshape round searchsorted "
    "shape size squeeze std sum swapaxes take tolist trace transpose var"
)
_TYPES = _words("bool_ float32 float64 int32 int64")
_NUMPY_CALLED: dict[Called, frozenset[str]] = {
    Called(): _words(
        "abs absolute add allclose arctan argmax argmin argsort array_equal atleast_1d atleast_2d average bincount "
        "ceil clip column_stack concatenate corrcoef cos count_nonzero cov diag diff digitize divide dot einsum equal "
        "exp expand_dims expm1 fill_diagonal flatnonzero flip floor floor_divide greater greater_equal histogram "
        "hstack hypot inner interp isclose isfinite isin isinf isnan less less_equal lexsort log log10 log1p log2 "
        "logical_and logical_not logical_or logical_xor matmul maximum median meshgrid minimum multiply nan_to_num "
        "ndim negative nonzero not_equal outer percentile power quantile ravel repeat reshape round searchsorted "
        "shape sign sin size sort sqrt square stack subtract swapaxes take take_along_axis tanh tile transpose tril "
        "triu true_divide union1d unique vstack where"
    ),
    Called(2): _words("broadcast_to cumprod cumsum nanmax nanmean nanmin nanstd nansum"),
    Called(2, reduces=True): _words("all amax amin any max mean min prod std sum var"),
    Called(1, makes=True): _words("array asarray copy identity ones ones_like zeros zeros_like"),
    Called(2, makes=True): _words("full full_like"),
    Called(3): _words("arange eye linspace tri"),
    Called(4): _words("trace"),
}
NUMPY = replace(
    PLAIN,
    modules={**PLAIN.modules, "numpy": _words("e inf nan newaxis pi") | _TYPES, "numpy.linalg": frozenset()},
    silent=PLAIN.silent | {"numpy.ndarray"},
    called={
        **PLAIN.called,
        **{f"numpy.{name}": how for how, names in _NUMPY_CALLED.items() for name in names},
        "numpy.linalg.norm": Called(),
    },
    methods=_METHODS | _ARRAY_METHODS,
    keywords=_words(
        "a a_max a_min assume_unique axis bias bins copy ddof decimals density dtype endpoint equal_nan fill_value "
        "indexing initial invert k keepdims kind left method minlength n nan ndmin neginf num ord order out period "
        "posinf prepend append q range return_counts return_index return_inverse returned right rowvar rtol atol shape "
        "side weights where x"
    ),
    kinds=_words("float int bool float64 int64") | {f"numpy.{name}" for name in _TYPES},
)
"""Strategies: the same, over numpy arrays none of which can hold memory that was not filled."""

CHECKS = replace(PLAIN, methods=_METHODS | _MATH | _ITERTOOLS, free=True, most_chars=100_000)
"""Testings: the same, with the names that the testing process provides (the program's functions, copies of modules)."""
