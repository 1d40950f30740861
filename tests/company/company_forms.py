"""Templates from which `company_grammar` draws: expressions by the kind of their value, statements, and the frame of a
program. One a line; `<kind>` stands for an expression of that kind, other words in brackets for what the grammar knows
by them, words in capitals for modules, `;;` for the end of a line.
"""

from __future__ import annotations

HEAD = """
own = 'TOKEN'
raw = b'TOKEN'
number = NUMBER
chunks = CHUNKS
TOKEN = [own, raw]
held = {'TOKEN': [own, raw], number: (own,), own: {own, 1}}
numbers = [3, 1, 2, 5, 4]
words = ['b', 'a', 'TOKEN']
box = [own]
a = [2.0, 1.0, 3.0]
counts = FUNCTOOLS.partial(COLLECTIONS.defaultdict, int)()

def keep(x, y='TOKEN', *rest, **more):
    return [x, y, rest]

def same(x):
    return x

@FUNCTOOLS.cache
def cached(x):
    return 'TOKEN'

def stay(n=3):
    local = 'TOKEN'
    while n > 0:
        n -= 1
        yield local

waiting = stay(50)
next(waiting)

def failure(text='TOKEN'):
    try:
        raise ValueError(text, held)
    except Exception as error:
        return error

def fill(n):
    junk = [own * k for k in range(1, n)]
    junk.append([number] * n)
    junk.append(raw * n)
    return [len(x) for x in junk]

"""
NAMES = "own = raw = number = chunks = TOKEN = held = numbers = words = box = a = counts = waiting = 1"
FUNCTIONS = "keep = same = cached = stay = failure = fill = 1"
"""What HEAD defines, in short."""
TAIL = """
def f(x):
    found = []
    for probe in (PROBES):
        try:
            found.append(probe(x))
        except Exception as error:
            found.append(error)
    fill(40)
    SPARE
    return found

def shown(x):
    return [repr(v)[:4000] for v in f(x)]
"""
SPARE = "spare = [NP.array(chunks * (size // 3)) for size in SIZES for _ in range(5)] + [raw * size for size in SIZES]"


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _table(text: str) -> dict[str, list[str]]:
    """Blocks that begin with a kind and a colon; several short templates may share a line, two spaces apart."""
    found: dict[str, list[str]] = {}
    for block in text.strip().split("\n\n"):
        kind, _, rest = block.partition(":\n")
        found[kind] = [one for line in _lines(rest) for one in line.split("   ")]
    return found


ATOMS = _table("""
int:
0   1   2   7   -1   255   len(own)   x

float:
0.5   -0.0   1e300   MATH.pi   MATH.nan   MATH.inf   2.0

str:
own   ''   'a b'   '{0}'   '%s'   '__globals__'   words[0]   STRING.digits   __name__

bytes:
raw   b''   b'ab'

list:
numbers   words   box   [1, 2, 3]   []   TOKEN   a

tuple:
(1, 2)   ()   (own, 1)

dict:
held   {}   {'a': 1}   counts

set:
{1, 2, 3}   set()   frozenset('ab')

func:
keep   same   cached   len   (lambda v: v)   str   <call>

iter:
waiting   stay()   iter(numbers)   (v for v in words)   range(4)   <iter>

bool:
True   False   None   x

array:
NP.array(chunks)   NP.arange(<size>)   NP.zeros(<size>)   x.passed   x.durations   NP.ones(<size>)
""")
FORMS = _table("""
int:
<int> <op> <int>
<int> ** 3   7 LEFT 3   len(<list>)   int(<str>, 36) % 99   sum(<list>)   ord(<str>)
<list>.index(<any>)   <str>.count(<str>)   MATH.gcd(<int>, <int>)   <list>[<int>]   ~<int>   +<int>
BISECT.bisect(<list>, <int>)   max(<list>, key=<func>)   round(<float>)   (<int>).bit_length()   y
min(<iter>, default=<int>)   divmod(<int>, <int>)[0]   pow(<int>, <int>, <int>)

float:
<float> <op> <float>   MATH.sqrt(<float>)   float(<str>)   -<float>   MATH.fsum(<list>)   abs(<float>)
<int> / <int>   <export>(<float>)   <export>(<float>, <float>)   complex(<float>, <float>).imag

str:
<str> + <str>   <str> * <int>   str(<any>)   repr(<any>)   f'{<any>}'   f'{<any>!r:>{<int>}}'   ascii(<any>)
<str> % (<any>,)   <str>.join(<list>)   <str>[<int>:<int>]   <str>[::<int>]   <str>.replace(<str>, <str>)
<str>.translate(<dict>)   chr(<int>)   hex(<int>)   bin(<int>)   oct(<int>)   <bytes>.decode('latin-1')
'%(a)s' % <dict>   str(<func>)   str(failure())   f'{<float>:.3f}'   str(<call>)   <any> if <bool> else <str>

bytes:
<bytes> + <bytes>   bytes(<list>)   <str>.encode()   (<int>).to_bytes(24, 'big')   bytes(<size>)   <bytes>[<int>:]
<bytes>.join([<bytes>])   bytes.fromhex('746b')   <bytes> % ()   <str>.encode(<str>)

list:
[<any>, <any>]   list(<iter>)   sorted(<list>, key=<func>)   [<any> for v in <iter>]   <list> + <list>
<list>[<int>:<int>]   [*<iter>, <any>]   <list> * 2   list(map(<func>, <list>))   <str>.split()
[v for v in <list> if <bool>]   HEAPQ.nlargest(<int>, <list>)   list(<dict>.items())   <list>.copy()
list(ITERTOOLS.permutations(<list>, 2))   [<any> for v in <list> for w in <list>]   <export>(<list>, <int>)
list(zip(<list>, <list>))   list(enumerate(<list>))   list(<call>(<list>))   [<any>]
list(filter(<func>, <list>))   list(reversed(<list>))   <array>.tolist()

tuple:
(<any>, <any>)
(number, int.from_bytes(<bytes>, 'big'))   tuple(<iter>)   <tuple> + <tuple>   divmod(<int>, <int>)   MATH.modf(<float>)

dict:
{<str>: <any>, **<dict>}   dict(<list>)   {v: <any> for v in <iter>}   dict.fromkeys(<list>, <any>)
COLLECTIONS.defaultdict(<func>)   COLLECTIONS.Counter(<iter>)   <dict> | <dict>   dict(a=<any>)
COLLECTIONS.defaultdict(<func>)[<any>]   <dict>.copy()   dict(zip(<list>, <list>))

set:
{<any>, <any>}   set(<iter>)   {v for v in <iter>}   <set> <op> <set>   <dict>.keys() & <iter>

func:
lambda v: <any>   lambda v, w=<any>, *u: <any>   FUNCTOOLS.partial(<func>, <any>)   FUNCTOOLS.cache(<func>)
FUNCTOOLS.lru_cache(<int>)(<func>)   OPERATOR.itemgetter(<int>)   <any>.<attr>   <export>   <call>.<attr>

iter:
stay(3)   iter(<list>)   (<any> for v in <list>)   map(<func>, <iter>)   filter(<func>, <iter>)
zip(<iter>, <iter>)   enumerate(<iter>)   reversed(<list>)   range(len(<list>))   ITERTOOLS.groupby(<iter>, <func>)
HEAPQ.merge(<list>, <list>)   ITERTOOLS.starmap(<func>, <list>)   <dict>.values()   <export>(<func>, <iter>)
COLLECTIONS.deque(<iter>, <int>)   (lambda: (yield <any>))()   COLLECTIONS.Counter(<list>).elements()

bool:
<any> <cmp> <any>   not <any>   <bool> and <any>   <bool> or <any>   isinstance(<any>, <call>)   all(<iter>)
any(<iter>)   <int> <cmp> <int>   <str>.isdigit()   <any> is <any>   bool(<any>)   x in <list>

array:
<npcall>   <npcall>   <npcall>   <array> <op> <array>   <array> <cmp> <array>   <array>.astype(<kind_of>)
<array>[<array> > <int>]   <array>[<int>:<int>]   <array>[::<int>]   <array>.sum(<int>)   <array>.<attr>(<int>)
NP.array(<list>)   <array>.reshape(<int>, -1)   <array>.T   x.<attr>   NP.where(<array>, <array>, <array>)
NP.linalg.norm(<array>)   NP.<attr>(<array>)   NP.full(<size>, <float>, dtype=<kind_of>)
<array> if <bool> else <array>
""")
STATEMENTS = [
    line.replace(";; ", "\n")
    for line in _lines("""
v = <any>
v, w = <tuple>
v, *w = <iter>
v = w = <any>
v: <anno> = <any>
v: <anno>
try:;;     def g(v: <anno>) -> <anno>:;;         return v;; except TypeError as error:;;     v = str(error)
box.append(<any>)
held[<str>] = <any>
numbers[<int>] = <int>
numbers[::2] = [<int>] * 3
v = [1, 2, 3];; v[::2] = <iter>
del held[<str>]
global z;; z = <any>
assert <bool>, <str>
<list>.sort(key=<func>)
held.update(<dict>)
for v in <list>:;;     box = <any>;;     break
for v, w in <dict>.items():;;     continue;; else:;;     pass
v = 3;; while v > 0:;;     v -= 1
if <bool>:;;     v = <any>;; elif <bool>:;;     pass;; else:;;     v = <any>
try:;;     v = <any>;; except ValueError as error:;;     v = error;; else:;;     v = 1;; finally:;;     w = 2
try:;;     v = <any>;; except Exception:;;     v = <any>
try:;;     v = <any>;; except (KeyError, TypeError) as error:;;     return str(error)
def g(v=<any>):;;     nonlocal y;;     y = <any>;;     return <any>;; v = g()
if <bool>:;;     raise ValueError(<any>)
def g():;;     v = yield <any>;;     yield from <iter>;; v = g()
v = [<any>];; v *= 2;; v += <list>
<call>(<any>)
def g():;;     try:;;         yield <any>;;     finally:;;         box.append(<any>);; v = next(g())
v = <module>
import math as w;; v = w.<attr>
v = [<any>, <any>];; v[<int>] <op>= <int>
<call>.spare = <any>
keep.spare = own
v = <any>;; del v
<any>
v = numbers;; v[<int>:<int>] = <list>
raise <call>(<any>) from None
v = (u := <any>)
v = [0] * 40;; v[::2] = (v.clear() or u for u in range(20))
v = lambda u: <any>;; v = v(<any>)
v @= <any>
v = 1;; v += <int>;; v -= 1;; v *= 3;; v **= 2;; v //= 2;; v %= 9
v = 1;; v LEFT= 1;; v >>= 1;; v |= 4;; v &= 7;; v ^= 1;; v /= 2
""")
]
