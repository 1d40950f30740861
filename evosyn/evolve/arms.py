"""The arms of a search from their names: `NAME` or `NAME@MODEL`, or a teacher alone (`mailbox:DIR`), which rewrites.

An arm is free where the `create` of its proposer names tools without a teacher (`ports.ProposerTools`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from evosyn import registry
from evosyn.errors import UsageError
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
    named = {text: named_arm(text) for text in shares}
    known = {*named, *(arm.name for arm in named.values())}
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1) or sorted(known)
            raise UsageError(f"proposers.options: no arm is named {name!r}; did you mean {near[0]!r}?")
    teachers: dict[str | None, Teacher] = {}
    proposers: dict[str, Proposer] = {}
    for text, (name, plugin, model) in named.items():
        if named[text].free:
            tools = ProposerTools(genome)
        else:
            if model not in teachers:
                teachers[model] = teacher(model)
            tools = ModelTools(genome, teachers[model])
        own = {**plugin.shared(shared), **options.get(name, {}), **options.get(text, {})}
        proposers[text] = plugin.make(tools, own)
    return Arms(proposers, tuple(Arm(text, share, free=named[text].free) for text, share in shares.items()))
