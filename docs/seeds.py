"""Write the bundled tasks that come from families and templates anew: `python -m docs.seeds`."""

from pathlib import Path

from evosyn.jsonlines import write_lines
from evosyn.pools import problem_to_json
from evosyn.simulation.math_author import templates
from evosyn.simulation.shell_author import tasks

HOME = Path(__file__).parents[1] / "evosyn" / "builtin"

if __name__ == "__main__":
    for name, home in (("os_seeds", tasks), ("math_seeds", templates)):
        (HOME / name).mkdir(exist_ok=True)
        write_lines(HOME / name / "seeds.jsonl", (problem_to_json(problem) for problem in home.seed_problems()))
