"""The configuration of `evosyn env make`. docs/environments.md says which values are a paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from evosyn.configs.section import Sampling, Section
from evosyn.environments.ladder import LadderConfig
from evosyn.limits import LimitsConfig
from evosyn.records import Json
from evosyn.workbench import WorkbenchConfig


class AuthorConfig(Section):
    """How drafts are asked for.

    Attributes:
        by: `keywords` (ReSyn: a topic a draft) or `shown` (EvoEnv: environments that exist, and a category).
        keywords: a file with one a line, or several with commas; None for those that come with evosyn.
        per_keyword: drafts of each at most; each keyword gets one before any gets two.
        shown: bundled environments in each prompt.
        attempts: how often a draft is asked for before it is given up.
        sampling: parameters given to the teacher.
    """

    by: Literal["keywords", "shown"] = "keywords"
    keywords: Path | None = None
    per_keyword: int = Field(default=8, ge=1)
    shown: int = Field(default=2, ge=1, le=8)
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: {"temperature": 1.0, "max_tokens": 8192})


class JudgingConfig(Section):
    """Who looks at a draft that stands on the ladder.

    Attributes:
        judges: the two of ReSyn, of the program and of the questions.
        revisions: after a judge's no the draft is revised so often, climbs again and is judged again.
        reviews: EvoEnv's, independent of each other; one that rejects is enough.
        attempts: how often a judgement is asked for before an unreadable one counts as a no.
    """

    judges: bool = True
    revisions: int = Field(default=1, ge=0, le=3)
    reviews: int = Field(default=0, ge=0, le=16)
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: {"temperature": 0.7, "max_tokens": 4096})


class CrosscheckConfig(Section):
    """Programs that solve from the question alone, executed against the verifier (ours).

    Attributes:
        solvers: drawn at once; 0 asks for none.
        rounds: drawn again so often while none is accepted.
        instances: questions that they answer; `group`: of so many a testing is made.
        verifiers: V for one generator; the draft's own is the first.
        strategy: ranks the verifiers: a known name, a file, or a directory of `evosyn evolve`.
        execute: limits of one solver, for all groups.
    """

    solvers: int = Field(default=4, ge=0, le=32)
    rounds: int = Field(default=2, ge=1, le=8)
    instances: int = Field(default=40, ge=5, le=400)
    group: int = Field(default=8, ge=1, le=100)
    verifiers: int = Field(default=1, ge=1, le=16)
    strategy: str = "exclusion"
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: {"temperature": 1.0, "max_tokens": 4096})
    execute: LimitsConfig = LimitsConfig(cpu_s=2.0, budget_s=10.0)


_SPEED: dict[str, Any] = {"limit": True, "workbench": True, "author": {"keywords", "per_keyword"}}
"""What decides no draft, or stands in the journal under another name."""


class MakeConfig(Section):
    """A run of `evosyn env make`.

    Attributes:
        limit: drafts at most; what is dropped on the way is not replaced.
        seed: root of the seed tree.
        workbench: who is asked, where programs run, what may be spent.
    """

    limit: int = Field(default=100, ge=1)
    seed: int = 0
    author: AuthorConfig = AuthorConfig()
    ladder: LadderConfig = LadderConfig()
    judging: JudgingConfig = JudgingConfig()
    crosscheck: CrosscheckConfig = CrosscheckConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()

    def identity(self) -> dict[str, Json]:
        """What decides the fate of a draft; speed and number of drafts do not."""
        return self.model_dump(mode="json", exclude=_SPEED)
