"""Write the bundled tasks anew that come from families and templates.

PYTHONPATH=tests/support python -m simulation.seeds
"""

from pathlib import Path

from evosyn.jsonlines import write_lines
from evosyn.pools import problem_to_json
from simulation.math_author import templates
from simulation.shell_author import tasks

HOME = Path(__file__).parents[3] / "evosyn" / "builtin"

if __name__ == "__main__":
    for name, home in (("os_seeds", tasks), ("math_seeds", templates)):
        (HOME / name).mkdir(exist_ok=True)
        write_lines(HOME / name / "seeds.jsonl", (problem_to_json(problem) for problem in home.seed_problems()))
