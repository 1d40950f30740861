"""The arms of a search from their names: `NAME` or `NAME@MODEL`, or a teacher alone (`mailbox:DIR`), which rewrites.

An arm is free where the `create` of its proposer names tools without a teacher (`ports.ProposerTools`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from evosyn import registry
from evosyn.errors import UsageError, nearest
from evosyn.evolve.schedule import Arm
from evosyn.ports import Genome, ModelTools, Proposer, ProposerTools, Teacher
from evosyn.records import Json
from evosyn.registry import Plugin

REWRITE = "rewrite"


class Arms(NamedTuple):
    """Who proposes, and with which share."""

    proposers: Mapping[str, Proposer]
    schedule: tuple[Arm, ...]


class NamedArm(NamedTuple):
    """What the name of an arm says.

    Attributes:
        name: of the proposer; options under it are for all its arms.
        model: which model it is to ask; None for that of the run.
    """

    name: str
    plugin: Plugin
    model: str | None

    @property
    def free(self) -> bool:
        return not issubclass(self.plugin.tools, ModelTools)


def named_arm(text: str) -> NamedArm:
    """The arm of this name.

    Raises:
        UsageError: there is no such proposer.
    """
    name, _, model = text.partition("@")
    if text.partition(":")[0] in registry.names("teachers"):
        name, model = REWRITE, text
    return NamedArm(name, registry.find("proposers", name), model or None)


def open_arms(
    shares: Mapping[str, float],
    genome: Genome,
    teacher: Callable[[str | None], Teacher],
    *,
    shared: Mapping[str, Json],
    options: Mapping[str, Mapping[str, Json]],
) -> Arms:
    """A proposer for each share.

    Args:
        teacher: opens the model of a name, or that of the run; asked once for each.
        shared: options for all proposers that know them.
        options: further ones, by the name of an arm or of a proposer.

    Raises:
        UsageError: an unknown proposer or option, or one that needs a model where none is named.
    """
    named = named_arms(shares, shared=shared, options=options)
    teachers: dict[str | None, Teacher] = {}
    proposers: dict[str, Proposer] = {}
    for text, arm in named.items():
        if arm.free:
            tools = ProposerTools(genome)
        else:
            if arm.model not in teachers:
                teachers[arm.model] = teacher(arm.model)
            tools = ModelTools(genome, teachers[arm.model])
        proposers[text] = arm.plugin.make(tools, _own(text, arm, shared, options))
    return Arms(proposers, tuple(Arm(text, share, free=named[text].free) for text, share in shares.items()))


def named_arms(
    names: Iterable[str], *, shared: Mapping[str, Json], options: Mapping[str, Mapping[str, Json]]
) -> dict[str, NamedArm]:
    """The arms of these names, whose options fit; nothing is opened. Arguments as of `open_arms`.

    Raises:
        UsageError: an unknown proposer or option.
    """
    named = {text: named_arm(text) for text in names}
    known = {*named, *(arm.name for arm in named.values())}
    for name in options:
        if name not in known:
            raise UsageError(f"proposers.options: no arm is named {name!r}; {nearest(name, sorted(known))}")
    for text, arm in named.items():
        arm.plugin.configured(_own(text, arm, shared, options))
    return named


def _own(
    text: str, arm: NamedArm, shared: Mapping[str, Json], options: Mapping[str, Mapping[str, Json]]
) -> dict[str, Json]:
    """The options of an arm."""
    return {**arm.plugin.shared(shared), **options.get(arm.name, {}), **options.get(text, {})}
