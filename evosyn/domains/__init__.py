"""Domains, one a file: `create` gives a `ports.Domain`, a family of checkable tasks. Here they are found by name.

Pool files are read through here, so that every line is one of its domain.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evosyn import pools, registry
from evosyn.errors import FormatError, InputError, UsageError, nearest
from evosyn.ports import Domain, DomainTools
from evosyn.records import Json, Pool, Problem, Solution, Testing
from evosyn.tasks import Task
from evosyn.text.tool_calls import as_chat

AGENTBENCH = "agentbench:"
_made: dict[str, Domain] = {}
_lock = threading.Lock()


def domain(name: str) -> Domain:
    """The domain of this name: one of ours, an entry point, or the dotted path of a `create`; made once.

    Names stand in pool files: the registry calls nothing that is not of the form of a domain's `create`.

    Raises:
        UsageError: there is none.
    """
    with _lock:
        if name not in _made:
            _made[name] = registry.make("domains", name, DomainTools())
        return _made[name]


def domains_named(names: Iterable[str]) -> dict[str, Domain]:
    """The domains of these names.

    Raises:
        UsageError: there is no such one.
    """
    return {name: domain(name) for name in sorted(set(names))}


class Domains(Mapping[str, Domain]):
    """All domains that can be named, each made when it is first asked for; iteration gives those of the registry.

    Asking for one that does not exist raises a UsageError.
    """

    def __getitem__(self, name: str) -> Domain:
        return domain(name)

    def __iter__(self) -> Iterator[str]:
        return iter(registry.names("domains"))

    def __len__(self) -> int:
        return len(registry.names("domains"))


def check_problem(problem: Problem) -> None:
    """Whether a problem, and its human testing, are of their domain.

    Raises:
        FormatError: naming the field; all that are wrong.
    """
    _check(problem, {})


def check_pool(pool: Pool) -> None:
    """Whether a problem and all its testings are of their domain.

    Raises:
        FormatError: as `check_problem`.
    """
    _check(pool.problem, {f"testings[{index}]": testing for index, testing in enumerate(pool.testings)})


def check_task(task: Task) -> None:
    """Whether a task is one of its domain.

    Raises:
        FormatError: as `check_problem`.
    """
    _check(task.problem, {"testing": task.testing})


def rounds_of(problem: Problem) -> int:
    """Replies that an agent has for a problem: as its payload says, or the default of its domain's payload.

    Raises:
        UsageError: neither says.
    """
    given = problem.payload.get("rounds")
    if given is None:
        fields = getattr(getattr(domain(problem.domain), "Payload", None), "model_fields", {})
        given = fields["rounds"].default if "rounds" in fields else None
    if not isinstance(given, int):
        raise UsageError(f"problem {problem.problem_id}: its payload has no `rounds`, the replies that an agent has")
    return given


def shown(problem: Problem, text: str) -> list[dict[str, Json]]:
    """A solution as a student should write it: chat turns after the prompt, calls of tools with their arguments as
    objects."""
    return as_chat(domain(problem.domain).show(problem, Solution(text)), encoded=False)


def load_pools(source: str | Path) -> list[Pool]:
    """All problems of `source`, each one of its domain; as `pools.load_pools`, and the error says how many lines more
    are wrong."""
    found: list[Pool] = []
    errors: list[InputError] = []
    for one in scan_pools(source):
        errors.append(one) if isinstance(one, InputError) else found.append(one)
    if len(errors) > 1:
        rest = f"{len(errors) - 1} more thing{'' if len(errors) == 2 else 's'} in this file"
        errors[0].args = (f"{errors[0]}. `evosyn pool check {source}` names this and {rest}",)
    if errors:
        raise errors[0]
    return found


def iter_pools(source: str | Path) -> Iterator[Pool]:
    """As `pools.iter_pools`, each one of its domain."""
    for found in scan_pools(source):
        if isinstance(found, InputError):
            raise found
        yield found


def scan_pools(source: str | Path) -> Iterable[Pool | InputError]:
    """As `pools.scan_pools`, each one of its domain; `agentbench:PATH` (docs/os-shell.md) and the tools of the bundled
    worlds, `builtin:world-tools` (docs/worlds.md), are sources as well."""
    if str(source) == pools.WORLD_TOOLS:
        from evosyn.domains import world_tool_pools

        return world_tool_pools.scan_tools()
    if str(source).startswith(AGENTBENCH):
        from evosyn.domains import agentbench

        return agentbench.scan(str(source))
    return pools.scan_pools(source, check_pool)


def is_named(source: str | Path) -> bool:
    """Whether a source is named by a prefix, rather than a file."""
    return str(source).startswith((pools.BUILTIN, AGENTBENCH))


def _near(name: str, error: UsageError) -> str:
    """What to do about a domain that is not found."""
    if ":" in name:
        return str(error)
    known = registry.names("domains")
    return nearest(name, known, f"known: {', '.join(known)}, or package.module:create")


def _check(problem: Problem, testings: Mapping[str, Testing]) -> None:
    found = FormatError.of_all(_wrong(problem, testings))
    if found is not None:
        raise found


def _wrong(problem: Problem, testings: Mapping[str, Testing]) -> Iterator[FormatError]:
    """What is wrong with a problem, its human testing and further testings, by the fields that they stand in."""
    try:
        own = domain(problem.domain)
    except UsageError as error:
        yield FormatError("domain", "unknown domain", problem.domain, hint=_near(problem.domain, error))
        return
    try:
        own.check_problem(problem)
    except FormatError as error:
        for one in error.every():
            one.rest = ()  # each is told by itself
            yield one if one.field.partition(".")[0] in pools.PROBLEM_FIELDS else one.inside("payload")
    human = {} if problem.human_testing is None else {"human_testing": problem.human_testing}
    for field, testing in {**human, **testings}.items():
        try:
            own.check_shape(testing)
        except FormatError as error:
            yield error.inside(field)
