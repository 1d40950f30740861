"""The seams of evosyn: Protocols with their contracts in prose.

Layers speak through these; no class builds its own collaborators, they are passed in. Unless a contract says otherwise,
results come in the order of the requests and have the same length, arguments are never mutated, and a bad candidate,
program or reply is returned as data while a broken machine is raised (`evosyn.errors`). DESIGN.md sections 3 and 5.
"""

from __future__ import annotations

from evosyn.ports.agents import Agent, AgentWork
from evosyn.ports.asking import Checked, Teacher
from evosyn.ports.feeds import Feed, FeedRow, GroupOutcome, PayingFeed
from evosyn.ports.judging import Crossexec, Domain, Expansion, Plan, Sandbox, VerdictCache
from evosyn.ports.plugins import (
    AgentTools,
    Argument,
    AxisTools,
    DomainTools,
    EvolvedTools,
    ModelTools,
    PluginConfig,
    ProposerTools,
    SandboxTools,
    TeacherTools,
    WorldTools,
)
from evosyn.ports.search import (
    Axis,
    Briefing,
    ChangingEvaluator,
    Evaluator,
    Evolved,
    Genome,
    Merit,
    Proposal,
    ProposalContext,
    Proposer,
    Repairing,
    SearchState,
    StrategyRunner,
    Told,
    Tried,
)

__all__ = [
    "Agent",
    "AgentTools",
    "AgentWork",
    "Argument",
    "Axis",
    "AxisTools",
    "Briefing",
    "ChangingEvaluator",
    "Checked",
    "Crossexec",
    "Domain",
    "DomainTools",
    "Evaluator",
    "Evolved",
    "EvolvedTools",
    "Expansion",
    "Feed",
    "FeedRow",
    "Genome",
    "GroupOutcome",
    "Merit",
    "ModelTools",
    "PayingFeed",
    "Plan",
    "PluginConfig",
    "Proposal",
    "ProposalContext",
    "Proposer",
    "ProposerTools",
    "Repairing",
    "Sandbox",
    "SandboxTools",
    "SearchState",
    "StrategyRunner",
    "Teacher",
    "TeacherTools",
    "Told",
    "Tried",
    "VerdictCache",
    "WorldTools",
]
