"""A Linux system as an environment of TRL: `GRPOTrainer(environment_factory=ShellEnv)`, over the rows of
`evosyn export --format trl`. What it shares with tool worlds stands in `rollouts`. docs/os-shell.md.
"""

from __future__ import annotations

from evosyn.text.tool_calls import ToolCall
from evosyn.train.rollouts import RolloutEnv
from evosyn.trajectories import ANSWER, BASH, FINISH


class ShellEnv(RolloutEnv):
    """A Linux system to work in, as an environment of TRL. One rollout after the other."""

    def bash(self, script: str) -> str:
        """Run a script in the session and see what it prints.

        Args:
            script: The script.
        """
        return self._do(ToolCall(BASH, {"script": str(script)}))

    def answer(self, answer: str) -> str:
        """Give the answer, and nothing but the answer; ends the task.

        Args:
            answer: The answer.
        """
        return self._do(ToolCall(ANSWER, {"answer": str(answer)}))

    def finish(self, thought: str) -> str:
        """Say that what was to be done is done; ends the task.

        Args:
            thought: What was done.
        """
        return self._do(ToolCall(FINISH, {"thought": str(thought)}))
